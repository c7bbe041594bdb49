import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/**
 * Clients that work while their servers are replaced. Prints {@code ready} when all sessions exist;
 * then answers {@code count} and {@code stop}, each with a line of numbers. Errors are printed at
 * once, in lines that begin with FAIL.
 */
public final class Load {
  static volatile boolean isOver = false;

  public static void main(String[] args) throws Exception {
    String servers = args[0];
    int count = Integer.parseInt(args[1]);
    List<Runnable> works = new ArrayList<>();
    for (int i = 0; i < count; i++) works.add(new Ledger(servers, i));
    for (int i = 0; i < count; i++) works.add(new Watching(servers, i));
    List<Thread> threads = new ArrayList<>();
    for (Runnable work : works) threads.add(new Thread(work));
    for (Thread thread : threads) thread.start();
    say("ready");
    BufferedReader wishes = new BufferedReader(new InputStreamReader(System.in));
    for (String wish = wishes.readLine(); wish != null; wish = wishes.readLine()) {
      if (wish.equals("stop")) {
        isOver = true;
        for (Thread thread : threads) thread.join();
      }
      say(String.format("%s writes=%d unanswered=%d watches=%d sessions=%d reconnects=%d", wish, Ledger.WRITES.get(),
          Ledger.UNANSWERED.get(), Watching.SEEN.get(), Holder.COUNT.get(), Holder.RECONNECTS.get()));
    }
    // The sessions end with their timeout: closing them is not tested here.
    System.exit(0);
  }

  static void fail(String what) {
    say("FAIL " + what.replace('\n', ' '));
  }

  static void demand(boolean holds, String what) {
    if (!holds) throw new IllegalStateException(what);
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
