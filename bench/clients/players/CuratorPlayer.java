import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.BackgroundCallback;
import org.apache.curator.framework.api.CuratorWatcher;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.Watcher.Event.EventType;

/** Curator's framework: its calls, one by one or in the background. */
public final class CuratorPlayer extends Player {
  private final CuratorFramework client;

  public static void main(String[] args) throws Exception {
    new CuratorPlayer(args[0]).play(args[1]);
  }

  private CuratorPlayer(String address) throws Exception {
    client = CuratorFrameworkFactory.newClient(address, 30_000, 15_000, new ExponentialBackoffRetry(1000, 3));
    client.start();
    if (!client.blockUntilConnected(10, TimeUnit.SECONDS)) throw new IllegalStateException("not connected");
  }

  @Override
  void get(String path) throws Exception {
    client.getData().forPath(path);
  }

  @Override
  void set(String path, byte[] data) throws Exception {
    client.setData().forPath(path, data);
  }

  @Override
  void create(String path, byte[] data) throws Exception {
    client.create().forPath(path, data);
  }

  @Override
  void get(String path, Done done) throws Exception {
    client.getData().inBackground(callback(done)).forPath(path);
  }

  @Override
  void set(String path, byte[] data, Done done) throws Exception {
    client.setData().inBackground(callback(done)).forPath(path, data);
  }

  @Override
  void create(String path, byte[] data, Done done) throws Exception {
    client.create().inBackground(callback(done)).forPath(path, data);
  }

  @Override
  void watch(String path, Done onSet, Runnable onChange) throws Exception {
    CuratorWatcher watcher = event -> {
      if (event.getType() == EventType.NodeDataChanged) onChange.run();
    };
    client.getData().usingWatcher(watcher).inBackground(callback(onSet)).forPath(path);
  }

  private static BackgroundCallback callback(Done done) {
    return (client, event) -> done.with(event.getResultCode());
  }
}
