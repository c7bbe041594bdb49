import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import org.apache.solr.embedded.JettyConfig;
import org.apache.solr.embedded.JettySolrRunner;

/**
 * A Solr node in its Jetty, as Solr's own programs start it; the `zkHost` property enables
 * SolrCloud.
 *
 * <pre>java -DzkHost=SERVERS Node HOME PORT</pre>
 */
public final class Node {
  private static final String SOLR_XML = """
      <solr>
        <solrcloud>
          <str name="host">127.0.0.1</str>
          <int name="hostPort">${hostPort}</int>
          <str name="hostContext">solr</str>
          <int name="zkClientTimeout">8000</int>
          <str name="zkHost">${zkHost}</str>
        </solrcloud>
      </solr>
      """;

  public static void main(String[] args) throws Exception {
    Path home = Path.of(args[0]);
    Files.createDirectories(home);
    Files.writeString(home.resolve("solr.xml"), SOLR_XML);
    System.setProperty("hostPort", args[1]);
    System.setProperty("solr.log.dir", home.toString());
    JettyConfig config = JettyConfig.builder().setPort(Integer.parseInt(args[1])).build();
    JettySolrRunner runner = new JettySolrRunner(home.toString(), new Properties(), config);
    runner.start();
    System.err.println("serving");
    Thread.currentThread().join();
  }
}
