import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryForever;
import org.apache.zookeeper.data.Stat;

/** Runs Curator's recipes on command of the harness; contender.ts lists the commands. */
public final class Contender {
  private static final int SESSION_MS = 3000;
  private static final int PATIENCE_S = 60;
  private final CuratorFramework client;
  private final Sharer sharer;
  private final Map<String, Hand> hands = new HashMap<>();

  interface Held {
    void release() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    Contender contender = new Contender(args[0]);
    say("ready");
    BufferedReader wishes = new BufferedReader(new InputStreamReader(System.in));
    for (String line = wishes.readLine(); line != null; line = wishes.readLine()) {
      String[] words = line.split(" ");
      Hand hand = contender.hands.computeIfAbsent(words[0], name -> contender.new Hand(name));
      hand.wish(Arrays.copyOfRange(words, 1, words.length));
    }
    contender.client.close();
    System.exit(0);
  }

  private Contender(String server) throws Exception {
    client = CuratorFrameworkFactory.newClient(server, SESSION_MS, 5000, new RetryForever(100));
    client.start();
    if (!client.blockUntilConnected(10, TimeUnit.SECONDS)) throw new IllegalStateException("no session");
    sharer = new Sharer(client);
  }

  /** A mutex of Curator's belongs to a thread, so each hand has its own. */
  private final class Hand {
    private final String name;
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private Held held;
    private DistributedDoubleBarrier barrier;
    private final Queuer queuer = new Queuer(client, this::tell);

    Hand(String name) {
      this.name = name;
    }

    void wish(String[] words) {
      thread.submit(() -> {
        try {
          fulfil(words);
        } catch (Exception | AssertionError e) {
          tell("failed " + e.toString().replace('\n', ' '));
        }
      });
    }

    private void fulfil(String[] words) throws Exception {
      switch (words[0]) {
        case "acquire" -> {
          held = acquire(words[1], words[2]);
          tell("held " + System.nanoTime());
        }
        case "release" -> {
          long atNs = System.nanoTime();
          held.release();
          tell("released " + atNs);
        }
        case "turns" -> {
          for (int left = Integer.parseInt(words[3]); left > 0; left--) turn(words[1], words[2], words[4]);
          tell("done");
        }
        case "enter" -> {
          long atNs = System.nanoTime();
          barrier = new DistributedDoubleBarrier(client, words[1], Integer.parseInt(words[2]));
          if (!barrier.enter(PATIENCE_S, TimeUnit.SECONDS)) throw new IllegalStateException("not all entered");
          tell("entered " + atNs + " " + System.nanoTime());
        }
        case "leave" -> {
          long atNs = System.nanoTime();
          if (!barrier.leave(PATIENCE_S, TimeUnit.SECONDS)) throw new IllegalStateException("not all left");
          tell("left " + atNs + " " + System.nanoTime());
        }
        case "hold" -> {
          InterProcessMutex lock = new InterProcessReadWriteLock(client, words[1]).writeLock();
          lock.makeRevocable(ignored -> {
            tell("asked");
            wish(new String[] {"release"});
          });
          held = taken(lock);
          tell("held " + System.nanoTime());
        }
        case "revoke" -> {
          InterProcessMutex lock = new InterProcessReadWriteLock(client, words[1]).writeLock();
          Revoker.attemptRevoke(client, lock.getParticipantNodes().iterator().next());
          held = taken(lock);
          tell("held " + System.nanoTime());
        }
        case "raise" -> {
          new DistributedBarrier(client, words[1]).setBarrier();
          tell("raised");
        }
        case "lower" -> {
          long atNs = System.nanoTime();
          new DistributedBarrier(client, words[1]).removeBarrier();
          tell("lowered " + atNs);
        }
        case "pass" -> {
          if (!new DistributedBarrier(client, words[1]).waitOnBarrier(PATIENCE_S, TimeUnit.SECONDS)) {
            throw new IllegalStateException("the barrier stayed");
          }
          tell("passed " + System.nanoTime());
        }
        default -> {
          if (!queuer.fulfil(words)) sharer.fulfil(words, this::tell);
        }
      }
    }

    private void turn(String kind, String path, String ledger) throws Exception {
      Held mine = acquire(kind, path);
      long enteredNs = System.nanoTime();
      write(kind, ledger, name);
      long leftNs = System.nanoTime();
      mine.release();
      tell("turn " + enteredNs + " " + leftNs);
    }

    private void tell(String what) {
      say(name + " " + what);
    }
  }

  private Held acquire(String kind, String path) throws Exception {
    switch (kind.split(":")[0]) {
      case "lock":
        return taken(new InterProcessMutex(client, path));
      case "multi":
        return taken(new InterProcessMultiLock(client, List.of(path + "/a", path + "/b")));
      case "read":
        return taken(new InterProcessReadWriteLock(client, path).readLock());
      case "write":
        return taken(new InterProcessReadWriteLock(client, path).writeLock());
      case "semaphore":
        InterProcessSemaphoreV2 semaphore =
            new InterProcessSemaphoreV2(client, path, Integer.parseInt(kind.split(":")[1]));
        Lease lease = semaphore.acquire(PATIENCE_S, TimeUnit.SECONDS);
        if (lease == null) throw new IllegalStateException("no lease in time");
        return () -> semaphore.returnLease(lease);
      case "latch":
        LeaderLatch latch = new LeaderLatch(client, path);
        latch.start();
        if (!latch.await(PATIENCE_S, TimeUnit.SECONDS)) throw new IllegalStateException("never led");
        return latch::close;
      default:
        throw new IllegalArgumentException(kind);
    }
  }

  private static Held taken(InterProcessLock lock) throws Exception {
    if (!lock.acquire(PATIENCE_S, TimeUnit.SECONDS)) throw new IllegalStateException("not acquired in time");
    return lock::release;
  }

  /** The ledger is written by compare-and-set, which fails only if two hold the lock at once. */
  private void write(String kind, String ledger, String name) throws Exception {
    if (kind.startsWith("semaphore")) {
      Thread.sleep(20);
      return;
    }
    Stat stat = new Stat();
    String found = new String(client.getData().storingStatIn(stat).forPath(ledger), StandardCharsets.UTF_8);
    if (!found.equals("free")) throw new AssertionError("VIOLATION: " + found + " is in, too");
    if (kind.equals("read")) {
      Stat after = client.checkExists().forPath(ledger);
      if (after.getVersion() != stat.getVersion()) throw new AssertionError("VIOLATION: a writer beside a reader");
      return;
    }
    byte[] mine = name.getBytes(StandardCharsets.UTF_8);
    stat = client.setData().withVersion(stat.getVersion()).forPath(ledger, mine);
    client.setData().withVersion(stat.getVersion()).forPath(ledger, "free".getBytes(StandardCharsets.UTF_8));
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
