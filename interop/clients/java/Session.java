import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;

/** A connected ZooKeeper handle, with latches for the events of its session. */
final class Session implements AutoCloseable {
  final ZooKeeper zk;
  final CountDownLatch expired = new CountDownLatch(1);
  private final CountDownLatch connected = new CountDownLatch(1);

  Session(String server, int timeoutMs) throws Exception {
    zk = new ZooKeeper(server, timeoutMs, this::heard);
    Talk.demand(connected.await(10, TimeUnit.SECONDS), "no session within 10 s");
  }

  private void heard(WatchedEvent event) {
    if (event.getState() == KeeperState.SyncConnected) connected.countDown();
    if (event.getState() == KeeperState.Expired) expired.countDown();
  }

  /** Repeats a call while the connection is lost, for as long as a session could survive that. */
  <T> T patiently(Call<T> call) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(15);
    while (true) {
      try {
        return call.run();
      } catch (KeeperException.ConnectionLossException e) {
        if (System.nanoTime() > deadline) throw e;
        Thread.sleep(50);
      }
    }
  }

  interface Call<T> {
    T run() throws Exception;
  }

  @Override
  public void close() throws InterruptedException {
    zk.close();
  }

  /** A watcher that records events of znodes. */
  static final class Ear implements Watcher {
    private final BlockingQueue<WatchedEvent> heard = new LinkedBlockingQueue<>();

    @Override
    public void process(WatchedEvent event) {
      if (event.getType() != EventType.None) heard.add(event);
    }

    void expect(EventType type, String path) throws InterruptedException {
      expect(type, path, 5);
    }

    void expect(EventType type, String path, int seconds) throws InterruptedException {
      WatchedEvent event = heard.poll(seconds, TimeUnit.SECONDS);
      Talk.demand(event != null, "no event within " + seconds + " s, wanted " + type + " " + path);
      Talk.same(type + " " + path, event.getType() + " " + event.getPath(), "event");
    }

    void expectSilence() {
      Talk.demand(heard.isEmpty(), "unexpected event " + heard.peek());
    }
  }
}
