import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** Apache's Java client. */
public final class ZooKeeperPlayer extends Player {
  private static final int ANY_VERSION = -1;
  private final ZooKeeper client;

  public static void main(String[] args) throws Exception {
    new ZooKeeperPlayer(args[0]).play(args[1]);
  }

  private ZooKeeperPlayer(String address) throws Exception {
    CountDownLatch connected = new CountDownLatch(1);
    client = new ZooKeeper(address, 30_000, event -> {
      if (event.getState() == KeeperState.SyncConnected) connected.countDown();
    });
    connected.await();
  }

  @Override
  void get(String path) throws Exception {
    client.getData(path, false, null);
  }

  @Override
  void set(String path, byte[] data) throws Exception {
    client.setData(path, data, ANY_VERSION);
  }

  @Override
  void create(String path, byte[] data) throws Exception {
    client.create(path, data, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
  }

  @Override
  void get(String path, Done done) {
    client.getData(path, false, (code, at, context, bytes, stat) -> done.with(code), null);
  }

  @Override
  void set(String path, byte[] data, Done done) {
    client.setData(path, data, ANY_VERSION, (code, at, context, stat) -> done.with(code), null);
  }

  @Override
  void create(String path, byte[] data, Done done) {
    client.create(path, data, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT,
        (code, at, context, name) -> done.with(code), null);
  }

  @Override
  void watch(String path, Done onSet, Runnable onChange) {
    client.getData(path, event -> {
      if (event.getType() == EventType.NodeDataChanged) onChange.run();
    }, (code, at, context, bytes, stat) -> onSet.with(code), null);
  }
}
