import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * The protocol with the harness: prints results, one per line; answers to requests come on stdin.
 */
final class Talk {
  private static final BufferedReader ANSWERS = new BufferedReader(new InputStreamReader(System.in));

  interface Body {
    void run() throws Exception;
  }

  /** Runs one check and reports it; a failed check never stops the next ones. */
  static void check(String name, Body body) {
    try {
      body.run();
      say("ok " + name);
    } catch (Exception | AssertionError e) {
      say("FAIL " + name + " " + where(e) + e.toString().replace('\n', ' '));
    }
  }

  /** Asks the harness for something and waits until it is done. */
  static void ask(String what) throws Exception {
    say("ask " + what);
    String answer = ANSWERS.readLine();
    demand("done".equals(answer), "the harness answered: " + answer);
  }

  static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  static void demand(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  static void same(Object wanted, Object got, String what) {
    demand(wanted == null ? got == null : wanted.equals(got), what + ": wanted " + wanted + ", got " + got);
  }

  private static String where(Throwable e) {
    for (StackTraceElement at : e.getStackTrace()) {
      // Classes in packages belong to others.
      if (!at.getClassName().contains(".") && !at.getClassName().equals("Talk")) {
        return at.getFileName() + ":" + at.getLineNumber() + " ";
      }
    }
    return "";
  }
}
