import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryForever;

/** Curator's lock and election, which use sequential ephemerals, containers and watches. */
public final class Smoke {
  private final String server;
  private final String root;
  private final CuratorFramework first;
  private final CuratorFramework second;

  public static void main(String[] args) throws Exception {
    if (args[0].equals("twin")) twin(args[1], args[2]);
    else new Smoke(args[1], args[2]).checks();
    System.exit(0);
  }

  /** Leads until it is killed. */
  private static void twin(String server, String path) throws Exception {
    LeaderLatch latch = new LeaderLatch(connect(server, 2000), path);
    latch.start();
    latch.await(10, TimeUnit.SECONDS);
    Talk.say("ready");
    Thread.sleep(60_000);
  }

  private Smoke(String server, String root) throws Exception {
    this.server = server;
    this.root = root;
    this.first = connect(server, 8000);
    this.second = connect(server, 8000);
  }

  private void checks() {
    Talk.check("mutex", this::mutex);
    Talk.check("mutex-timeout", this::mutexTimeout);
    Talk.check("leader-latch", this::leaderLatch);
    Talk.check("leader-dies", this::leaderDies);
    Talk.check("mutex-restart", this::mutexRestart);
    first.close();
    second.close();
  }

  private void mutex() throws Exception {
    AtomicInteger inside = new AtomicInteger();
    AtomicInteger turns = new AtomicInteger();
    ExecutorService threads = Executors.newFixedThreadPool(6);
    List<Future<?>> work = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      InterProcessMutex lock = new InterProcessMutex(i % 2 == 0 ? first : second, root + "/mutex");
      work.add(threads.submit(() -> {
        for (int turn = 0; turn < 10; turn++) {
          Talk.demand(lock.acquire(20, TimeUnit.SECONDS), "no lock within 20 s");
          Talk.same(1, inside.incrementAndGet(), "holders");
          turns.incrementAndGet();
          inside.decrementAndGet();
          lock.release();
        }
        return null;
      }));
    }
    for (Future<?> each : work) each.get(60, TimeUnit.SECONDS);
    threads.shutdown();
    Talk.same(60, turns.get(), "turns");
  }

  private void mutexTimeout() throws Exception {
    InterProcessMutex mine = new InterProcessMutex(first, root + "/held");
    InterProcessMutex theirs = new InterProcessMutex(second, root + "/held");
    mine.acquire();
    Talk.demand(!theirs.acquire(300, TimeUnit.MILLISECONDS), "a held mutex was acquired");
    mine.release();
    Talk.demand(theirs.acquire(5, TimeUnit.SECONDS), "a free mutex was not acquired");
    theirs.release();
  }

  private void leaderLatch() throws Exception {
    List<LeaderLatch> latches = new ArrayList<>();
    for (CuratorFramework client : List.of(first, second, first)) {
      LeaderLatch latch = new LeaderLatch(client, root + "/latch");
      latch.start();
      latches.add(latch);
    }
    while (!latches.isEmpty()) {
      LeaderLatch leader = leaderOf(latches);
      Talk.same(1L, latches.stream().filter(LeaderLatch::hasLeadership).count(), "leaders");
      leader.close();
      latches.remove(leader);
    }
  }

  private void leaderDies() throws Exception {
    String path = root + "/succession";
    Talk.ask("twin " + path);
    try (LeaderLatch heir = new LeaderLatch(first, path)) {
      heir.start();
      Talk.demand(!heir.await(500, TimeUnit.MILLISECONDS), "two leaders at once");
      Talk.ask("kill");
      Talk.demand(heir.await(10, TimeUnit.SECONDS), "nobody leads after the leader died");
    }
  }

  private void mutexRestart() throws Exception {
    InterProcessMutex mine = new InterProcessMutex(first, root + "/kept");
    InterProcessMutex theirs = new InterProcessMutex(second, root + "/kept");
    mine.acquire();
    Talk.ask("restart-hard");
    Talk.demand(!theirs.acquire(2, TimeUnit.SECONDS), "a mutex held before the restart was acquired");
    mine.release();
    Talk.demand(theirs.acquire(10, TimeUnit.SECONDS), "a free mutex was not acquired");
    theirs.release();
  }

  private static LeaderLatch leaderOf(List<LeaderLatch> latches) throws InterruptedException {
    for (int tries = 0; tries < 500; tries++) {
      for (LeaderLatch latch : latches) {
        if (latch.hasLeadership()) return latch;
      }
      Thread.sleep(10);
    }
    throw new AssertionError("no leader within 5 s");
  }

  private static CuratorFramework connect(String server, int timeoutMs) throws Exception {
    CuratorFramework client = CuratorFrameworkFactory.newClient(server, timeoutMs, 5000, new RetryForever(100));
    client.start();
    Talk.demand(client.blockUntilConnected(10, TimeUnit.SECONDS), "no session within 10 s");
    return client;
  }
}
