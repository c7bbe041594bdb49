import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Runs Curator's recipes, each with its own sessions, while servers are killed and sessions end. It
 * asks its parent for `kill-leader`, `kill-follower` and `heal`.
 *
 * <pre>java Recipes SERVERS</pre>
 */
public final class Recipes {
  public static void main(String[] args) {
    Map<String, World.Check> checks = new LinkedHashMap<>();
    Elections.addTo(checks);
    Locks.addTo(checks);
    Counters.addTo(checks);
    Barriers.addTo(checks);
    Caches.addTo(checks);
    Nodes.addTo(checks);
    Queues.addTo(checks);
    Discovery.addTo(checks);
    checks.forEach((name, check) -> Talk.check(name, () -> {
      try (World world = new World(args[0], name)) {
        check.run(world);
      }
    }));
    Talk.say("done");
    System.exit(0);
  }
}
