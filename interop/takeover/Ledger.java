import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.data.Stat;

/** Writes continuously, and knows after each write what must exist: nobody else writes here. */
final class Ledger implements Runnable {
  static final AtomicLong WRITES = new AtomicLong();
  /** Attempts without an answer; each was repeated. */
  static final AtomicLong UNANSWERED = new AtomicLong();
  private static final int PAUSE_MS = 10;
  private final Holder holder;
  private final String path;
  private int version = 0;
  private int children = 0;

  Ledger(String servers, int number) throws Exception {
    holder = new Holder(servers);
    path = "/takeover/ledger/" + number;
    holder.zk.create(path, Holder.bytes(0), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
  }

  @Override
  public void run() {
    try {
      while (!Load.isOver) {
        if (version % 4 == 3) create();
        set();
        Thread.sleep(PAUSE_MS);
      }
      verify();
    } catch (Exception e) {
      Load.fail(path + ": " + e);
    }
  }

  /** With the expected version: a lost or repeated write is refused. */
  private void set() throws Exception {
    write(() -> holder.zk.setData(path, Holder.bytes(version + 1), version));
    version++;
  }

  private void create() throws Exception {
    String child = path + "/" + children;
    write(() -> holder.zk.create(child, Holder.bytes(children), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
    children++;
  }

  /**
   * Repeats until it is acknowledged. If the second attempt is refused, the first one took effect.
   */
  private static void write(Holder.Call<?> write) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(2 * Holder.TIMEOUT_MS);
    for (boolean isRepeated = false; ; isRepeated = true) {
      try {
        write.run();
        break;
      } catch (KeeperException.BadVersionException | KeeperException.NodeExistsException e) {
        if (isRepeated) break;
        throw e;
      } catch (KeeperException.ConnectionLossException e) {
        if (System.nanoTime() > deadline) throw e;
        UNANSWERED.incrementAndGet();
        Thread.sleep(PAUSE_MS);
      }
    }
    WRITES.incrementAndGet();
  }

  private void verify() throws Exception {
    Stat stat = new Stat();
    byte[] data = holder.patiently(() -> holder.zk.getData(path, false, stat));
    if (stat.getVersion() != version) Load.fail(path + " has version " + stat.getVersion() + ", not " + version);
    if (Holder.number(data) != version) Load.fail(path + " holds " + Holder.number(data) + ", not " + version);
    if (stat.getNumChildren() != children) {
      Load.fail(path + " has " + stat.getNumChildren() + " children, not " + children);
    }
    holder.verify();
  }
}
