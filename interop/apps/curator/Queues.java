import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.queue.DistributedDelayQueue;
import org.apache.curator.framework.recipes.queue.DistributedIdQueue;
import org.apache.curator.framework.recipes.queue.DistributedPriorityQueue;
import org.apache.curator.framework.recipes.queue.DistributedQueue;
import org.apache.curator.framework.recipes.queue.QueueBuilder;
import org.apache.curator.framework.recipes.queue.QueueConsumer;
import org.apache.curator.framework.recipes.queue.QueueSerializer;
import org.apache.curator.framework.recipes.queue.SimpleDistributedQueue;
import org.apache.curator.framework.state.ConnectionState;

/** The queues: sequential nodes, taken one by one. */
final class Queues {
  static void addTo(Map<String, World.Check> checks) {
    checks.put("queue", Queues::queue);
    checks.put("priority-queue", Queues::priority);
    checks.put("delay-queue", Queues::delay);
    checks.put("id-queue", Queues::id);
    checks.put("simple-queue", Queues::simple);
  }

  /**
   * Two consumers that lock the items they take, during a kill. A lock whose creation got no reply
   * stays as long as its session, so the last items may have to wait for another consumer.
   */
  private static void queue(World world) throws Exception {
    Taker taker = new Taker();
    List<CuratorFramework> clients = world.clients(2);
    List<DistributedQueue<String>> consumers = new ArrayList<>();
    for (CuratorFramework client : clients) consumers.add(consumer(client, taker, world));
    try (DistributedQueue<String> producer = builder(world.client(), null, world).buildQueue()) {
      producer.start();
      for (int i = 0; i < 40; i++) producer.put("item-" + i);
      Talk.ask("kill-leader");
      for (int i = 40; i < 80; i++) producer.put("item-" + i);
      Talk.demand(producer.flushPuts(World.PATIENCE_S, TimeUnit.SECONDS), "puts are not flushed");
    }
    Talk.ask("heal");
    World.eventually("much is consumed", () -> different(taker) > 40);
    for (DistributedQueue<String> consumer : consumers) consumer.close();
    for (CuratorFramework client : clients) client.close();
    try (DistributedQueue<String> last = consumer(world.client(), taker, world)) {
      World.eventually("everything is consumed", () -> different(taker) == 80);
    }
  }

  private static DistributedQueue<String> consumer(
      CuratorFramework client, Taker taker, World world) throws Exception {
    DistributedQueue<String> queue =
        builder(client, taker, world).lockPath(world.path + "-locks").buildQueue();
    queue.start();
    return queue;
  }

  private static long different(Taker taker) {
    return taker.taken.stream().distinct().count();
  }

  private static void priority(World world) throws Exception {
    Taker taker = new Taker();
    try (DistributedPriorityQueue<String> producer =
        builder(world.client(), null, world).buildPriorityQueue(0)) {
      producer.start();
      for (int priority : new int[] {5, 1, 4, 2, 3}) producer.put("p" + priority, priority);
      producer.flushPuts(World.PATIENCE_S, TimeUnit.SECONDS);
    }
    try (DistributedPriorityQueue<String> consumer =
        builder(world.client(), taker, world).buildPriorityQueue(0)) {
      consumer.start();
      World.eventually("all are taken", () -> taker.taken.size() == 5);
    }
    Talk.same(List.of("p1", "p2", "p3", "p4", "p5"), List.copyOf(taker.taken), "order");
  }

  private static void delay(World world) throws Exception {
    Taker taker = new Taker();
    try (DistributedDelayQueue<String> queue = builder(world.client(), taker, world).buildDelayQueue()) {
      queue.start();
      long now = System.currentTimeMillis();
      queue.put("late", now + 2500);
      queue.put("soon", now + 300);
      World.eventually("one is taken", () -> taker.taken.size() == 1);
      Talk.same("soon", taker.taken.peek(), "the first");
      Talk.demand(System.currentTimeMillis() >= now + 300, "it was taken too early");
      World.eventually("both are taken", () -> taker.taken.size() == 2);
      Talk.demand(System.currentTimeMillis() >= now + 2500, "it was taken too early");
    }
  }

  private static void id(World world) throws Exception {
    Taker taker = new Taker();
    try (DistributedIdQueue<String> producer = builder(world.client(), null, world).buildIdQueue()) {
      producer.start();
      producer.put("kept", "id-1");
      producer.put("removed", "id-2");
      producer.flushPuts(World.PATIENCE_S, TimeUnit.SECONDS);
      Talk.same(1, producer.remove("id-2"), "removed by id");
    }
    try (DistributedIdQueue<String> consumer = builder(world.client(), taker, world).buildIdQueue()) {
      consumer.start();
      World.eventually("one is taken", () -> taker.taken.size() == 1);
    }
    Talk.same("kept", taker.taken.peek(), "what is left");
  }

  @SuppressWarnings("deprecation")
  private static void simple(World world) throws Exception {
    SimpleDistributedQueue producer = new SimpleDistributedQueue(world.client(), world.path);
    SimpleDistributedQueue consumer = new SimpleDistributedQueue(world.client(), world.path);
    for (int i = 0; i < 10; i++) producer.offer(("item-" + i).getBytes(StandardCharsets.UTF_8));
    Talk.ask("kill-leader");
    for (int i = 0; i < 10; i++) {
      byte[] item = consumer.poll(World.PATIENCE_S, TimeUnit.SECONDS);
      Talk.same("item-" + i, new String(item, StandardCharsets.UTF_8), "order");
    }
    Talk.ask("heal");
    Talk.demand(consumer.poll() == null, "an empty queue gave something");
  }

  private static QueueBuilder<String> builder(CuratorFramework client, Taker taker, World world) {
    return QueueBuilder.builder(client, taker, new Text(), world.path);
  }

  private static final class Taker implements QueueConsumer<String> {
    final Queue<String> taken = new ConcurrentLinkedQueue<>();

    @Override
    public void consumeMessage(String message) {
      taken.add(message);
    }

    @Override
    public void stateChanged(CuratorFramework client, ConnectionState state) {}
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
