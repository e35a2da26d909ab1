package io.braid.examples.kafka;

import io.braid.testing.Child;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.streams.tests.SmokeTestDriver;
import org.apache.kafka.streams.tests.SmokeTestUtil.VerificationResult;
import org.apache.kafka.streams.tests.StreamsSmokeTest;

/**
 * Kafka's own smoke test, unmodified, with braid as the store: exactly once, three processes with a
 * standby each, one of which is killed with SIGKILL every three to six seconds and started again.
 */
final class Smoke {
  private static final String HELP = """
      make kafka-smoke [ROUNDS=3]

      Kafka's own smoke test with its state in braid, exactly once, in three processes, one of which
      is killed every three to six seconds. A round takes a minute. Everything lies in a temporary
      folder, which is kept when a round fails. The last line is "kafka-smoke: N of N rounds passed".
      """;
  private static final int CLIENTS = 3;
  private static final int PARTITIONS = 5;
  private static final int KEYS = 10;
  private static final int RECORDS = 1000;
  private static final Duration SENDING = Duration.ofSeconds(30);
  /** Of a round: the driver itself would wait for ever. */
  private static final Duration LONGEST = Duration.ofMinutes(5);

  private final Path folder;
  private final String address;
  private final Random random;
  private final Child[] clients = new Child[CLIENTS];
  private int kills;

  private Smoke(Path folder, String address, Random random) {
    this.folder = folder;
    this.address = address;
    this.random = random;
  }

  private void begin(int client) throws IOException {
    Path file = folder.resolve("client" + client + ".properties");
    Properties properties = new Properties();
    properties.putAll(Map.of("bootstrap.servers", address,
        "processing.guarantee", "exactly_once_v2",
        "state.dir", folder.resolve("state" + client).toString(),
        "num.standby.replicas", "1",
        "session.timeout.ms", "6000",
        "dsl.store.suppliers.class", "io.braid.kafka.BraidDslStoreSuppliers"));
    try (Writer writer = Files.newBufferedWriter(file)) {
      properties.store(writer, null);
    }
    clients[client] = new Child("client " + client, folder.resolve("client" + client + ".log"),
        List.of("-Xmx400m"), StreamsSmokeTest.class.getName(), file.toString(), "process");
  }

  /** Kills one, while records are sent; none may end by itself, at any time. */
  private void disturb(boolean sending) throws IOException, InterruptedException {
    for (Child client : clients) {
      client.check();
    }
    if (sending) {
      int victim = random.nextInt(CLIENTS);
      clients[victim].kill();
      begin(victim);
      ++kills;
    }
  }

  /** What Kafka's driver says. */
  private VerificationResult run() throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
      admin.createTopics(Arrays.stream(SmokeTestDriver.topics())
          .map(name -> new NewTopic(name, PARTITIONS, (short) 1)).toList()).all().get();
    }
    VerificationResult[] result = new VerificationResult[1];
    Exception[] failure = new Exception[1];
    boolean[] sent = new boolean[1];
    Thread driver = new Thread(() -> {
      try {
        Map<String, Set<Integer>> data =
            SmokeTestDriver.generate(address, KEYS, RECORDS, SENDING);
        synchronized (sent) {
          sent[0] = true;
        }
        result[0] = SmokeTestDriver.verify(address, data, RECORDS, true);
      } catch (Exception e) {
        failure[0] = e;
      }
    });
    driver.setDaemon(true);
    try {
      for (int i = 0; i < CLIENTS; ++i) {
        begin(i);
      }
      driver.start();
      long begun = System.nanoTime();
      for (driver.join(5000); driver.isAlive(); driver.join(3000 + random.nextInt(3000))) {
        Duration passed = Duration.ofNanos(System.nanoTime() - begun);
        synchronized (sent) {
          if (passed.compareTo(LONGEST) > 0) {
            throw new Failure("Kafka's driver has not ended " + (sent[0]
                ? "reading the results" : "sending its records") + " within " + LONGEST.toMinutes()
                + " minutes; its log and the broker's say more");
          }
          disturb(!sent[0] && passed.compareTo(SENDING) < 0);
        }
      }
    } finally {
      for (Child client : clients) {
        if (client != null) {
          client.kill();
        }
      }
    }
    if (failure[0] != null) {
      throw failure[0];
    }
    return result[0];
  }

  private static boolean round(int number, Path folder, Random random) throws Exception {
    PrintStream output = System.out;
    long begin = System.nanoTime();
    boolean passed = false;
    String why = "";
    int kills = 0;
    try (Cluster cluster = new Cluster(Files.createDirectory(folder));
        PrintStream log = new PrintStream(new FileOutputStream(
            folder.resolve("driver.log").toFile()), true, StandardCharsets.UTF_8)) {
      System.setOut(log); // the driver says much
      Smoke smoke = new Smoke(folder, cluster.address, random);
      VerificationResult result = smoke.run();
      passed = result.passed();
      kills = smoke.kills;
      why = passed ? "" : ": " + result.result();
    } catch (Failure | Child.Failed e) {
      why = ": " + e.getMessage();
    } finally {
      System.setOut(output);
    }
    System.out.printf(Locale.ROOT, "round %d: %s after %d kills, %.0f s%s%n", number,
        passed ? "SUCCESS" : "FAILED", kills, (System.nanoTime() - begin) / 1e9, why);
    return passed;
  }

  /** How many rounds. */
  public static void main(String[] arguments) throws Exception {
    if (arguments.length != 1 || !arguments[0].matches("[1-9][0-9]{0,3}")) {
      System.out.print(HELP);
      System.exit(arguments.length == 1 && arguments[0].equals("--help") ? 0 : 2);
    }
    int rounds = Integer.parseInt(arguments[0]);
    long seed = System.nanoTime();
    Random random = new Random(seed);
    Path base = Files.createTempDirectory(Demo.scratch(), "braid-kafka-smoke-");
    int passed = 0;
    for (int i = 1; i <= rounds; ++i) {
      Path folder = base.resolve("round" + i);
      if (round(i, folder, random)) {
        ++passed;
        Demo.remove(folder);
      }
    }
    if (passed == rounds) {
      Demo.remove(base);
    } else {
      System.out.println("kafka-smoke: logs and states of the rounds that failed are in " + base
          + ", the seed was " + seed);
    }
    System.out.println("kafka-smoke: " + passed + " of " + rounds + " rounds passed");
    System.exit(passed == rounds ? 0 : 1);
  }
}
