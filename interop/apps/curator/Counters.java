import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.atomic.AtomicValue;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.atomic.PromotedToLock;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.framework.recipes.shared.SharedCountListener;
import org.apache.curator.framework.recipes.shared.SharedCountReader;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.curator.retry.RetryNTimes;

/** SharedCount and DistributedAtomicLong. */
final class Counters {
  static void addTo(Map<String, World.Check> checks) {
    checks.put("shared-count", Counters::shared);
    checks.put("atomic-long", Counters::atomic);
    checks.put("atomic-long-kill", Counters::atomicOverKill);
  }

  private static void shared(World world) throws Exception {
    List<SharedCount> counts = new ArrayList<>();
    AtomicInteger told = new AtomicInteger();
    for (CuratorFramework client : world.clients(3)) {
      SharedCount count = new SharedCount(client, world.path, 0);
      count.addListener(new SharedCountListener() {
        @Override
        public void countHasChanged(SharedCountReader reader, int now) {
          told.incrementAndGet();
        }

        @Override
        public void stateChanged(CuratorFramework ignored, ConnectionState state) {}
      });
      count.start();
      counts.add(count);
    }
    List<Callable<Object>> work = new ArrayList<>();
    for (SharedCount count : counts) {
      work.add(() -> {
        for (int done = 0; done < 20; ) {
          if (count.trySetCount(count.getVersionedValue(), count.getCount() + 1)) done++;
        }
        return null;
      });
    }
    World.join(World.start(work));
    for (SharedCount count : counts) World.eventually("all see 60", () -> count.getCount() == 60);
    Talk.ask("kill-leader");
    counts.get(0).setCount(1000);
    for (SharedCount count : counts) World.eventually("all see 1000", () -> count.getCount() == 1000);
    Talk.ask("heal");
    Talk.demand(told.get() > 3, "listeners were hardly told");
    for (SharedCount count : counts) count.close();
  }

  /** Without kills every increment gets a reply, and counts once. */
  private static void atomic(World world) throws Exception {
    Tally tally = new Tally(world);
    World.join(tally.start());
    Talk.same(100L, tally.value(), "the counter");
    Talk.same(100, tally.succeeded.get(), "increments that succeeded");
  }

  /**
   * Successful increments must be counted. A client that loses its connection during an increment
   * cannot know the outcome, and Curator repeats it: each lost connection may count one more.
   */
  private static void atomicOverKill(World world) throws Exception {
    Tally tally = new Tally(world);
    List<Future<?>> running = tally.start();
    World.eventually("some increments are done", () -> tally.succeeded.get() > 10);
    Talk.ask("kill-leader");
    World.join(running);
    Talk.ask("heal");
    long value = tally.value();
    Talk.demand(value >= tally.succeeded.get(), value + " counted, more succeeded");
    Talk.demand(value <= tally.tried.get() + Tally.CLIENTS, value + " counted, fewer were tried");
  }

  private static final class Tally {
    static final int CLIENTS = 4;
    final AtomicInteger succeeded = new AtomicInteger();
    final AtomicInteger tried = new AtomicInteger();
    private final List<DistributedAtomicLong> counters = new ArrayList<>();

    Tally(World world) throws Exception {
      PromotedToLock whenCrowded = PromotedToLock.builder()
          .lockPath(world.path + "-lock").retryPolicy(new ExponentialBackoffRetry(10, 10)).build();
      for (CuratorFramework client : world.clients(CLIENTS)) {
        counters.add(new DistributedAtomicLong(client, world.path, new RetryNTimes(3, 5), whenCrowded));
      }
    }

    List<Future<?>> start() {
      List<Callable<Object>> work = new ArrayList<>();
      for (DistributedAtomicLong counter : counters) {
        work.add(() -> {
          for (int done = 0; done < 25; ) {
            tried.incrementAndGet();
            AtomicValue<Long> result = counter.increment();
            if (!result.succeeded()) continue;
            succeeded.incrementAndGet();
            done++;
          }
          return null;
        });
      }
      return World.start(work);
    }

    long value() throws Exception {
      return counters.get(0).get().postValue();
    }
  }
}
