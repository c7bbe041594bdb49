import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/**
 * Sessions that each hold an ephemeral and write one after the other, whatever happens to their
 * servers. Prints {@code ready}, then answers {@code step} with what happened since the previous
 * step, and {@code stop} after checking that every ephemeral still exists and no write was lost.
 */
public final class Sessions implements Runnable {
  private static final int TIMEOUT_MS = 20_000;
  private static final int PAUSE_MS = 2;
  private static final AtomicLong WRITES = new AtomicLong();
  private static final AtomicLong UNANSWERED = new AtomicLong();
  private static final AtomicInteger RECONNECTS = new AtomicInteger();
  private static final AtomicInteger LOST = new AtomicInteger();
  /** When a write was last acknowledged, and the longest time between two. */
  private static long lastAckNs;
  private static long longestNs;
  private static volatile boolean isOver = false;

  private final ZooKeeper zk;
  private final String ephemeral;
  private final String path;
  private final long sessionId;
  private final CountDownLatch connected = new CountDownLatch(1);
  private long ownAckNs;
  private long ownLongestNs;
  private int version = 0;

  private Sessions(String servers, int number) throws Exception {
    zk = new ZooKeeper(servers, TIMEOUT_MS, this::heard);
    demand(connected.await(20, TimeUnit.SECONDS), "no session within 20 s");
    sessionId = zk.getSessionId();
    ephemeral = "/here-" + number;
    path = "/written-" + number;
    zk.create(ephemeral, new byte[0], Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
    zk.create(path, new byte[100], Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
  }

  public static void main(String[] args) throws Exception {
    int count = Integer.parseInt(args[1]);
    List<Sessions> sessions = new ArrayList<>();
    for (int i = 0; i < count; i++) sessions.add(new Sessions(args[0], i));
    List<Thread> threads = new ArrayList<>();
    for (Sessions session : sessions) threads.add(new Thread(session));
    lastAckNs = System.nanoTime();
    for (Thread thread : threads) thread.start();
    say("ready");
    BufferedReader wishes = new BufferedReader(new InputStreamReader(System.in));
    for (String wish = wishes.readLine(); wish != null; wish = wishes.readLine()) {
      if (wish.equals("stop")) {
        isOver = true;
        for (Thread thread : threads) thread.join();
        for (Sessions session : sessions) session.verify();
      }
      say(wish + report(sessions));
    }
    System.exit(0);
  }

  private static synchronized String report(List<Sessions> sessions) {
    long own = 0;
    for (Sessions session : sessions) {
      own = Math.max(own, session.ownLongestNs);
      session.ownLongestNs = 0;
    }
    String line = String.format(
        " writes=%d unanswered=%d reconnects=%d lost=%d longestUs=%d ownUs=%d", WRITES.getAndSet(0),
        UNANSWERED.getAndSet(0), RECONNECTS.getAndSet(0), LOST.get(), longestNs / 1000, own / 1000);
    longestNs = 0;
    return line;
  }

  private static synchronized void acknowledged(Sessions session) {
    long now = System.nanoTime();
    longestNs = Math.max(longestNs, now - lastAckNs);
    lastAckNs = now;
    session.ownLongestNs = Math.max(session.ownLongestNs, now - session.ownAckNs);
    session.ownAckNs = now;
    WRITES.incrementAndGet();
  }

  @Override
  public void run() {
    ownAckNs = System.nanoTime();
    try {
      while (!isOver) {
        write();
        acknowledged(this);
        Thread.sleep(PAUSE_MS);
      }
    } catch (Exception e) {
      fail(path + ": " + e);
    }
  }

  /** With the expected version: a lost or repeated write would be refused. */
  private void write() throws Exception {
    for (boolean isRepeated = false; ; isRepeated = true) {
      try {
        zk.setData(path, new byte[100], version);
        break;
      } catch (KeeperException.BadVersionException e) {
        if (isRepeated) break;
        throw e;
      } catch (KeeperException.ConnectionLossException e) {
        UNANSWERED.incrementAndGet();
        Thread.sleep(PAUSE_MS);
      }
    }
    version++;
  }

  private void verify() throws Exception {
    Stat held = zk.exists(ephemeral, false);
    if (held == null || held.getEphemeralOwner() != sessionId) fail(ephemeral + " is gone");
    Stat written = zk.exists(path, false);
    if (written.getVersion() != version) fail(path + " has " + written.getVersion() + ", not " + version);
  }

  private void heard(WatchedEvent event) {
    if (event.getType() != EventType.None) return;
    if (event.getState() == KeeperState.SyncConnected) {
      if (connected.getCount() == 0) RECONNECTS.incrementAndGet();
      connected.countDown();
    } else if (event.getState() == KeeperState.Expired) {
      LOST.incrementAndGet();
      fail("the session of " + ephemeral + " is lost");
    }
  }

  private static void fail(String what) {
    say("FAIL " + what.replace('\n', ' '));
  }

  private static void demand(boolean holds, String what) {
    if (!holds) throw new IllegalStateException(what);
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
