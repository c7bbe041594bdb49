import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.x.discovery.ServiceCache;
import org.apache.curator.x.discovery.ServiceDiscovery;
import org.apache.curator.x.discovery.ServiceDiscoveryBuilder;
import org.apache.curator.x.discovery.ServiceInstance;
import org.apache.curator.x.discovery.ServiceProvider;

/** Service discovery (curator-x-discovery). */
final class Discovery {
  static void addTo(Map<String, World.Check> checks) {
    checks.put("service-discovery", Discovery::discovery);
  }

  private static void discovery(World world) throws Exception {
    List<CuratorFramework> clients = world.clients(3);
    List<ServiceDiscovery<Void>> services = new ArrayList<>();
    for (CuratorFramework client : clients) {
      ServiceInstance<Void> instance = ServiceInstance.<Void>builder()
          .name("mail").address("127.0.0.1").port(7000 + services.size()).build();
      ServiceDiscovery<Void> service = open(world, client, instance);
      services.add(service);
    }
    ServiceDiscovery<Void> looker = open(world, world.client(), null);
    ServiceCache<Void> cache = looker.serviceCacheBuilder().name("mail").build();
    cache.start();
    try (ServiceProvider<Void> provider = looker.serviceProviderBuilder().serviceName("mail").build()) {
      provider.start();
      untilSeen(looker, cache, 3);
      Set<Integer> offered = new HashSet<>();
      World.eventually("each instance is offered", () -> {
        ServiceInstance<Void> one = provider.getInstance();
        if (one != null) offered.add(one.getPort());
        return offered.size() == 3;
      });
      Talk.ask("kill-leader");
      untilSeen(looker, cache, 3);
      Talk.ask("heal");
      leave(services.remove(2), clients.get(2));
      untilSeen(looker, cache, 2);
      // An instance that has lost its session registers again by itself.
      world.expire(clients.get(0));
      untilSeen(looker, cache, 2);
    }
    for (int i = 0; i < services.size(); i++) leave(services.get(i), clients.get(i));
    World.eventually("nobody is left", () -> looker.queryForInstances("mail").isEmpty());
    cache.close();
    looker.close();
  }

  /**
   * Closed together with its session: while a connection comes back, Curator may register a service
   * again that is just being closed.
   */
  private static void leave(ServiceDiscovery<Void> service, CuratorFramework client)
      throws Exception {
    service.close();
    client.close();
  }

  private static void untilSeen(ServiceDiscovery<Void> looker, ServiceCache<Void> cache, int count)
      throws Exception {
    World.eventually(count + " are found", () -> looker.queryForInstances("mail").size() == count);
    World.eventually(count + " are cached", () -> cache.getInstances().size() == count);
  }

  private static ServiceDiscovery<Void> open(
      World world, CuratorFramework client, ServiceInstance<Void> instance) throws Exception {
    ServiceDiscoveryBuilder<Void> builder =
        ServiceDiscoveryBuilder.builder(Void.class).client(client).basePath(world.path);
    if (instance != null) builder.thisInstance(instance);
    ServiceDiscovery<Void> service = builder.build();
    service.start();
    return service;
  }
}
