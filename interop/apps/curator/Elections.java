import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;

/** LeaderLatch and LeaderSelector. */
final class Elections {
  static void addTo(Map<String, World.Check> checks) {
    checks.put("leader-latch", Elections::latch);
    checks.put("leader-latch-kill", Elections::latchOverKill);
    checks.put("leader-latch-expiry", Elections::latchOverExpiry);
    checks.put("leader-selector", Elections::selector);
  }

  private static void latch(World world) throws Exception {
    List<LeaderLatch> latches = latches(world, 3);
    while (!latches.isEmpty()) {
      LeaderLatch leader = onlyLeader(latches);
      Talk.same(latches.size(), leader.getParticipants().size(), "participants");
      leader.close();
      latches.remove(leader);
    }
  }

  /** A latch gives up leadership while it is disconnected, but afterwards there is a leader. */
  private static void latchOverKill(World world) throws Exception {
    List<LeaderLatch> latches = latches(world, 3);
    onlyLeader(latches);
    Talk.ask("kill-leader");
    onlyLeader(latches);
    Talk.ask("heal");
    onlyLeader(latches);
    for (LeaderLatch latch : latches) latch.close();
  }

  private static void latchOverExpiry(World world) throws Exception {
    CuratorFramework mine = world.client();
    LeaderLatch first = new LeaderLatch(mine, world.path);
    CountDownLatch deposed = new CountDownLatch(1);
    first.addListener(new LeaderLatchListener() {
      @Override
      public void isLeader() {}

      @Override
      public void notLeader() {
        deposed.countDown();
      }
    });
    first.start();
    Talk.demand(first.await(World.PATIENCE_S, TimeUnit.SECONDS), "nobody leads");
    try (LeaderLatch heir = new LeaderLatch(world.client(), world.path)) {
      heir.start();
      World.eventually("both take part", () -> first.getParticipants().size() == 2);
      world.expire(mine);
      Talk.demand(heir.await(World.PATIENCE_S, TimeUnit.SECONDS), "nobody takes over");
      Talk.demand(deposed.await(World.PATIENCE_S, TimeUnit.SECONDS), "the first was not told");
      World.eventually("the first takes part again", () -> heir.getParticipants().size() == 2);
      Talk.demand(!first.hasLeadership(), "two leaders");
    }
    World.eventually("the first leads again", first::hasLeadership);
    first.close();
  }

  private static void selector(World world) throws Exception {
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger turns = new AtomicInteger();
    AtomicInteger crowded = new AtomicInteger();
    Set<Integer> led = ConcurrentHashMap.newKeySet();
    List<LeaderSelector> selectors = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      int me = i;
      LeaderSelector selector = new LeaderSelector(world.client(), world.path,
          new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework client) throws InterruptedException {
              if (inside.incrementAndGet() > 1) crowded.incrementAndGet();
              try {
                Thread.sleep(20);
                led.add(me);
                turns.incrementAndGet();
              } finally {
                inside.decrementAndGet();
              }
            }
          });
      selector.autoRequeue();
      selector.start();
      selectors.add(selector);
    }
    World.eventually("everybody has led", () -> led.size() == 3 && turns.get() >= 9);
    Talk.ask("kill-leader");
    int before = turns.get();
    World.eventually("turns are taken over a kill", () -> turns.get() >= before + 6);
    Talk.ask("heal");
    for (LeaderSelector selector : selectors) selector.close();
    Talk.same(0, crowded.get(), "times that two led at once");
  }

  private static List<LeaderLatch> latches(World world, int count) throws Exception {
    List<LeaderLatch> latches = new ArrayList<>();
    for (CuratorFramework client : world.clients(count)) {
      LeaderLatch latch = new LeaderLatch(client, world.path, "latch-" + latches.size());
      latch.start();
      latches.add(latch);
    }
    World.eventually("all take part", () -> latches.get(0).getParticipants().size() == count);
    return latches;
  }

  /** Waits until exactly one leads, and the others know which. */
  private static LeaderLatch onlyLeader(List<LeaderLatch> latches) throws Exception {
    World.eventually("one leads, and all know who", () -> {
      List<LeaderLatch> leaders = latches.stream().filter(LeaderLatch::hasLeadership).toList();
      if (leaders.size() != 1) return false;
      String name = leaders.get(0).getId();
      for (LeaderLatch latch : latches) {
        if (!latch.getLeader().getId().equals(name)) return false;
      }
      return true;
    });
    return latches.stream().filter(LeaderLatch::hasLeadership).findFirst().orElseThrow();
  }
}
