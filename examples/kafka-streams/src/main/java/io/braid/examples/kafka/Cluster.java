package io.braid.examples.kafka;

import io.braid.testing.Child;
import io.braid.testing.Ports;
import java.io.IOException;
import java.io.PrintStream;
import java.io.OutputStream;
import java.io.Writer;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;

/** A Kafka of one node, broker and controller, in a process and a folder of its own. */
final class Cluster implements AutoCloseable {
  private static final int PARTITIONS = 4;
  private static final int START_SECONDS = 60;

  final String address;
  private final Child process;
  private Admin admin;

  Cluster(Path folder) throws Exception {
    List<Integer> ports = Ports.free(2);
    int port = ports.get(0);
    address = "127.0.0.1:" + port;
    Path properties = folder.resolve("kafka.properties");
    try (Writer file = Files.newBufferedWriter(properties)) {
      configuration(folder.resolve("kafka"), port, ports.get(1)).store(file, null);
    }
    try (PrintStream nowhere = new PrintStream(OutputStream.nullOutputStream(), false,
        StandardCharsets.UTF_8)) {
      String[] format = {"format", "-t", Uuid.randomUuid().toString(), "-c", properties.toString()};
      if (StorageTool.execute(format, nowhere) != 0) {
        throw new Failure("the folder of the broker could not be made: " + folder);
      }
    }
    process = new Child("the broker", folder.resolve("kafka.log"),
        List.of("-Xmx768m", "-Dlog.level=error"), "kafka.Kafka", properties.toString());
    boolean done = false;
    try {
      awaitPort(port);
      admin = Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, address));
      makeTopics();
      done = true;
    } finally {
      if (!done) {
        close();
      }
    }
  }

  private static Properties configuration(Path data, int port, int control) {
    Properties properties = new Properties();
    properties.putAll(Map.of(
        "process.roles", "broker,controller",
        "node.id", "1",
        "controller.quorum.voters", "1@127.0.0.1:" + control,
        "controller.listener.names", "CONTROLLER",
        "listeners", "PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:" + control,
        "log.dirs", data.toString(),
        "offsets.topic.replication.factor", "1",
        "offsets.topic.num.partitions", "4",
        "group.initial.rebalance.delay.ms", "0"));
    properties.putAll(Map.of(
        "transaction.state.log.replication.factor", "1",
        "transaction.state.log.num.partitions", "4",
        "transaction.state.log.min.isr", "1"));
    return properties;
  }

  /** Waits until the broker listens. */
  private void awaitPort(int port) throws IOException, InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
    while (true) {
      process.check();
      try {
        new Socket(InetAddress.getLoopbackAddress(), port).close();
        return;
      } catch (ConnectException e) {
        if (System.nanoTime() > end) {
          throw new Failure("the broker does not listen on port " + port);
        }
        Thread.sleep(100);
      }
    }
  }

  private void makeTopics() throws InterruptedException, ExecutionException {
    admin.createTopics(List.of(new NewTopic(WordCount.LINES, PARTITIONS, (short) 1),
        new NewTopic(WordCount.COUNTS, PARTITIONS, (short) 1))).all().get();
  }

  /** How many records the changelog of the counts has, those of its transactions' ends too. */
  long changelogRecords() throws InterruptedException, ExecutionException {
    Map<TopicPartition, OffsetSpec> all = IntStream.range(0, PARTITIONS).boxed().collect(
        Collectors.toMap(i -> new TopicPartition(WordCount.CHANGELOG, i), i -> OffsetSpec.latest()));
    return admin.listOffsets(all).all().get().values().stream()
        .mapToLong(ListOffsetsResultInfo::offset).sum();
  }

  @Override
  public void close() {
    if (admin != null) {
      admin.close();
    }
    process.close();
  }
}
