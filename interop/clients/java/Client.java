import static org.apache.zookeeper.ZooDefs.Ids.OPEN_ACL_UNSAFE;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.Perms;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;

/** Apache's Java client at ordinary work. */
public final class Client {
  private final String server;
  private final String root;
  private final Session session;
  private final ZooKeeper zk;

  public static void main(String[] args) throws Exception {
    if (args[0].equals("twin")) twin(args[1], args[2]);
    else new Client(args[1], args[2]).checks();
    System.exit(0);
  }

  /** Runs only to be stopped by the harness until its session has expired. */
  private static void twin(String server, String path) throws Exception {
    Session session = new Session(server, 2000);
    session.zk.create(path, null, OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
    Talk.say("ready");
    Talk.demand(session.expired.await(40, TimeUnit.SECONDS), "never expired");
    Talk.say("expired");
  }

  private Client(String server, String root) throws Exception {
    this.server = server;
    this.root = root;
    this.session = new Session(server, 8000);
    this.zk = session.zk;
  }

  private void checks() throws Exception {
    Talk.check("connect", this::connect);
    Talk.check("create", this::create);
    Talk.check("create-container", this::createContainer);
    Talk.check("create-ttl", this::createTtl);
    Talk.check("get-set", this::getSet);
    Talk.check("exists", this::exists);
    Talk.check("children", this::children);
    Talk.check("delete", this::delete);
    Talk.check("versions", this::versions);
    Talk.check("refusals", this::refusals);
    Talk.check("acl", this::acl);
    Talk.check("multi", this::multi);
    Talk.check("multi-refused", this::multiRefused);
    Talk.check("watch-data", this::watchData);
    Talk.check("watch-exists", this::watchExists);
    Talk.check("watch-child", this::watchChild);
    Talk.check("watch-persistent", this::watchPersistent);
    Talk.check("watch-recursive", this::watchRecursive);
    Talk.check("watch-removed", this::watchRemoved);
    Talk.check("sync", this::sync);
    Talk.check("restart-soft", () -> restart("restart-soft"));
    Talk.check("restart-hard", () -> restart("restart-hard"));
    Talk.check("restart-watches", this::restartWatches);
    Talk.check("expiry", this::expiry);
    Talk.check("close", this::close);
    session.close();
  }

  private void connect() throws Exception {
    Talk.demand(zk.getSessionId() != 0, "session id 0");
    Talk.same(8000, zk.getSessionTimeout(), "negotiated timeout");
    Talk.same(16, zk.getSessionPasswd().length, "password length");
    make(root, "root");
  }

  private void create() throws Exception {
    String base = make(root + "/create", null);
    Stat stat = new Stat();
    Talk.same(base + "/plain", zk.create(base + "/plain", bytes("p"), OPEN_ACL_UNSAFE, CreateMode.PERSISTENT, stat), "path");
    Talk.demand(stat.getCzxid() > 0 && stat.getMzxid() == stat.getCzxid(), "zxids of a new node");
    Talk.same(1, stat.getDataLength(), "data length");
    Talk.same(0L, stat.getEphemeralOwner(), "owner of a persistent node");
    // plain was the first child ever, so the counter in the names is at one.
    Talk.same(base + "/s-0000000001", make(base + "/s-", null, CreateMode.PERSISTENT_SEQUENTIAL), "name");
    Talk.same(base + "/s-0000000002", make(base + "/s-", null, CreateMode.EPHEMERAL_SEQUENTIAL), "name");
    make(base + "/e", null, CreateMode.EPHEMERAL);
    Talk.same(zk.getSessionId(), zk.exists(base + "/e", false).getEphemeralOwner(), "owner");
    List<String> mine = zk.getEphemerals(base);
    Talk.same(new TreeSet<>(Arrays.asList(base + "/e", base + "/s-0000000002")), new TreeSet<>(mine), "ephemerals");
  }

  private void createContainer() throws Exception {
    String path = make(root + "/container", null, CreateMode.CONTAINER);
    make(path + "/child", "c");
    Talk.same(0L, zk.exists(path, false).getEphemeralOwner(), "owner of a container");
  }

  private void createTtl() throws Exception {
    Stat stat = new Stat();
    String path = zk.create(root + "/ttl", null, OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_WITH_TTL, stat, 60_000);
    Talk.same(0L, zk.exists(path, false).getEphemeralOwner(), "owner of a node with a ttl");
    path = zk.create(root + "/ttl-", null, OPEN_ACL_UNSAFE, CreateMode.PERSISTENT_SEQUENTIAL_WITH_TTL, stat, 60_000);
    Talk.demand(path.matches(".*/ttl-\\d{10}"), "name " + path);
  }

  private void getSet() throws Exception {
    String path = make(root + "/data", "one");
    Stat stat = new Stat();
    Talk.same("one", text(zk.getData(path, false, stat)), "data");
    Talk.same(0, stat.getVersion(), "version");
    Talk.same(1, zk.setData(path, bytes("two"), 0).getVersion(), "version after set");
    Talk.same(2, zk.setData(path, new byte[0], -1).getVersion(), "version after set of any");
    Talk.same(0, zk.getData(path, false, stat).length, "length of empty data");
    byte[] large = new byte[900_000];
    Arrays.fill(large, (byte) 7);
    zk.setData(path, large, 2);
    Talk.demand(Arrays.equals(large, zk.getData(path, false, stat)), "900 kB came back changed");
    String empty = make(root + "/null", null);
    Talk.same(null, zk.getData(empty, false, null), "data of a node made with null");
  }

  private void exists() throws Exception {
    Talk.same(null, zk.exists(root + "/nothing", false), "stat of nothing");
    Talk.demand(zk.exists(root, false) != null, "the root exists");
  }

  private void children() throws Exception {
    String base = make(root + "/family", null);
    Talk.same(0, zk.getChildren(base, false).size(), "no children yet");
    for (String name : new String[] {"a", "b", "ü"}) make(base + "/" + name, null);
    Stat stat = new Stat();
    Talk.same(new TreeSet<>(Arrays.asList("a", "b", "ü")), new TreeSet<>(zk.getChildren(base, false, stat)), "children");
    Talk.same(3, stat.getNumChildren(), "number of children");
    make(base + "/a/deep", null);
    Talk.same(4, zk.getAllChildrenNumber(base), "all children");
  }

  private void delete() throws Exception {
    String path = make(root + "/gone", null);
    zk.delete(path, 0);
    Talk.same(null, zk.exists(path, false), "stat of a deleted node");
  }

  private void versions() throws Exception {
    String path = make(root + "/versions", null);
    zk.setData(path, null, 0);
    refused(KeeperException.Code.BADVERSION, () -> zk.setData(path, null, 0));
    refused(KeeperException.Code.BADVERSION, () -> zk.delete(path, 0));
    zk.delete(path, 1);
  }

  private void refusals() throws Exception {
    String path = make(root + "/refusals", null);
    make(path + "/e", null, CreateMode.EPHEMERAL);
    refused(KeeperException.Code.NODEEXISTS, () -> make(path, null));
    refused(KeeperException.Code.NONODE, () -> zk.getData(path + "/no", false, null));
    refused(KeeperException.Code.NONODE, () -> make(path + "/no/child", null));
    refused(KeeperException.Code.NONODE, () -> zk.delete(path + "/no", -1));
    refused(KeeperException.Code.NOTEMPTY, () -> zk.delete(path, -1));
    refused(KeeperException.Code.NOCHILDRENFOREPHEMERALS, () -> make(path + "/e/child", null));
  }

  private void acl() throws Exception {
    try (Session owner = new Session(server, 8000); Session other = new Session(server, 8000)) {
      owner.zk.addAuthInfo("digest", bytes("ann:secret"));
      String path = owner.zk.create(root + "/acl", bytes("mine"), Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
      Stat stat = new Stat();
      List<ACL> acl = owner.zk.getACL(path, stat);
      Talk.same(1, acl.size(), "entries");
      Talk.same("digest", acl.get(0).getId().getScheme(), "scheme");
      Talk.demand(acl.get(0).getId().getId().startsWith("ann:"), "id " + acl.get(0).getId().getId());
      refused(KeeperException.Code.NOAUTH, () -> other.zk.getData(path, false, null));
      refused(KeeperException.Code.NOAUTH, () -> other.zk.setACL(path, OPEN_ACL_UNSAFE, -1));
      List<ACL> readable = Arrays.asList(acl.get(0), new ACL(Perms.READ, Ids.ANYONE_ID_UNSAFE));
      Talk.same(1, owner.zk.setACL(path, readable, stat.getAversion()).getAversion(), "aversion");
      refused(KeeperException.Code.BADVERSION, () -> owner.zk.setACL(path, readable, 0));
      Talk.same("mine", text(other.zk.getData(path, false, null)), "data");
      refused(KeeperException.Code.NOAUTH, () -> other.zk.setData(path, null, -1));
      other.zk.addAuthInfo("digest", bytes("ann:secret"));
      other.zk.setData(path, bytes("ours"), -1);
      List<ACL> invalid = Collections.singletonList(new ACL(Perms.ALL, new Id("nonsense", "x")));
      refused(KeeperException.Code.INVALIDACL, () -> owner.zk.setACL(path, invalid, -1));
    }
  }

  private void multi() throws Exception {
    String base = make(root + "/multi", null);
    make(base + "/old", null);
    List<OpResult> results = zk.multi(Arrays.asList(
        Op.create(base + "/new", bytes("n"), OPEN_ACL_UNSAFE, CreateMode.PERSISTENT),
        Op.setData(base + "/new", bytes("m"), 0),
        Op.check(base + "/new", 1),
        Op.delete(base + "/old", -1)));
    Talk.same(4, results.size(), "results");
    Talk.same(base + "/new", ((OpResult.CreateResult) results.get(0)).getPath(), "created");
    Talk.same(1, ((OpResult.SetDataResult) results.get(1)).getStat().getVersion(), "version");
    Talk.same(null, zk.exists(base + "/old", false), "deleted in the transaction");
    List<OpResult> read = zk.multi(Arrays.asList(Op.getData(base + "/new"), Op.getChildren(base)));
    Talk.same("m", text(((OpResult.GetDataResult) read.get(0)).getData()), "data read in a multi");
    Talk.same(List.of("new"), ((OpResult.GetChildrenResult) read.get(1)).getChildren(), "children read in a multi");
  }

  private void multiRefused() throws Exception {
    String base = make(root + "/refused", null);
    try {
      zk.multi(Arrays.asList(
          Op.create(base + "/new", null, OPEN_ACL_UNSAFE, CreateMode.PERSISTENT),
          Op.check(base, 7),
          Op.delete(base + "/new", -1)));
      throw new AssertionError("a multi with a bad version went through");
    } catch (KeeperException e) {
      Talk.same(KeeperException.Code.BADVERSION, e.code(), "code");
      Talk.same(List.of(0, -103, -2), e.getResults().stream().map(r -> ((OpResult.ErrorResult) r).getErr()).toList(), "errors");
    }
    Talk.same(0, zk.getChildren(base, false).size(), "children after a refused multi");
  }

  private void watchData() throws Exception {
    String path = make(root + "/watch-data", null);
    Session.Ear ear = new Session.Ear();
    zk.getData(path, ear, null);
    zk.setData(path, bytes("1"), -1);
    ear.expect(EventType.NodeDataChanged, path);
    zk.setData(path, bytes("2"), -1);
    ear.expectSilence();
    zk.getData(path, ear, null);
    zk.delete(path, -1);
    ear.expect(EventType.NodeDeleted, path);
  }

  private void watchExists() throws Exception {
    String path = root + "/watch-exists";
    Session.Ear ear = new Session.Ear();
    zk.exists(path, ear);
    make(path, null);
    ear.expect(EventType.NodeCreated, path);
    zk.exists(path, ear);
    zk.setData(path, null, -1);
    ear.expect(EventType.NodeDataChanged, path);
  }

  private void watchChild() throws Exception {
    String path = make(root + "/watch-child", null);
    Session.Ear ear = new Session.Ear();
    zk.getChildren(path, ear);
    make(path + "/a", null);
    ear.expect(EventType.NodeChildrenChanged, path);
    zk.getChildren(path, ear);
    zk.delete(path + "/a", -1);
    ear.expect(EventType.NodeChildrenChanged, path);
  }

  private void watchPersistent() throws Exception {
    String path = root + "/watch-persistent";
    Session.Ear ear = new Session.Ear();
    zk.addWatch(path, ear, AddWatchMode.PERSISTENT);
    make(path, null);
    zk.setData(path, null, -1);
    zk.setData(path, null, -1);
    make(path + "/a", null);
    zk.setData(path + "/a", null, -1);
    ear.expect(EventType.NodeCreated, path);
    ear.expect(EventType.NodeDataChanged, path);
    ear.expect(EventType.NodeDataChanged, path);
    ear.expect(EventType.NodeChildrenChanged, path);
    ear.expectSilence();
    zk.removeWatches(path, ear, Watcher.WatcherType.Any, false);
  }

  private void watchRecursive() throws Exception {
    String path = make(root + "/watch-recursive", null);
    Session.Ear ear = new Session.Ear();
    zk.addWatch(path, ear, AddWatchMode.PERSISTENT_RECURSIVE);
    make(path + "/a", null);
    make(path + "/a/b", null);
    zk.setData(path + "/a/b", null, -1);
    zk.delete(path + "/a/b", -1);
    ear.expect(EventType.NodeCreated, path + "/a");
    ear.expect(EventType.NodeCreated, path + "/a/b");
    ear.expect(EventType.NodeDataChanged, path + "/a/b");
    ear.expect(EventType.NodeDeleted, path + "/a/b");
    ear.expectSilence();
  }

  private void watchRemoved() throws Exception {
    String path = make(root + "/watch-removed", null);
    Session.Ear ear = new Session.Ear();
    zk.getData(path, ear, null);
    zk.removeWatches(path, ear, Watcher.WatcherType.Data, false);
    ear.expect(EventType.DataWatchRemoved, path);
    zk.setData(path, null, -1);
    ear.expectSilence();
    refused(KeeperException.Code.NOWATCHER, () -> zk.removeWatches(path, ear, Watcher.WatcherType.Data, false));
  }

  private void sync() throws Exception {
    CountDownLatch answered = new CountDownLatch(1);
    int[] code = {1};
    zk.sync(root, (rc, path, ctx) -> {
      code[0] = rc;
      answered.countDown();
    }, null);
    Talk.demand(answered.await(5, TimeUnit.SECONDS), "no answer to sync within 5 s");
    Talk.same(0, code[0], "code");
  }

  private void restart(String how) throws Exception {
    String path = root + "/" + how;
    make(path, "first", CreateMode.EPHEMERAL);
    zk.setData(path, bytes("acknowledged"), -1);
    long id = zk.getSessionId();
    Talk.ask(how);
    Stat stat = session.patiently(() -> zk.exists(path, false));
    Talk.demand(stat != null, "the ephemeral did not survive");
    Talk.same(id, stat.getEphemeralOwner(), "owner");
    Talk.same(id, zk.getSessionId(), "session id");
    Talk.same("acknowledged", text(session.patiently(() -> zk.getData(path, false, null))), "data");
    session.patiently(() -> zk.setData(path, bytes("after"), 1));
  }

  private void restartWatches() throws Exception {
    String path = make(root + "/rewatch", null);
    Session.Ear data = new Session.Ear();
    Session.Ear created = new Session.Ear();
    Session.Ear child = new Session.Ear();
    Session.Ear persistent = new Session.Ear();
    zk.getData(path, data, null);
    zk.exists(path + "/a", created);
    zk.getChildren(path, child);
    // On a separate path: in 3.8 a recursive watch replaces the plain watches of its path.
    String tree = make(root + "/rewatch-tree", null);
    zk.addWatch(tree, persistent, AddWatchMode.PERSISTENT_RECURSIVE);
    Talk.ask("restart-soft");
    session.patiently(() -> zk.setData(path, bytes("x"), -1));
    make(path + "/a", null);
    zk.setData(tree, null, -1);
    make(tree + "/a", null);
    data.expect(EventType.NodeDataChanged, path);
    created.expect(EventType.NodeCreated, path + "/a");
    child.expect(EventType.NodeChildrenChanged, path);
    persistent.expect(EventType.NodeDataChanged, tree);
    persistent.expect(EventType.NodeCreated, tree + "/a");
  }

  private void expiry() throws Exception {
    String path = root + "/twin";
    Talk.ask("twin " + path);
    Session.Ear ear = new Session.Ear();
    Talk.demand(zk.exists(path, ear) != null, "the twin's ephemeral is not there");
    ear.expect(EventType.NodeDeleted, path, 10);
    Talk.ask("thaw");
  }

  private void close() throws Exception {
    String path = root + "/closing";
    Session.Ear ear = new Session.Ear();
    Session closing = new Session(server, 8000);
    closing.zk.create(path, null, OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
    Talk.demand(zk.exists(path, ear) != null, "the ephemeral is not there");
    closing.close();
    ear.expect(EventType.NodeDeleted, path, 2);
  }

  private String make(String path, String data) throws Exception {
    return make(path, data, CreateMode.PERSISTENT);
  }

  private String make(String path, String data, CreateMode mode) throws Exception {
    return zk.create(path, data == null ? null : bytes(data), OPEN_ACL_UNSAFE, mode);
  }

  private static void refused(KeeperException.Code code, Talk.Body call) throws Exception {
    try {
      call.run();
    } catch (KeeperException e) {
      Talk.same(code, e.code(), "refusal");
      return;
    }
    throw new AssertionError("went through, wanted " + code);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }

  private static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
  }
}
