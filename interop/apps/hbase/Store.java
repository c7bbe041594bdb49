import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.BitSet;
import java.util.Collection;
import java.util.List;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * An ordinary HBase client that finds the servers through ZooKeeper. It reads commands from stdin,
 * and answers each with one line: the result, or `FAIL` and the reason.
 */
public final class Store {
  private static final TableName NAME = TableName.valueOf("store");
  private static final byte[] FAMILY = Bytes.toBytes("f");
  private static final int REGIONS = 8;

  public static void main(String[] args) throws Exception {
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create())) {
      for (String order = orders.readLine(); order != null; order = orders.readLine()) {
        try {
          System.out.println(carryOut(connection, order.split(" ")));
        } catch (Exception e) {
          System.out.println("FAIL " + e.toString().replace('\n', ' '));
        }
      }
    }
    System.exit(0);
  }

  private static String carryOut(Connection connection, String[] order) throws Exception {
    try (Admin admin = connection.getAdmin()) {
      return switch (order[0]) {
        case "master" -> "master " + admin.getMaster().getPort();
        case "servers" -> "servers " + ports(admin.getRegionServers());
        case "create" -> create(admin);
        case "put" -> put(connection, Integer.parseInt(order[1]), Integer.parseInt(order[2]));
        case "missing" -> "missing " + missing(connection, Integer.parseInt(order[1]));
        case "used" -> "used " + ports(
            connection.getRegionLocator(NAME).getAllRegionLocations().stream()
                .map(each -> each.getServerName()).distinct().toList());
        case "balance" -> "balance " + admin.balance();
        case "drop" -> drop(admin);
        default -> "FAIL nobody here can " + order[0];
      };
    }
  }

  private static String create(Admin admin) throws Exception {
    byte[][] splits = new byte[REGIONS - 1][];
    for (int i = 1; i < REGIONS; i++) splits[i - 1] = new byte[] {(byte) (i * 256 / REGIONS)};
    admin.createTable(
        TableDescriptorBuilder.newBuilder(NAME)
            .setColumnFamily(ColumnFamilyDescriptorBuilder.of(FAMILY)).build(), splits);
    return "create " + admin.getRegions(NAME).size();
  }

  /** One by one: each is acknowledged before the next is sent. */
  private static String put(Connection connection, int from, int to) throws Exception {
    try (Table table = connection.getTable(NAME)) {
      for (int i = from; i < to; i++) {
        table.put(new Put(key(i)).addColumn(FAMILY, FAMILY, Bytes.toBytes(i)));
      }
    }
    return "put " + (to - from);
  }

  private static int missing(Connection connection, int count) throws Exception {
    BitSet found = new BitSet();
    try (Table table = connection.getTable(NAME);
        ResultScanner rows = table.getScanner(new Scan())) {
      for (Result row : rows) found.set(Bytes.toInt(row.getValue(FAMILY, FAMILY)));
    }
    return count - found.get(0, count).cardinality();
  }

  private static String drop(Admin admin) throws Exception {
    admin.disableTable(NAME);
    admin.deleteTable(NAME);
    return "drop " + admin.tableExists(NAME);
  }

  /** Keys spread over all regions. */
  private static byte[] key(int i) {
    return Bytes.add(new byte[] {(byte) (i * 37)}, Bytes.toBytes(i));
  }

  private static String ports(Collection<ServerName> servers) {
    List<String> ports = servers.stream().map(each -> "" + each.getPort()).sorted().toList();
    return String.join(" ", ports);
  }
}
