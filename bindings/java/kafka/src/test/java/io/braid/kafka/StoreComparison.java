package io.braid.kafka;

import io.braid.testing.Child;
import io.braid.testing.Folders;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/**
 * What an application sees of its stores, braid's beside Kafka Streams' own in RocksDB, as both come:
 * the memory outside the heap of 48 partitions with three stores each, and how long calls of a store
 * take while another one is restored. A process for each measurement. The last line is the verdict;
 * the code is 1 where braid takes more than its budget, or a store has lost something.
 */
final class StoreComparison {
  private static final String USAGE = "usage: StoreComparison [--keys N] [--seconds N]\n"
      + "  --keys N     records of each of the 144 stores (50000)\n"
      + "  --seconds N  how long calls are timed (20)";
  private static final int PARTITIONS = 48;
  private static final int STORES = 3;
  private static final int BUDGET_MB = 256;
  private static final int VALUE_BYTES = 100;
  private static final int RECORD_BYTES = 16 + VALUE_BYTES;
  private static final int BATCH = 1000; // records of one poll, as Kafka's consumer has them
  private static final double GOAL_MS = 10;

  private enum Kind {
    BRAID("braid"), ROCKSDB("RocksDB");

    private final String shown;

    Kind(String shown) {
      this.shown = shown;
    }

    KeyValueStore<Bytes, byte[]> open(String name, TestContext context) {
      KeyValueBytesStoreSupplier supplier = this == BRAID ? BraidStores.keyValueStore(name)
          : Stores.persistentKeyValueStore(name);
      KeyValueStore<Bytes, byte[]> store = supplier.get();
      store.init(context, store);
      return store;
    }
  }

  private enum Call { PUT, GET, RANGE }

  /** Times of calls, a tenth of a microsecond each step. */
  private static final class Times {
    private static final int STEP_NANOS = 100;
    private final int[] counts = new int[2_000_000];
    private long count;
    private long longest;

    void add(long nanos) {
      ++counts[(int) Math.min(nanos / STEP_NANOS, counts.length - 1)];
      ++count;
      longest = Math.max(longest, nanos);
    }

    double micros(double share) {
      long left = (long) (share * count);
      for (int i = 0; i < counts.length; ++i) {
        left -= counts[i];
        if (left < 0) {
          return i * STEP_NANOS / 1e3;
        }
      }
      return longest / 1e3;
    }

    @Override
    public String toString() {
      return String.format(Locale.ROOT, "%.1f %.1f %.2f", micros(0.5), micros(0.999), longest / 1e6);
    }
  }

  private StoreComparison() {}

  private static Bytes key(long i) {
    return Bytes.wrap(ByteBuffer.allocate(16).putLong(i * 0x9E3779B97F4A7C15L).putLong(i).array());
  }

  private static byte[] value(long i) {
    return ByteBuffer.allocate(VALUE_BYTES).putLong(i).array();
  }

  private static TestContext context(Path folder, int partition) {
    return new TestContext(folder.toFile(), new TaskId(0, partition), false)
        .with(StreamsConfig.METRICS_RECORDING_LEVEL_CONFIG, "INFO")
        .with(BraidConfig.MEMORY_BUDGET, BUDGET_MB + "M").with(BraidConfig.SET + "memtable.bytes", "16M");
  }

  private static void check(KeyValueStore<Bytes, byte[]> store, long i) {
    if (!Arrays.equals(store.get(key(i)), value(i))) {
      throw new AssertionError("a store has lost key " + i);
    }
  }

  /** Memory that is in no file, of this process. */
  private static long residentKilobytes() throws IOException, InterruptedException {
    System.gc();
    Thread.sleep(1000); // what threads of the stores still work at
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("RssAnon:")) {
        return Long.parseLong(line.replaceAll("[^0-9]", ""));
      }
    }
    throw new IOException("/proc/self/status has no RssAnon");
  }

  private static void memory(Kind kind, int keys, Path folder) throws Exception {
    long before = residentKilobytes();
    List<KeyValueStore<Bytes, byte[]>> stores = new ArrayList<>();
    for (int partition = 0; partition < PARTITIONS; ++partition) {
      TestContext context = context(folder, partition);
      for (int i = 0; i < STORES; ++i) {
        stores.add(kind.open("store" + i, context));
      }
    }
    for (int from = 0; from < keys; from += BATCH) {
      for (KeyValueStore<Bytes, byte[]> store : stores) {
        for (int i = from; i < Math.min(keys, from + BATCH); ++i) {
          store.put(key(i), value(i));
        }
      }
    }
    for (KeyValueStore<Bytes, byte[]> store : stores) {
      for (int i = 0; i < keys; i += 3) {
        check(store, i);
      }
    }
    System.out.println("memory " + (residentKilobytes() - before) / 1024);
    stores.forEach(KeyValueStore::close);
  }

  private static void call(KeyValueStore<Bytes, byte[]> store, Call call, long i) {
    switch (call) {
      case PUT:
        store.put(key(i), value(i));
        break;
      case GET:
        check(store, i);
        break;
      default:
        try (KeyValueIterator<Bytes, byte[]> range = store.range(key(i), null)) {
          for (int n = 0; n < 50 && range.hasNext(); ++n) {
            KeyValue<Bytes, byte[]> entry = range.next();
            if (entry.value.length != VALUE_BYTES) {
              throw new AssertionError("a range has lost a value");
            }
          }
        }
    }
  }

  /** For so long, each tenth call a range, the others puts and gets in turn. */
  private static Map<Call, Times> time(KeyValueStore<Bytes, byte[]> store, int keys, int seconds) {
    Map<Call, Times> times = new EnumMap<>(Call.class);
    for (Call call : Call.values()) {
      times.put(call, new Times());
    }
    long end = System.nanoTime() + seconds * 1_000_000_000L;
    for (long n = 0;; ++n) {
      Call call = n % 10 == 9 ? Call.RANGE : n % 2 == 0 ? Call.PUT : Call.GET;
      long i = (n * 0x9E3779B1L & Long.MAX_VALUE) % keys;
      long begin = System.nanoTime();
      call(store, call, i);
      long now = System.nanoTime();
      times.get(call).add(now - begin);
      if (now > end) {
        return times;
      }
    }
  }

  private static void latency(Kind kind, int keys, int seconds, Path folder) throws Exception {
    KeyValueStore<Bytes, byte[]> store = kind.open("used", context(folder, 0));
    TestContext context = context(folder, 1);
    KeyValueStore<Bytes, byte[]> other = kind.open("restored", context);
    for (int i = 0; i < keys; ++i) {
      store.put(key(i), value(i));
    }
    time(store, keys, Math.min(seconds, 5)); // until it is compiled
    // Made before, so that what is timed is not the collector of garbage.
    List<List<ConsumerRecord<byte[], byte[]>>> batches = new ArrayList<>();
    for (int from = 0; from < 4 * keys; from += BATCH) {
      List<ConsumerRecord<byte[], byte[]>> batch = new ArrayList<>();
      for (int i = from; i < from + BATCH; ++i) {
        batch.add(TestContext.changed(i, key(i).get(), value(i)));
      }
      batches.add(batch);
    }
    System.gc();
    AtomicBoolean over = new AtomicBoolean();
    AtomicLong restored = new AtomicLong();
    Thread restore = new Thread(() -> {
      for (int i = 0; !over.get(); i = (i + 1) % batches.size()) {
        context.restore(batches.get(i));
        restored.addAndGet(BATCH);
      }
    }, "restore");
    restore.start();
    Map<Call, Times> times = time(store, keys, seconds);
    over.set(true);
    restore.join();
    for (Call call : Call.values()) {
      System.out.println(call + " " + times.get(call));
    }
    System.out.println("restored " + restored.get() / seconds);
    check(other, 0);
    store.close();
    other.close();
  }

  private static List<String> run(Path folder, Kind kind, String what, int keys, int seconds,
      String... awaited) throws Exception {
    Path scratch = Files.createTempDirectory(folder, what);
    List<String> said = new ArrayList<>();
    // The heap is touched before, so that it does not count as what the stores take.
    List<String> options = List.of("-Xms1g", "-Xmx1g", "-XX:+AlwaysPreTouch", "-Dlog.level=error");
    try (Child child = new Child(kind.shown + "'s process", folder.resolve("log"), options,
        StoreComparison.class.getName(), what, kind.name(), Integer.toString(keys),
        Integer.toString(seconds), scratch.toString())) {
      for (String words : awaited) {
        said.add(child.await(words + " ", 3600));
      }
    }
    Folders.delete(scratch);
    return said;
  }

  private static boolean compare(int keys, int seconds, Path folder) throws Exception {
    System.out.printf(Locale.ROOT,
        "%d stores of %d records, %d MB: memory outside heap and files, in MB%n", PARTITIONS * STORES,
        keys, (long) PARTITIONS * STORES * keys * RECORD_BYTES >> 20);
    long taken = 0;
    for (Kind kind : Kind.values()) {
      long memory = Long.parseLong(run(folder, kind, "memory", keys, seconds, "memory").get(0));
      taken = kind == Kind.BRAID ? memory : taken;
      System.out.printf(Locale.ROOT, "  %-8s %6d%s%n", kind.shown, memory,
          kind == Kind.BRAID ? "  (budget " + BUDGET_MB + ")" : "");
    }
    System.out.println("calls while another store is restored: median and p99.9 in us, longest in ms");
    double longest = 0;
    for (Kind kind : Kind.values()) {
      List<String> said =
          run(folder, kind, "latency", 4 * keys, seconds, "PUT", "GET", "RANGE", "restored");
      System.out.printf(Locale.ROOT,
          "  %-8s put %s   get %s   range of 50 %s   restored %s records/s%n", kind.shown,
          said.get(0), said.get(1), said.get(2), said.get(3));
      for (String times : kind == Kind.BRAID ? said.subList(0, 3) : List.<String>of()) {
        longest = Math.max(longest, Double.parseDouble(times.split(" ")[2]));
      }
    }
    boolean within = taken <= BUDGET_MB;
    System.out.printf(Locale.ROOT, "kafka-stores: memory %s the budget, longest call %.1f ms (goal: %.0f)%n",
        within ? "within" : "ABOVE", longest, GOAL_MS);
    return within;
  }

  private static int number(String[] arguments, String name, int otherwise) {
    for (int i = 0; i + 1 < arguments.length; ++i) {
      if (arguments[i].equals(name)) {
        return Integer.parseInt(arguments[i + 1]);
      }
    }
    return otherwise;
  }

  public static void main(String[] arguments) throws Exception {
    List<String> all = List.of(arguments);
    if (all.size() == 5 && !all.get(0).startsWith("-")) {
      Kind kind = Kind.valueOf(all.get(1));
      int keys = Integer.parseInt(all.get(2));
      int seconds = Integer.parseInt(all.get(3));
      Path folder = Path.of(all.get(4));
      if (all.get(0).equals("memory")) {
        memory(kind, keys, folder);
      } else {
        latency(kind, keys, seconds, folder);
      }
      return;
    }
    int keys = 0;
    int seconds = 0;
    try {
      keys = number(arguments, "--keys", 50_000);
      seconds = number(arguments, "--seconds", 20);
    } catch (NumberFormatException e) {
      keys = 0;
    }
    boolean known = all.size() % 2 == 0;
    for (int i = 0; i < all.size(); i += 2) {
      known = known && List.of("--keys", "--seconds").contains(all.get(i));
    }
    if (!known || keys < BATCH || seconds < 1) {
      boolean asked = all.contains("--help");
      (asked ? System.out : System.err).println(USAGE);
      System.exit(asked ? 0 : 2);
    }
    Path folder = Files.createTempDirectory(Folders.scratch(), "braid-kafka-stores-");
    boolean within = false;
    try {
      within = compare(keys, seconds, folder);
    } finally {
      Folders.delete(folder);
    }
    System.exit(within ? 0 : 1);
  }
}
