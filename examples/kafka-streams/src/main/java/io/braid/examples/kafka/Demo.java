package io.braid.examples.kafka;

import io.braid.testing.Child;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/** A word count with a real broker that is killed and started again before the reader's eyes. */
final class Demo {
  private static final String HELP = """
      make kafka-demo [DEMO="OPTION ..."]

      Starts a Kafka broker, and an application of Kafka Streams that counts words, exactly once,
      with its state in braid. Kills the application with SIGKILL while it counts, starts it again,
      says how many records it had to restore from its changelog, and checks every count. Everything
      lies in a temporary folder, which is removed.

        --store NAME    braid (default), or rocksdb, Kafka Streams' own, to see the difference
        --race          a table of both: each word once, a kill, and how the restart went
        --words N       how many different words there are (default: 50000; --race: 1000000)
        --lines N       how many lines of ten words are written before the kill and as many again
                        during it (default: 30000)
        --folder PATH   where the temporary folder is made (default: BRAID_TMP, /dev/shm or /tmp)
        --help          this text

      The end is a line "kafka-demo: right" and the code 0; 1 when a count is wrong or a process
      fails, 2 for an unknown option.
      """;
  private static final int START_SECONDS = 120;
  private static final int COUNT_SECONDS = 600;

  private final long begin = System.nanoTime();
  private String store = "braid";
  private int words;
  private long lines = 30_000;
  private boolean race;
  private Path base = scratch();

  private Demo() {}

  private void say(String text) {
    System.out.printf(Locale.ROOT, "[%5.1f s] %s%n", seconds(begin), text);
  }

  /** Where temporary folders are made: in memory where there is some. */
  static Path scratch() {
    String named = System.getenv("BRAID_TMP");
    return Path.of(named != null ? named
        : Files.isWritable(Path.of("/dev/shm")) ? "/dev/shm" : System.getProperty("java.io.tmpdir"));
  }

  private static double seconds(long since) {
    return (System.nanoTime() - since) / 1e9;
  }

  /** Whether there is something to do; what is wrong with the options is a Failure. */
  private boolean take(String[] arguments) {
    for (int i = 0; i < arguments.length; ++i) {
      String name = arguments[i];
      if (name.equals("--help")) {
        System.out.print(HELP);
        return false;
      }
      if (name.equals("--race")) {
        race = true;
        continue;
      }
      if (!List.of("--store", "--words", "--lines", "--folder").contains(name)) {
        throw new Failure("unknown option " + name + ": --help lists them");
      }
      if (++i == arguments.length) {
        throw new Failure(name + " needs a value: --help lists the options");
      }
      String value = arguments[i];
      switch (name) {
        case "--store" -> store = value;
        case "--words" -> words = number(name, value);
        case "--lines" -> lines = number(name, value);
        default -> base = Path.of(value);
      }
    }
    if (!store.equals("braid") && !store.equals("rocksdb")) {
      throw new Failure("--store " + store + ": use braid or rocksdb");
    }
    if (!Files.isDirectory(base) || !Files.isWritable(base)) {
      throw new Failure("--folder " + base + ": name a folder that can be written to");
    }
    if (words == 0) {
      words = race ? 1_000_000 : 50_000;
    }
    return true;
  }

  private static int number(String name, String value) {
    try {
      int number = Integer.parseInt(value);
      if (number > 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw new Failure(name + " " + value + ": use a number from 1 to " + Integer.MAX_VALUE);
  }

  private static Child application(Path folder, Cluster cluster, String store) throws IOException {
    return new Child("the application", folder.resolve("application.log"), List.of("-Xmx1g"),
        WordCount.class.getName(), cluster.address, folder.resolve("state").toString(), store);
  }

  private void run(Path folder) throws Exception {
    say("starting a Kafka broker");
    try (Cluster cluster = new Cluster(folder);
        Counts counts = new Counts(cluster.address, words, begin)) {
      Child application = application(folder, cluster, store);
      try {
        application.await(WordCount.RUNNING, START_SECONDS);
        say("the application runs, process " + application.id() + ", its state in " + store
            + ", exactly once");
        counts.writeRandom(lines);
        counts.awaitAll(application, COUNT_SECONDS);
        say("before: " + counts.written() + " words counted, " + counts.different()
            + " different: " + counts.most());

        counts.writeRandom(lines / 2);
        long until = counts.written() - lines / 2 * Counts.WORDS_A_LINE / 2;
        for (long end = System.nanoTime() + 10_000_000_000L;
            counts.counted() < until && System.nanoTime() < end;) {
          counts.look(Duration.ofMillis(20));
        }
        application.kill();
        long records = cluster.changelogRecords();
        say("killed the process " + application.id() + " with SIGKILL: "
            + counts.counted() + " of " + counts.written() + " words were counted");
        counts.writeRandom(lines - lines / 2);
        say("wrote more lines while nobody counts, and start the application again");
        application = application(folder, cluster, store);
        long restored = Long.parseLong(application.await(WordCount.RUNNING, START_SECONDS));
        say(String.format(Locale.ROOT, "it runs after %.1f s, process %d: restored %d records of"
            + " the %d in its changelog", seconds(application.begin()), application.id(), restored,
            records));
        counts.awaitAll(application, COUNT_SECONDS);
        say("after: " + counts.written() + " words counted, " + counts.different() + " different: "
            + counts.most());
      } finally {
        application.close();
      }
    }
    say("every count was compared with the words that were written");
  }

  /** A restart after a kill: what it restored, and the seconds until it ran. */
  private record Restart(String store, long changelog, long restored, double seconds) {}

  private Restart restart(Path folder, String which) throws Exception {
    Path own = Files.createDirectory(folder.resolve(which));
    try (Cluster cluster = new Cluster(own);
        Counts counts = new Counts(cluster.address, words, begin)) {
      Child application = application(own, cluster, which);
      try {
        application.await(WordCount.RUNNING, START_SECONDS);
        counts.writeEach();
        counts.awaitAll(application, COUNT_SECONDS);
        say(which + ": " + counts.different() + " words are counted; killing the application");
        application.kill();
        long records = cluster.changelogRecords();
        application = application(own, cluster, which);
        long restored = Long.parseLong(application.await(WordCount.RUNNING, COUNT_SECONDS));
        Restart result = new Restart(which, records, restored, seconds(application.begin()));
        counts.writeRandom(1000);
        counts.awaitAll(application, COUNT_SECONDS);
        say(which + ": runs again, and every count is right");
        return result;
      } finally {
        application.close();
      }
    }
  }

  private void race(Path folder) throws Exception {
    List<Restart> rows = List.of(restart(folder, "braid"), restart(folder, "rocksdb"));
    System.out.printf("%n| store | words | records in the changelog | restored | seconds to RUNNING |"
        + "%n|---|---|---|---|---|%n");
    for (Restart row : rows) {
      System.out.printf(Locale.ROOT, "| %s | %d | %d | %d | %.2f |%n", row.store, words,
          row.changelog, row.restored, row.seconds);
    }
    System.out.printf("%nSeconds are from the start of the process, that of the JVM included.%n");
  }

  static void remove(Path folder) {
    for (int attempt = 0; attempt < 5 && Files.exists(folder); ++attempt) {
      try (Stream<Path> all = Files.walk(folder)) {
        for (Path path : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator) {
          Files.deleteIfExists(path);
        }
      } catch (NoSuchFileException | UncheckedIOException e) {
        // a process that ends has removed a file of its own
      } catch (IOException e) {
        System.err.println("kafka-demo: remove " + folder + " by hand: " + e.getMessage());
        return;
      }
    }
  }

  private int work() throws Exception {
    Path folder = Files.createTempDirectory(base, "braid-kafka-demo-");
    Thread atExit = new Thread(() -> remove(folder));
    Runtime.getRuntime().addShutdownHook(atExit);
    try {
      if (race) {
        race(folder);
      } else {
        run(folder);
      }
    } finally {
      remove(folder);
    }
    System.out.println("kafka-demo: right");
    return 0;
  }

  public static void main(String[] arguments) throws Exception {
    Demo demo = new Demo();
    try {
      if (!demo.take(arguments)) {
        return;
      }
    } catch (Failure e) {
      System.err.println("kafka-demo: " + e.getMessage());
      System.exit(2);
    }
    int code = 1;
    try {
      code = demo.work();
    } catch (Failure | Child.Failed e) {
      System.err.println("kafka-demo: " + e.getMessage());
    }
    System.exit(code);
  }
}
