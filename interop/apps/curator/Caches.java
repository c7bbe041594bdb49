import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.cache.NodeCache;
import org.apache.curator.framework.recipes.cache.PathChildrenCache;
import org.apache.curator.framework.recipes.cache.TreeCache;
import org.apache.curator.framework.recipes.watch.PersistentWatcher;

/** Mirrors of a part of the tree, with persistent watches and with one-shot watches. */
@SuppressWarnings("deprecation")
final class Caches {
  private static final int NODES = 50;

  static void addTo(Map<String, World.Check> checks) {
    checks.put("curator-cache", Caches::curatorCache);
    checks.put("path-children-cache", Caches::pathChildrenCache);
    checks.put("tree-cache", Caches::treeCache);
    checks.put("node-cache", Caches::nodeCache);
    checks.put("persistent-watcher", Caches::persistentWatcher);
  }

  private static void curatorCache(World world) throws Exception {
    CuratorFramework reader = world.client();
    AtomicInteger created = new AtomicInteger();
    try (CuratorCache cache = CuratorCache.build(reader, world.path)) {
      cache.listenable().addListener(
          CuratorCacheListener.builder().forCreates(node -> created.incrementAndGet()).build());
      cache.start();
      follow(world, reader, () -> cache.size(), path -> cache.get(path).map(node -> text(node.getData())).orElse(null));
      Talk.demand(created.get() > NODES, "only " + created + " creations were told");
    }
  }

  private static void pathChildrenCache(World world) throws Exception {
    CuratorFramework reader = world.client();
    reader.create().creatingParentsIfNeeded().forPath(world.path, bytes("0"));
    try (PathChildrenCache cache = new PathChildrenCache(reader, world.path, true)) {
      cache.start(PathChildrenCache.StartMode.BUILD_INITIAL_CACHE);
      follow(world, reader, () -> cache.getCurrentData().size() + 1, path -> {
        if (path.equals(world.path)) return null;
        var node = cache.getCurrentData(path);
        return node == null ? null : text(node.getData());
      });
    }
  }

  private static void treeCache(World world) throws Exception {
    CuratorFramework reader = world.client();
    reader.create().creatingParentsIfNeeded().forPath(world.path, bytes("0"));
    try (TreeCache cache = new TreeCache(reader, world.path)) {
      cache.start();
      follow(world, reader, () -> {
        var children = cache.getCurrentChildren(world.path);
        return children == null ? 0 : children.size() + 1;
      }, path -> {
        var node = cache.getCurrentData(path);
        return node == null ? null : text(node.getData());
      });
    }
  }

  private interface Size {
    int now() throws Exception;
  }

  private interface Look {
    String at(String path) throws Exception;
  }

  /**
   * Nodes are created, changed and deleted while a server is killed and the reader's session ends.
   */
  private static void follow(World world, CuratorFramework reader, Size size, Look look)
      throws Exception {
    CuratorFramework writer = world.client();
    for (int i = 0; i < NODES; i++) writer.create().orSetData().creatingParentsIfNeeded().forPath(node(world, i), bytes("1"));
    World.eventually("all nodes are seen", () -> size.now() == NODES + 1);
    Talk.ask("kill-leader");
    for (int i = 0; i < NODES; i++) writer.setData().forPath(node(world, i), bytes("2"));
    World.eventually("all changes are seen", () -> allAre(world, look, 0, "2"));
    Talk.ask("heal");
    for (int i = 0; i < NODES / 2; i++) writer.delete().forPath(node(world, i));
    World.eventually("what is deleted is gone", () -> size.now() == NODES / 2 + 1);
    world.expire(reader);
    for (int i = NODES / 2; i < NODES; i++) writer.setData().forPath(node(world, i), bytes("3"));
    World.eventually("changes are seen by a new session", () -> allAre(world, look, NODES / 2, "3"));
  }

  private static boolean allAre(World world, Look look, int from, String wanted) throws Exception {
    for (int i = from; i < NODES; i++) {
      if (!wanted.equals(look.at(node(world, i)))) return false;
    }
    return true;
  }

  private static void nodeCache(World world) throws Exception {
    CuratorFramework reader = world.client();
    CuratorFramework writer = world.client();
    try (NodeCache cache = new NodeCache(reader, world.path)) {
      cache.start(true);
      Talk.demand(cache.getCurrentData() == null, "there is no node yet");
      writer.create().creatingParentsIfNeeded().forPath(world.path, bytes("1"));
      World.eventually("the node is seen", () -> "1".equals(shown(cache)));
      Talk.ask("kill-leader");
      writer.setData().forPath(world.path, bytes("2"));
      World.eventually("the change is seen", () -> "2".equals(shown(cache)));
      Talk.ask("heal");
      world.expire(reader);
      writer.delete().forPath(world.path);
      World.eventually("the deletion is seen", () -> cache.getCurrentData() == null);
    }
  }

  private static String shown(NodeCache cache) {
    return cache.getCurrentData() == null ? null : text(cache.getCurrentData().getData());
  }

  private static void persistentWatcher(World world) throws Exception {
    CuratorFramework client = world.client();
    AtomicInteger heard = new AtomicInteger();
    try (PersistentWatcher watcher = new PersistentWatcher(client, world.path, true)) {
      watcher.getListenable().addListener(event -> {
        if (event.getPath() != null) heard.incrementAndGet();
      });
      watcher.start();
      CuratorFramework writer = world.client();
      // The watch is set in the background.
      World.eventually("something is heard", () -> {
        writer.create().orSetData().creatingParentsIfNeeded().forPath(world.path + "/a", bytes("1"));
        return heard.get() > 0;
      });
      Talk.ask("kill-leader");
      Talk.ask("heal");
      int before = heard.get();
      World.eventually("something is heard after a kill", () -> {
        writer.setData().forPath(world.path + "/a", bytes("2"));
        return heard.get() > before + 1;
      });
    }
  }

  private static String node(World world, int i) {
    return world.path + "/node-" + i;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }
}
