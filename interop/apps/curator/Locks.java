import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;

/** Everything that is acquired and released. */
final class Locks {
  static void addTo(Map<String, World.Check> checks) {
    checks.put("mutex", world -> takeTurns(world, client -> new InterProcessMutex(client, world.path)));
    checks.put("semaphore-mutex",
        world -> takeTurns(world, client -> new InterProcessSemaphoreMutex(client, world.path)));
    checks.put("mutex-reentrant", Locks::reentrant);
    checks.put("mutex-revoked", Locks::revoked);
    checks.put("mutex-expiry", Locks::expiry);
    checks.put("read-write-lock", Locks::readWrite);
    checks.put("semaphore-v2", Locks::semaphore);
    checks.put("multi-lock", Locks::multi);
  }

  private interface Maker {
    InterProcessLock make(CuratorFramework client);
  }

  /** Four clients and one lock, while the leader and then a follower are killed. */
  private static void takeTurns(World world, Maker maker) throws Exception {
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger turns = new AtomicInteger();
    List<Callable<Object>> work = new ArrayList<>();
    for (CuratorFramework client : world.clients(4)) {
      InterProcessLock lock = maker.make(client);
      work.add(() -> {
        for (int turn = 0; turn < 15; turn++) {
          Talk.demand(lock.acquire(World.PATIENCE_S, TimeUnit.SECONDS), "no lock in time");
          Talk.same(1, inside.incrementAndGet(), "holders");
          Thread.sleep(10);
          inside.decrementAndGet();
          turns.incrementAndGet();
          lock.release();
        }
        return null;
      });
    }
    List<Future<?>> running = World.start(work);
    World.eventually("some turns are taken", () -> turns.get() >= 8);
    Talk.ask("kill-leader");
    Talk.ask("heal");
    Talk.ask("kill-follower");
    Talk.ask("heal");
    World.join(running);
    Talk.same(60, turns.get(), "turns");
  }

  private static void reentrant(World world) throws Exception {
    InterProcessMutex lock = new InterProcessMutex(world.client(), world.path);
    InterProcessMutex other = new InterProcessMutex(world.client(), world.path);
    lock.acquire();
    lock.acquire();
    lock.release();
    Talk.demand(!other.acquire(300, TimeUnit.MILLISECONDS), "a lock held once more was acquired");
    lock.release();
    Talk.demand(other.acquire(World.PATIENCE_S, TimeUnit.SECONDS), "a free lock was not acquired");
    other.release();
  }

  private static void revoked(World world) throws Exception {
    CuratorFramework client = world.client();
    InterProcessMutex lock = new InterProcessMutex(client, world.path);
    CountDownLatch asked = new CountDownLatch(1);
    lock.makeRevocable(ignored -> asked.countDown());
    lock.acquire();
    String node = lock.getParticipantNodes().iterator().next();
    Revoker.attemptRevoke(world.client(), node);
    Talk.demand(asked.await(World.PATIENCE_S, TimeUnit.SECONDS), "the holder was not asked");
    lock.release();
  }

  /** A holder whose session has ended holds no more. */
  private static void expiry(World world) throws Exception {
    CuratorFramework mine = world.client();
    InterProcessMutex held = new InterProcessMutex(mine, world.path);
    InterProcessMutex wanted = new InterProcessMutex(world.client(), world.path);
    held.acquire();
    Talk.demand(!wanted.acquire(300, TimeUnit.MILLISECONDS), "a held lock was acquired");
    world.expire(mine);
    Talk.demand(wanted.acquire(World.PATIENCE_S, TimeUnit.SECONDS), "the lock is held by nobody");
    wanted.release();
  }

  private static void readWrite(World world) throws Exception {
    AtomicInteger readers = new AtomicInteger();
    AtomicInteger writers = new AtomicInteger();
    AtomicInteger mostReaders = new AtomicInteger();
    List<Callable<Object>> work = new ArrayList<>();
    for (CuratorFramework client : world.clients(4)) {
      InterProcessReadWriteLock lock = new InterProcessReadWriteLock(client, world.path);
      work.add(() -> {
        for (int turn = 0; turn < 10; turn++) {
          lock.readLock().acquire();
          mostReaders.accumulateAndGet(readers.incrementAndGet(), Math::max);
          Talk.same(0, writers.get(), "writers beside a reader");
          Thread.sleep(15);
          readers.decrementAndGet();
          lock.readLock().release();
          lock.writeLock().acquire();
          Talk.same(1, writers.incrementAndGet(), "writers");
          Talk.same(0, readers.get(), "readers beside a writer");
          writers.decrementAndGet();
          // A writer may become a reader without letting another writer in between.
          lock.readLock().acquire();
          lock.writeLock().release();
          lock.readLock().release();
        }
        return null;
      });
    }
    List<Future<?>> running = World.start(work);
    Talk.ask("kill-leader");
    Talk.ask("heal");
    World.join(running);
    Talk.demand(mostReaders.get() > 1, "readers never were together");
  }

  private static void semaphore(World world) throws Exception {
    int leases = 3;
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger most = new AtomicInteger();
    List<Callable<Object>> work = new ArrayList<>();
    for (CuratorFramework client : world.clients(6)) {
      InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, world.path, leases);
      work.add(() -> {
        for (int turn = 0; turn < 8; turn++) {
          Lease lease = semaphore.acquire(World.PATIENCE_S, TimeUnit.SECONDS);
          Talk.demand(lease != null, "no lease in time");
          int now = inside.incrementAndGet();
          most.accumulateAndGet(now, Math::max);
          Talk.demand(now <= leases, now + " leases at once");
          Thread.sleep(30);
          inside.decrementAndGet();
          semaphore.returnLease(lease);
        }
        return null;
      });
    }
    List<Future<?>> running = World.start(work);
    Talk.ask("kill-leader");
    Talk.ask("heal");
    World.join(running);
    Talk.same(leases, most.get(), "most leases at once");
  }

  private static void multi(World world) throws Exception {
    CuratorFramework client = world.client();
    List<String> paths = List.of(world.path + "/a", world.path + "/b", world.path + "/c");
    InterProcessMultiLock all = new InterProcessMultiLock(client, paths);
    InterProcessMutex one = new InterProcessMutex(world.client(), paths.get(1));
    one.acquire();
    Talk.demand(!all.acquire(500, TimeUnit.MILLISECONDS), "all were acquired, one of them held");
    one.release();
    Talk.demand(all.acquire(World.PATIENCE_S, TimeUnit.SECONDS), "free locks were not acquired");
    Talk.demand(!one.acquire(300, TimeUnit.MILLISECONDS), "one of many held was acquired");
    all.release();
    Talk.demand(one.acquire(World.PATIENCE_S, TimeUnit.SECONDS), "not all were released");
    one.release();
  }
}
