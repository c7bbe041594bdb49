import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.ZooDefs.Ids;

/**
 * Two sessions: one changes something, the other watches it and reads again only after an event.
 * The next change is made when the last one was seen, so a single missed event shows.
 */
final class Watching implements Runnable {
  static final AtomicLong SEEN = new AtomicLong();
  private static final int PAUSE_MS = 20;
  private final Holder changer;
  private final Holder watcher;
  private final String data;
  private final String list;
  private final String coming;
  private final LinkedBlockingQueue<EventType> told = new LinkedBlockingQueue<>();

  Watching(String servers, int number) throws Exception {
    changer = new Holder(servers);
    watcher = new Holder(servers);
    String root = "/takeover/watched/" + number;
    data = root + "/data";
    list = root + "/list";
    coming = root + "/coming";
    // Created by the reader: another session's server might not have them yet.
    for (String path : new String[] {root, data, list}) {
      watcher.zk.create(path, Holder.bytes(0), Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }
  }

  @Override
  public void run() {
    try {
      for (long round = 1; !Load.isOver; round++) {
        data(round);
        list(round);
        coming();
        Thread.sleep(PAUSE_MS);
      }
      changer.verify();
      watcher.verify();
    } catch (Exception e) {
      Load.fail(data + ": " + e);
    }
  }

  private void data(long round) throws Exception {
    watcher.patiently(() -> watcher.zk.getData(data, this::tell, null));
    // Setting the same data twice would cause two events.
    untilDone(() -> changer.zk.setData(data, Holder.bytes(round), (int) round - 1));
    expect(EventType.NodeDataChanged, data);
    long seen = Holder.number(watcher.patiently(() -> watcher.zk.getData(data, false, null)));
    if (seen != round) Load.fail(data + ": told of " + round + ", but " + seen + " is there");
  }

  private void list(long round) throws Exception {
    watcher.patiently(() -> watcher.zk.getChildren(list, this::tell));
    String child = list + "/" + round;
    untilDone(() -> changer.zk.create(child, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
    expect(EventType.NodeChildrenChanged, list);
    if (watcher.patiently(() -> watcher.zk.exists(child, false)) == null) Load.fail(child + " is not there");
  }

  private void coming() throws Exception {
    watcher.patiently(() -> watcher.zk.exists(coming, this::tell));
    untilDone(() -> changer.zk.create(coming, null, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT));
    expect(EventType.NodeCreated, coming);
    watcher.patiently(() -> watcher.zk.exists(coming, this::tell));
    untilDone(() -> {
      changer.zk.delete(coming, -1);
      return null;
    });
    expect(EventType.NodeDeleted, coming);
  }

  /** Repeats a change until it succeeds; a refused repetition means that it had succeeded. */
  private void untilDone(Holder.Call<?> change) throws Exception {
    try {
      changer.patiently(change);
    } catch (KeeperException.BadVersionException | KeeperException.NodeExistsException
        | KeeperException.NoNodeException e) {
      // The watch shows whether it did.
    }
  }

  private void tell(WatchedEvent event) {
    if (event.getType() != EventType.None) told.add(event.getType());
  }

  private void expect(EventType wanted, String path) throws Exception {
    EventType type = told.poll(2L * Holder.TIMEOUT_MS, TimeUnit.MILLISECONDS);
    if (type == null) throw new IllegalStateException("the watch on " + path + " missed " + wanted);
    if (type != wanted) throw new IllegalStateException("the watch on " + path + " said " + type + ", not " + wanted);
    SEEN.incrementAndGet();
  }
}
