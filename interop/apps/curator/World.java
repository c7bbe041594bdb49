import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooKeeper;

/** The tools of every check: clients, ends of sessions, threads, and timeouts. */
final class World implements AutoCloseable {
  static final int SESSION_MS = 10_000;
  static final int PATIENCE_S = 30;
  /** The path of this check. */
  final String path;
  private final String servers;
  private final List<CuratorFramework> clients = new ArrayList<>();

  World(String servers, String name) {
    this.servers = servers;
    this.path = "/recipes/" + name;
  }

  interface Check {
    void run(World world) throws Exception;
  }

  interface Condition {
    boolean holds() throws Exception;
  }

  /** A client with its own session. */
  CuratorFramework client() throws Exception {
    CuratorFramework client =
        CuratorFrameworkFactory.newClient(servers, SESSION_MS, 5000, new RetryForever(100));
    client.start();
    clients.add(client);
    Talk.demand(client.blockUntilConnected(PATIENCE_S, TimeUnit.SECONDS), "no session");
    return client;
  }

  List<CuratorFramework> clients(int count) throws Exception {
    List<CuratorFramework> all = new ArrayList<>();
    for (int i = 0; i < count; i++) all.add(client());
    return all;
  }

  /** Ends a client's session; returns once the client knows, and has another session. */
  void expire(CuratorFramework client) throws Exception {
    CountDownLatch lost = new CountDownLatch(1);
    CountDownLatch back = new CountDownLatch(1);
    ConnectionStateListener listener = (ignored, state) -> {
      if (state == ConnectionState.LOST) lost.countDown();
      if (state == ConnectionState.RECONNECTED && lost.getCount() == 0) back.countDown();
    };
    client.getConnectionStateListenable().addListener(listener);
    ZooKeeper old = client.getZookeeperClient().getZooKeeper();
    // A client with its id and password may close it.
    CountDownLatch connected = new CountDownLatch(1);
    ZooKeeper twin = new ZooKeeper(servers, SESSION_MS, event -> {
      if (event.getState() == KeeperState.SyncConnected) connected.countDown();
    }, old.getSessionId(), old.getSessionPasswd());
    Talk.demand(connected.await(PATIENCE_S, TimeUnit.SECONDS), "nobody takes over the session");
    twin.close();
    Talk.demand(lost.await(PATIENCE_S, TimeUnit.SECONDS), "the client has not lost its session");
    Talk.demand(back.await(PATIENCE_S, TimeUnit.SECONDS), "the client has no new session");
    client.getConnectionStateListenable().removeListener(listener);
  }

  /** Starts work in parallel; all of it must succeed. */
  static List<Future<?>> start(List<Callable<Object>> work) {
    ExecutorService threads = Executors.newFixedThreadPool(work.size());
    List<Future<?>> all = new ArrayList<>();
    for (Callable<Object> each : work) all.add(threads.submit(each));
    threads.shutdown();
    return all;
  }

  static void join(List<Future<?>> all) throws Exception {
    for (Future<?> each : all) each.get(90, TimeUnit.SECONDS);
  }

  static void eventually(String what, Condition condition) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
    while (!condition.holds()) {
      Talk.demand(System.nanoTime() < deadline, "never: " + what);
      Thread.sleep(20);
    }
  }

  @Override
  public void close() {
    for (CuratorFramework client : clients) client.close();
  }
}
