import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicInteger;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.nodes.GroupMember;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.recipes.nodes.PersistentTtlNode;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.retry.RetryForever;
import org.apache.curator.x.discovery.ServiceDiscovery;
import org.apache.curator.x.discovery.ServiceDiscoveryBuilder;
import org.apache.curator.x.discovery.ServiceInstance;
import org.apache.zookeeper.CreateMode;

/** What Contender does with Curator's recipes of shared state. */
final class Sharer {
  private static final int PATIENCE_MS = 60_000;
  private final CuratorFramework client;
  private final Map<String, GroupMember> groups = new ConcurrentHashMap<>();

  Sharer(CuratorFramework client) {
    this.client = client;
  }

  void fulfil(String[] words, Consumer<String> tell) throws Exception {
    switch (words[0]) {
      case "count" -> tell.accept("counted " + count(words[1], words[2], Integer.parseInt(words[3])));
      case "join" -> {
        byte[] data = words[3].getBytes(StandardCharsets.UTF_8);
        GroupMember member = new GroupMember(client, words[1], words[2], data);
        member.start();
        groups.put(words[1], member);
        tell.accept("joined");
      }
      case "members" -> tell.accept("members " + members(words[1], Integer.parseInt(words[2])));
      case "add" -> {
        add(words[1], Integer.parseInt(words[2]));
        tell.accept("done");
      }
      case "keep" -> {
        byte[] data = words[2].getBytes(StandardCharsets.UTF_8);
        PersistentTtlNode node =
            new PersistentTtlNode(client, words[1], Long.parseLong(words[3]), data);
        node.start();
        if (!node.waitForInitialCreate(PATIENCE_MS, TimeUnit.MILLISECONDS)) {
          throw new IllegalStateException("not created in time");
        }
        tell.accept("kept");
      }
      case "stay" -> {
        byte[] data = words[2].getBytes(StandardCharsets.UTF_8);
        PersistentNode node = new PersistentNode(client, CreateMode.EPHEMERAL, false, words[1], data);
        node.start();
        if (!node.waitForInitialCreate(PATIENCE_MS, TimeUnit.MILLISECONDS)) {
          throw new IllegalStateException("not created in time");
        }
        tell.accept("stays");
      }
      case "offer" -> {
        Map<String, String> payload = new HashMap<>(Map.of("zone", "eu"));
        ServiceInstance<Map> instance = ServiceInstance.<Map>builder().name(words[2]).id(words[3])
            .address("there").port(Integer.parseInt(words[4])).payload(payload).build();
        discovery(words[1]).registerService(instance);
        tell.accept("offered");
      }
      case "discover" -> tell.accept("found " + instances(words[1], words[2], Integer.parseInt(words[3])));
      default -> throw new IllegalArgumentException(String.join(" ", words));
    }
  }

  private long count(String layout, String path, int times) throws Exception {
    DistributedAtomicLong longs = new DistributedAtomicLong(client, path, new RetryForever(5));
    DistributedAtomicInteger ints = new DistributedAtomicInteger(client, path, new RetryForever(5));
    long last = 0;
    for (int left = times; left > 0; left--) {
      AtomicValue<? extends Number> value = layout.equals("int") ? ints.increment() : longs.increment();
      if (!value.succeeded()) throw new IllegalStateException("not counted");
      last = value.postValue().longValue();
    }
    return last;
  }

  private void add(String path, int times) throws Exception {
    try (SharedCount shared = new SharedCount(client, path, 0)) {
      shared.start();
      for (int left = times; left > 0; ) {
        if (shared.trySetCount(shared.getVersionedValue(), shared.getCount() + 1)) left--;
      }
    }
  }

  private String members(String path, int count) throws Exception {
    for (int waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += 20) {
      Map<String, String> found = new TreeMap<>();
      groups.get(path).getCurrentMembers()
          .forEach((name, data) -> found.put(name, new String(data, StandardCharsets.UTF_8)));
      if (found.size() == count) {
        return found.entrySet().stream().map(Object::toString).collect(Collectors.joining(" "));
      }
      Thread.sleep(20);
    }
    throw new IllegalStateException("not so many members in time");
  }

  private ServiceDiscovery<Map> discovery(String base) throws Exception {
    ServiceDiscovery<Map> discovery =
        ServiceDiscoveryBuilder.builder(Map.class).client(client).basePath(base).build();
    discovery.start();
    return discovery;
  }

  private String instances(String base, String name, int count) throws Exception {
    ServiceDiscovery<Map> discovery = discovery(base);
    for (int waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += 20) {
      Collection<ServiceInstance<Map>> found = discovery.queryForInstances(name);
      if (found.size() == count) {
        if (!found.stream().allMatch(one -> "eu".equals(one.getPayload().get("zone")))) {
          throw new AssertionError("a payload is lost");
        }
        return found.stream().map(one -> one.getId() + ":" + one.getPort()).sorted()
            .collect(Collectors.joining(" "));
      }
      Thread.sleep(20);
    }
    throw new IllegalStateException("not so many instances in time");
  }
}
