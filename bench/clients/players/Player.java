import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** What the harness asks of Apache's Java client: plain calls one by one, else the asynchronous ones. */
public final class Player {
  private static final int ANY_VERSION = -1;
  private final byte[] data = new byte[100];
  private final ZooKeeper client;
  private final String root;

  public static void main(String[] args) throws Exception {
    Player player = new Player(args[0], args[1]);
    say("ready");
    BufferedReader wishes = new BufferedReader(new InputStreamReader(System.in));
    for (String line = wishes.readLine(); line != null; line = wishes.readLine()) player.fulfil(line.split(" "));
    System.exit(0);
  }

  private Player(String address, String root) throws Exception {
    this.root = root;
    CountDownLatch connected = new CountDownLatch(1);
    this.client = new ZooKeeper(address, 30_000, event -> {
      if (event.getState() == KeeperState.SyncConnected) connected.countDown();
    });
    connected.await();
  }

  private void fulfil(String[] wish) throws Exception {
    switch (wish[0]) {
      case "load" -> load(wish[1], Integer.parseInt(wish[2]), Double.parseDouble(wish[3]), wish[4]);
      case "arm" -> watches(new String[] {wish[1]});
      case "watches" -> {
        String[] paths = new String[Integer.parseInt(wish[2])];
        for (int i = 0; i < paths.length; i++) paths[i] = wish[1] + "/" + i;
        watches(paths);
      }
      case "settle" -> {
        System.gc();
        say("settled " + (Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory()));
      }
      default -> throw new IllegalArgumentException(String.join(" ", wish));
    }
  }

  private void load(String operation, int window, double seconds, String round) throws Exception {
    long startedAt = System.nanoTime();
    long endsAt = startedAt + (long) (seconds * 1e9);
    int count = window == 1 ? oneByOne(operation, endsAt, round) : pipelined(operation, window, endsAt, round);
    say("done " + count + " " + (System.nanoTime() - startedAt));
  }

  private int oneByOne(String operation, long endsAt, String round) throws Exception {
    int count = 0;
    while (System.nanoTime() < endsAt) {
      switch (operation) {
        case "get" -> client.getData(root + "/data", false, null);
        case "set" -> client.setData(root + "/data", data, ANY_VERSION);
        default -> client.create(root + "/" + round + "-" + count, data, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
      }
      count++;
    }
    return count;
  }

  private int pipelined(String operation, int window, long endsAt, String round) throws Exception {
    Semaphore free = new Semaphore(window);
    AtomicInteger refused = new AtomicInteger();
    int count = 0;
    while (System.nanoTime() < endsAt) {
      free.acquire();
      switch (operation) {
        case "get" -> client.getData(root + "/data", false, (rc, path, ctx, bytes, stat) -> settle(rc, free, refused), null);
        case "set" -> client.setData(root + "/data", data, ANY_VERSION, (rc, path, ctx, stat) -> settle(rc, free, refused), null);
        default -> client.create(root + "/" + round + "-" + count, data, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
            (rc, path, ctx, name) -> settle(rc, free, refused), null);
      }
      count++;
    }
    free.acquire(window);
    if (refused.get() > 0) throw new IllegalStateException(refused + " refused");
    return count;
  }

  private static void settle(int rc, Semaphore free, AtomicInteger refused) {
    if (rc != 0) refused.incrementAndGet();
    free.release();
  }

  private void watches(String[] paths) {
    AtomicInteger toSet = new AtomicInteger(paths.length);
    AtomicInteger toFire = new AtomicInteger(paths.length);
    for (String path : paths) {
      client.getData(path, event -> {
        if (event.getType() == EventType.NodeDataChanged && toFire.decrementAndGet() == 0)
          say("fired " + System.nanoTime());
      }, (rc, at, ctx, bytes, stat) -> {
        if (rc != 0) say("failed " + rc);
        else if (toSet.decrementAndGet() == 0) say("armed");
      }, null);
    }
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
