import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;

/** What the harness asks of a Java client: plain calls one by one, else the asynchronous ones. */
abstract class Player {
  /** Takes the result code of a call, which is 0 for success. */
  interface Done {
    void with(int code);
  }

  abstract void get(String path) throws Exception;

  abstract void set(String path, byte[] data) throws Exception;

  abstract void create(String path, byte[] data) throws Exception;

  abstract void get(String path, Done done) throws Exception;

  abstract void set(String path, byte[] data, Done done) throws Exception;

  abstract void create(String path, byte[] data, Done done) throws Exception;

  /** Reads a node with a watch; {@code onChange} runs once, when its data has changed. */
  abstract void watch(String path, Done onSet, Runnable onChange) throws Exception;

  private final byte[] data = new byte[100];
  private String root;

  final void play(String ofTree) throws Exception {
    root = ofTree;
    say("ready");
    BufferedReader wishes = new BufferedReader(new InputStreamReader(System.in));
    for (String line = wishes.readLine(); line != null; line = wishes.readLine()) fulfil(line.split(" "));
    System.exit(0);
  }

  private void fulfil(String[] wish) throws Exception {
    switch (wish[0]) {
      case "load" -> load(wish[1], Integer.parseInt(wish[2]), Double.parseDouble(wish[3]), wish[4]);
      case "arm" -> watches(new String[] {wish[1]});
      case "watches" -> {
        String[] paths = new String[Integer.parseInt(wish[2])];
        for (int i = 0; i < paths.length; i++) paths[i] = wish[1] + "/" + i;
        watches(paths);
      }
      case "settle" -> {
        System.gc();
        say("settled " + (Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory()));
      }
      default -> throw new IllegalArgumentException(String.join(" ", wish));
    }
  }

  private void load(String operation, int window, double seconds, String round) throws Exception {
    long startedAt = System.nanoTime();
    long endsAt = startedAt + (long) (seconds * 1e9);
    int count = window == 1 ? oneByOne(operation, endsAt, round) : pipelined(operation, window, endsAt, round);
    say("done " + count + " " + (System.nanoTime() - startedAt));
  }

  private int oneByOne(String operation, long endsAt, String round) throws Exception {
    int count = 0;
    while (System.nanoTime() < endsAt) {
      switch (operation) {
        case "get" -> get(root + "/data");
        case "set" -> set(root + "/data", data);
        default -> create(root + "/" + round + "-" + count, data);
      }
      count++;
    }
    return count;
  }

  private int pipelined(String operation, int window, long endsAt, String round) throws Exception {
    Semaphore free = new Semaphore(window);
    AtomicInteger refused = new AtomicInteger();
    Done settle = code -> {
      if (code != 0) refused.incrementAndGet();
      free.release();
    };
    int count = 0;
    while (System.nanoTime() < endsAt) {
      free.acquire();
      switch (operation) {
        case "get" -> get(root + "/data", settle);
        case "set" -> set(root + "/data", data, settle);
        default -> create(root + "/" + round + "-" + count, data, settle);
      }
      count++;
    }
    free.acquire(window);
    if (refused.get() > 0) throw new IllegalStateException(refused + " refused");
    return count;
  }

  private void watches(String[] paths) throws Exception {
    AtomicInteger toSet = new AtomicInteger(paths.length);
    AtomicInteger toFire = new AtomicInteger(paths.length);
    Done onSet = code -> {
      if (code != 0) say("failed " + code);
      else if (toSet.decrementAndGet() == 0) say("armed");
    };
    Runnable onChange = () -> {
      if (toFire.decrementAndGet() == 0) say("fired " + System.nanoTime());
    };
    for (String path : paths) watch(path, onSet, onChange);
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
