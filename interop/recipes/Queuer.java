import java.io.Closeable;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.queue.DistributedDelayQueue;
import org.apache.curator.framework.recipes.queue.DistributedIdQueue;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.state.ConnectionState;

/** What Contender does with Curator's queues whose items have a time or an id; one for each hand. */
final class Queuer {
  private final CuratorFramework client;
  private final Consumer<String> tell;
  private Closeable draining;

  Queuer(CuratorFramework client, Consumer<String> tell) {
    this.client = client;
    this.tell = tell;
  }

  /** False if the wish is not one of queues. */
  boolean fulfil(String[] words) throws Exception {
    switch (words[0]) {
      case "enqueue" -> {
        String path = words[2];
        if (words[1].equals("delay")) {
          try (DistributedDelayQueue<String> queue = builder(path, null).buildDelayQueue()) {
            queue.start();
            queue.put(words[3], Long.parseLong(words[4]));
          }
        } else {
          try (DistributedIdQueue<String> queue = builder(path, null).buildIdQueue()) {
            queue.start();
            queue.put(words[3], words[4]);
          }
        }
        tell.accept("done");
      }
      case "drain" -> draining = open(words[1], words[2], item -> {});
      case "stop" -> {
        draining.close();
        tell.accept("stopped");
      }
      case "grab" -> {
        CountDownLatch never = new CountDownLatch(1);
        draining = open(words[1], words[2], item -> never.await());
      }
      case "remove" -> {
        try (DistributedIdQueue<String> queue = builder(words[1], null).buildIdQueue()) {
          queue.start();
          tell.accept("removed " + queue.remove(words[2]));
        }
      }
      default -> {
        return false;
      }
    }
    return true;
  }

  private interface Work {
    void on(String item) throws Exception;
  }

  private Closeable open(String kind, String path, Work work) throws Exception {
    QueueConsumer<String> consumer = new QueueConsumer<>() {
      @Override
      public void consumeMessage(String item) throws Exception {
        tell.accept("item " + item + " " + System.currentTimeMillis());
        work.on(item);
      }

      @Override
      public void stateChanged(CuratorFramework client, ConnectionState state) {}
    };
    if (kind.equals("delay")) {
      DistributedDelayQueue<String> queue = builder(path, consumer).buildDelayQueue();
      queue.start();
      return queue;
    }
    DistributedIdQueue<String> queue = builder(path, consumer).buildIdQueue();
    queue.start();
    return queue;
  }

  /** With locks, so that the items of a consumer that dies stay. */
  private QueueBuilder<String> builder(String path, QueueConsumer<String> consumer) {
    return QueueBuilder.builder(client, consumer, new Text(), path + "/entries").lockPath(path + "/taken");
  }

  private static final class Text implements QueueSerializer<String> {
    @Override
    public byte[] serialize(String item) {
      return item.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public String deserialize(byte[] bytes) {
      return new String(bytes, StandardCharsets.UTF_8);
    }
  }
}
