import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;

/** Connects as its system properties say, and prints the identities that the server gives it. */
public class SecureClient {
    public static void main(String[] args) throws Exception {
        String path = args[1];
        long patienceMs = Long.parseLong(args[2]);
        CountDownLatch connected = new CountDownLatch(1);
        CountDownLatch changed = new CountDownLatch(1);
        boolean[] refused = new boolean[1];
        ZooKeeper client = new ZooKeeper(args[0], 10_000, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
            if (event.getState() == KeeperState.AuthFailed) {
                refused[0] = true;
                connected.countDown();
            }
            if (event.getPath() != null) {
                changed.countDown();
            }
        });
        if (!connected.await(patienceMs, TimeUnit.MILLISECONDS) || refused[0]) {
            System.out.println("refused");
            System.exit(0);
        }
        try {
            byte[] data = new byte[700_000];
            Arrays.fill(data, (byte) 7);
            String acl = "none";
            try {
                client.create(path, data, Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
                List<String> ids = new ArrayList<>();
                for (ACL each : client.getACL(path, new Stat())) {
                    ids.add(each.getId().getScheme() + ":" + each.getId().getId());
                }
                Collections.sort(ids);
                acl = String.join(" ", ids);
            } catch (KeeperException.InvalidACLException e) {
                client.create(path, data, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            }
            System.out.println("acl " + acl);
            byte[] read = client.getData(path, true, new Stat());
            System.out.println("data " + Arrays.equals(data, read));
            client.setData(path, new byte[0], -1);
            System.out.println("watch " + changed.await(10, TimeUnit.SECONDS));
            client.delete(path, -1);
            client.close();
            System.out.println("closed");
        } catch (KeeperException e) {
            System.out.println("refused");
        }
        System.exit(0);
    }
}
