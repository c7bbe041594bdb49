import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/** A session that holds an ephemeral for as long as the load runs. */
final class Holder {
  static final int TIMEOUT_MS = 20_000;
  static final AtomicInteger COUNT = new AtomicInteger();
  static final AtomicInteger RECONNECTS = new AtomicInteger();
  final ZooKeeper zk;
  final String ephemeral;
  private final long sessionId;
  private final CountDownLatch connected = new CountDownLatch(1);

  Holder(String servers) throws Exception {
    int number = COUNT.getAndIncrement();
    ephemeral = "/takeover/here/" + number;
    zk = new ZooKeeper(servers, TIMEOUT_MS, this::heard);
    Load.demand(connected.await(20, TimeUnit.SECONDS), "no session within 20 s");
    sessionId = zk.getSessionId();
    if (number == 0) {
      for (String path : new String[] {"/takeover", "/takeover/here", "/takeover/ledger", "/takeover/watched"}) {
        zk.create(path, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
      }
    }
    zk.create(ephemeral, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
  }

  private void heard(WatchedEvent event) {
    if (event.getType() != EventType.None) return;
    if (event.getState() == KeeperState.SyncConnected) {
      if (connected.getCount() == 0) RECONNECTS.incrementAndGet();
      connected.countDown();
    } else if (event.getState() == KeeperState.Expired) {
      Load.fail("the session of " + ephemeral + " is lost");
    }
  }

  /** The session and its ephemeral are the same as at the start. */
  void verify() throws Exception {
    Stat stat = patiently(() -> zk.exists(ephemeral, false));
    if (stat == null) Load.fail(ephemeral + " is gone");
    else if (stat.getEphemeralOwner() != sessionId) Load.fail(ephemeral + " has another owner");
    if (zk.getSessionId() != sessionId) Load.fail(ephemeral + " has another session");
  }

  interface Call<T> {
    T run() throws Exception;
  }

  /** Repeats a call that may safely happen twice, for as long as the session could live. */
  <T> T patiently(Call<T> call) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(2 * TIMEOUT_MS);
    while (true) {
      try {
        return call.run();
      } catch (KeeperException.ConnectionLossException e) {
        if (System.nanoTime() > deadline) throw e;
        Thread.sleep(20);
      }
    }
  }

  static byte[] bytes(long value) {
    return Long.toString(value).getBytes(StandardCharsets.UTF_8);
  }

  static long number(byte[] data) {
    return data.length == 0 ? 0 : Long.parseLong(new String(data, StandardCharsets.UTF_8));
  }
}
