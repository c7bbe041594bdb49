import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;

/** DistributedBarrier and DistributedDoubleBarrier. */
final class Barriers {
  static void addTo(Map<String, World.Check> checks) {
    checks.put("barrier", Barriers::barrier);
    checks.put("double-barrier", Barriers::doubleBarrier);
  }

  private static void barrier(World world) throws Exception {
    DistributedBarrier control = new DistributedBarrier(world.client(), world.path);
    control.setBarrier();
    AtomicInteger passed = new AtomicInteger();
    List<Callable<Object>> work = new ArrayList<>();
    for (CuratorFramework client : world.clients(3)) {
      work.add(() -> {
        DistributedBarrier barrier = new DistributedBarrier(client, world.path);
        Talk.demand(barrier.waitOnBarrier(60, TimeUnit.SECONDS), "the barrier stayed");
        return passed.incrementAndGet();
      });
    }
    List<Future<?>> running = World.start(work);
    Talk.ask("kill-leader");
    Talk.same(0, passed.get(), "who passed a barrier that is set");
    control.removeBarrier();
    World.join(running);
    Talk.ask("heal");
  }

  private static void doubleBarrier(World world) throws Exception {
    int members = 4;
    AtomicInteger entered = new AtomicInteger();
    AtomicInteger ready = new AtomicInteger();
    List<Callable<Object>> work = new ArrayList<>();
    for (CuratorFramework client : world.clients(members)) {
      int me = work.size();
      work.add(() -> {
        DistributedDoubleBarrier barrier = new DistributedDoubleBarrier(client, world.path, members);
        Thread.sleep(100L * me);
        entered.incrementAndGet();
        Talk.demand(barrier.enter(World.PATIENCE_S, TimeUnit.SECONDS), "not all entered");
        Talk.same(members, entered.get(), "who had come when one entered");
        Thread.sleep(100L * me);
        ready.incrementAndGet();
        Talk.demand(barrier.leave(World.PATIENCE_S, TimeUnit.SECONDS), "not all left");
        Talk.same(members, ready.get(), "who was ready when one left");
        return null;
      });
    }
    World.join(World.start(work));
  }
}
