import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.recipes.nodes.PersistentTtlNode;
import org.apache.zookeeper.CreateMode;

/** Persistent nodes, and nodes that disappear by themselves. */
final class Nodes {
  static void addTo(Map<String, World.Check> checks) {
    checks.put("persistent-node", Nodes::persistentNode);
    checks.put("persistent-ttl-node", Nodes::persistentTtlNode);
    checks.put("group-member", Nodes::groupMember);
    checks.put("containers", Nodes::containers);
    checks.put("transaction", Nodes::transaction);
  }

  /**
   * An ephemeral node that is created again after a deletion, a kill and the end of its session.
   */
  private static void persistentNode(World world) throws Exception {
    CuratorFramework client = world.client();
    CuratorFramework looker = world.client();
    byte[] data = "kept".getBytes(StandardCharsets.UTF_8);
    try (PersistentNode node = new PersistentNode(client, CreateMode.EPHEMERAL, true, world.path, data)) {
      node.start();
      Talk.demand(node.waitForInitialCreate(World.PATIENCE_S, TimeUnit.SECONDS), "no node");
      String path = node.getActualPath();
      looker.delete().forPath(path);
      World.eventually("a deleted node is back", () -> isThere(looker, node.getActualPath()));
      Talk.ask("kill-leader");
      Talk.demand(isThere(looker, node.getActualPath()), "a kill of the leader took the node");
      Talk.ask("heal");
      world.expire(client);
      World.eventually("the node is back in a new session", () -> {
        var stat = looker.checkExists().forPath(node.getActualPath());
        return stat != null
            && stat.getEphemeralOwner() == client.getZookeeperClient().getZooKeeper().getSessionId();
      });
    }
    World.eventually("a closed node is gone", () -> {
      var parent = looker.getChildren().forPath("/recipes");
      return parent.stream().noneMatch(name -> name.endsWith("persistent-node"));
    });
  }

  private static void persistentTtlNode(World world) throws Exception {
    CuratorFramework client = world.client();
    CuratorFramework looker = world.client();
    PersistentTtlNode node = new PersistentTtlNode(client, world.path, 3000, new byte[0]);
    node.start();
    Talk.demand(node.waitForInitialCreate(World.PATIENCE_S, TimeUnit.SECONDS), "no node");
    Talk.ask("kill-leader");
    Talk.ask("heal");
    // Twice its TTL, during which it is touched.
    Thread.sleep(6000);
    Talk.demand(isThere(looker, world.path), "a node that is touched has gone");
    node.close();
    World.eventually("a node that nobody touches goes", () -> !isThere(looker, world.path));
  }

  private static void groupMember(World world) throws Exception {
    List<GroupMember> members = new ArrayList<>();
    List<CuratorFramework> clients = world.clients(3);
    for (CuratorFramework client : clients) {
      GroupMember member = new GroupMember(client, world.path, "member-" + members.size());
      member.start();
      members.add(member);
    }
    untilAllSee(members, 3);
    Talk.ask("kill-leader");
    untilAllSee(members, 3);
    Talk.ask("heal");
    members.remove(2).close();
    untilAllSee(members, 2);
    world.expire(clients.get(0));
    untilAllSee(members, 2);
    for (GroupMember member : members) member.close();
  }

  private static void untilAllSee(List<GroupMember> members, int count) throws Exception {
    for (GroupMember member : members) {
      World.eventually("all see " + count, () -> member.getCurrentMembers().size() == count);
    }
  }

  private static void containers(World world) throws Exception {
    CuratorFramework client = world.client();
    String child = world.path + "/a/b/c";
    client.create().creatingParentContainersIfNeeded().forPath(child);
    client.delete().forPath(child);
    World.eventually("empty containers go, one after the other", () -> !isThere(client, world.path));
  }

  private static void transaction(World world) throws Exception {
    CuratorFramework client = world.client();
    client.create().creatingParentsIfNeeded().forPath(world.path, new byte[] {1});
    client.transaction().forOperations(
        client.transactionOp().create().forPath(world.path + "/a"),
        client.transactionOp().setData().forPath(world.path, new byte[] {2}),
        client.transactionOp().check().withVersion(1).forPath(world.path));
    Talk.demand(isThere(client, world.path + "/a"), "the transaction left nothing");
    try {
      client.transaction().forOperations(
          client.transactionOp().create().forPath(world.path + "/b"),
          client.transactionOp().check().withVersion(77).forPath(world.path));
      Talk.demand(false, "a transaction with a wrong version was carried out");
    } catch (org.apache.zookeeper.KeeperException.BadVersionException expected) {
      Talk.demand(!isThere(client, world.path + "/b"), "a refused transaction left something");
    }
  }

  private static boolean isThere(CuratorFramework client, String path) throws Exception {
    return client.checkExists().forPath(path) != null;
  }
}
