import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.IntegerDeserializer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes numbered messages, records which were acknowledged, and reads them all back.
 *
 * <pre>java Ledger BOOTSTRAP TOPIC</pre>
 *
 * On `count` or `stop` on stdin it prints how many were acknowledged; on `read`, what it found.
 */
public final class Ledger {
  private static final int PER_SECOND = 500;

  private final String bootstrap;
  private final String topic;
  private final BitSet acknowledged = new BitSet();
  private final AtomicInteger refused = new AtomicInteger();
  private volatile boolean isWriting = true;
  private volatile String lastRefusal = "none";
  private int sent;

  public static void main(String[] args) throws Exception {
    new Ledger(args[0], args[1]).converse();
  }

  private Ledger(String bootstrap, String topic) {
    this.bootstrap = bootstrap;
    this.topic = topic;
  }

  private void converse() throws Exception {
    Thread writer = new Thread(this::write);
    writer.start();
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
    for (String order = orders.readLine(); order != null; order = orders.readLine()) {
      if (order.equals("stop")) {
        isWriting = false;
        writer.join();
      }
      if (order.equals("read")) read();
      else System.out.println(order + " acknowledged=" + count() + " refused=" + refused + " last=" + lastRefusal);
    }
    isWriting = false;
    System.exit(0);
  }

  private int count() {
    synchronized (acknowledged) {
      return acknowledged.cardinality();
    }
  }

  private void write() {
    Properties settings = common();
    settings.put("acks", "all");
    settings.put("enable.idempotence", "true");
    settings.put("delivery.timeout.ms", "120000");
    settings.put("request.timeout.ms", "10000");
    settings.put("linger.ms", "5");
    settings.put("key.serializer", IntegerSerializer.class.getName());
    settings.put("value.serializer", StringSerializer.class.getName());
    try (KafkaProducer<Integer, String> producer = new KafkaProducer<>(settings)) {
      while (isWriting) {
        int number = sent++;
        producer.send(new ProducerRecord<>(topic, number, "message " + number), (where, error) -> {
          if (error == null) {
            synchronized (acknowledged) {
              acknowledged.set(number);
            }
          } else {
            refused.incrementAndGet();
            lastRefusal = error.toString().replace('\n', ' ');
          }
        });
        if (number % (PER_SECOND / 50) == 0) Thread.sleep(20);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Reads everything from the beginning to the end, as a member of a group. */
  private void read() {
    Properties settings = common();
    settings.put("group.id", "ledger");
    settings.put("auto.offset.reset", "earliest");
    settings.put("key.deserializer", IntegerDeserializer.class.getName());
    settings.put("value.deserializer", StringDeserializer.class.getName());
    int[] found = new int[sent];
    int disordered = 0;
    int foreign = 0;
    try (KafkaConsumer<Integer, String> consumer = new KafkaConsumer<>(settings)) {
      consumer.subscribe(List.of(topic));
      List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
          .map(each -> new TopicPartition(topic, each.partition())).toList();
      var ends = consumer.endOffsets(partitions);
      long[] next = new long[partitions.size()];
      int[] last = new int[partitions.size()];
      java.util.Arrays.fill(last, -1);
      long deadline = System.nanoTime() + Duration.ofSeconds(90).toNanos();
      while (System.nanoTime() < deadline) {
        for (ConsumerRecord<Integer, String> record : consumer.poll(Duration.ofMillis(200))) {
          int number = record.key();
          next[record.partition()] = record.offset() + 1;
          if (number < last[record.partition()]) disordered++;
          last[record.partition()] = number;
          if (number < 0 || number >= sent || !record.value().equals("message " + number)) foreign++;
          else found[number]++;
        }
        boolean isDone = true;
        for (TopicPartition each : partitions) isDone &= next[each.partition()] >= ends.get(each);
        if (isDone) break;
      }
      consumer.commitSync();
    }
    int missing = 0;
    int repeated = 0;
    int total = 0;
    for (int number = 0; number < sent; number++) {
      total += found[number];
      if (found[number] == 0 && acknowledged.get(number)) missing++;
      if (found[number] > 1) repeated++;
    }
    System.out.println("read total=" + total + " missing=" + missing + " repeated=" + repeated
        + " disordered=" + disordered + " foreign=" + foreign);
  }

  private Properties common() {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", bootstrap);
    return settings;
  }
}
