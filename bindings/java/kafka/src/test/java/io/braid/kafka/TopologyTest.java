package io.braid.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TestInputTopic;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.JoinWindows;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.SessionWindows;
import org.apache.kafka.streams.kstream.SlidingWindows;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.query.KeyQuery;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.RangeQuery;
import org.apache.kafka.streams.query.WindowKeyQuery;
import org.apache.kafka.streams.query.WindowRangeQuery;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedKeyValueStoreWithHeaders;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.ValueTimestampHeaders;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.apache.kafka.streams.test.TestRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole topologies of the DSL: the same records in, with Kafka's stores in memory and with braid. */
class TopologyTest extends StoreCase {
  private File lastStates;

  private Properties configs(boolean braid, boolean exactlyOnce) throws IOException {
    File states = folder();
    lastStates = states;
    Properties configs = new Properties();
    configs.put(StreamsConfig.APPLICATION_ID_CONFIG, "topology");
    configs.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
    configs.put(StreamsConfig.STATE_DIR_CONFIG, states.getPath());
    configs.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.String().getClass());
    configs.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.String().getClass());
    if (exactlyOnce) {
      configs.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    }
    configs.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, braid ? BraidDslStoreSuppliers.class
        : BuiltInDslStoreSuppliers.InMemoryDslStoreSuppliers.class);
    // Windows that close are emitted at once, and not once a second.
    configs.put(StreamsConfig.InternalConfig.EMIT_INTERVAL_MS_KSTREAMS_WINDOWED_AGGREGATION, 0L);
    configs.put(BraidConfig.MEMORY_BUDGET, "64M");
    configs.put(BraidConfig.SET + "memtable.bytes", "1M");
    return configs;
  }

  private static void to(KStream<Windowed<String>, ?> stream, String topic) {
    stream.map((key, value) -> KeyValue.pair(
        key.key() + "@" + key.window().start() + "-" + key.window().end(), String.valueOf(value)))
        .to(topic);
  }

  /** Aggregations of each kind, joins of each kind, from the topics a, b and table. */
  private static StreamsBuilder topology() {
    StreamsBuilder builder = new StreamsBuilder();
    KStream<String, String> a = builder.stream("a");
    KStream<String, String> b = builder.stream("b");
    KTable<String, String> table = builder.table("table", Materialized.as("table"));
    KGroupedStream<String, String> grouped = a.groupByKey();
    grouped.count(Materialized.as("counts")).toStream().mapValues(Object::toString).to("counts");
    grouped.reduce((x, y) -> x.length() > 60 ? y : x + y).toStream().to("reduced");
    Duration second = Duration.ofSeconds(1);
    Duration grace = Duration.ofSeconds(5);
    to(grouped.windowedBy(TimeWindows.ofSizeAndGrace(second, grace))
        .count(Materialized.as("windows")).toStream(), "windows");
    to(grouped.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(second, grace)).count()
        .toStream(), "sliding");
    to(grouped.windowedBy(SessionWindows.ofInactivityGapAndGrace(second, grace))
        .count(Materialized.as("sessions")).toStream(), "sessions");
    a.join(b, (x, y) -> x + y, JoinWindows.ofTimeDifferenceAndGrace(second, grace)).to("joined");
    a.outerJoin(b, (x, y) -> x + "/" + y, JoinWindows.ofTimeDifferenceAndGrace(second, grace))
        .to("outer");
    a.leftJoin(table, (x, y) -> x + "," + y).to("enriched");
    table.groupBy((key, value) -> KeyValue.pair("v" + value.length(), value),
        Grouped.as("regroup"))
        .count().toStream().mapValues(Object::toString).to("lengths");
    table.join(table.filter((key, value) -> value.length() % 2 == 0), value -> "k" + value.length(),
        (x, y) -> x + "~" + y).toStream().to("foreign");
    return builder;
  }

  private static final List<String> OUTPUTS = List.of("counts", "reduced", "windows",
      "sliding", "sessions", "joined", "outer", "enriched", "lengths", "foreign");

  /** The outputs, a topic each; records of one moment in any order. */
  private static TreeMap<String, List<String>> outputs(TopologyTestDriver driver) {
    TreeMap<String, List<String>> found = new TreeMap<>();
    for (String topic : OUTPUTS) {
      List<String> records = new ArrayList<>();
      for (TestRecord<String, String> record : driver.createOutputTopic(topic,
          Serdes.String().deserializer(), Serdes.String().deserializer()).readRecordsToList()) {
        records.add(record.key() + "=" + record.value() + "@" + record.timestamp());
      }
      records.sort(null);
      found.put(topic, records);
    }
    return found;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void outputsAreThoseOfStoresInMemory(boolean exactlyOnce) throws IOException {
    long seed = seed();
    Random random = new Random(seed);
    int operations = isNight() ? 50_000 : 1_500;
    long emitted = 0;
    Map<String, Integer> counts = new TreeMap<>();
    try (TopologyTestDriver expected = new TopologyTestDriver(
            topology().build(), configs(false, exactlyOnce), Instant.EPOCH);
        TopologyTestDriver driver = new TopologyTestDriver(
            topology().build(), configs(true, exactlyOnce), Instant.EPOCH)) {
      long now = 100_000;
      assertTrue(new File(lastStates, "topology/braid").isDirectory(), "braid is not used");
      for (int i = 0; i < operations; ++i) {
        now += random.nextInt(random.nextInt(50) == 0 ? 5_000 : 100);
        String topic = List.of("a", "a", "b", "table").get(random.nextInt(4));
        String key = "k" + random.nextInt(10);
        String value = topic.equals("table") && random.nextInt(5) == 0 ? null
            : "x".repeat(random.nextInt(6)) + i % 10;
        long time = now - random.nextInt(random.nextInt(20) == 0 ? 20_000 : 1_000);
        for (TopologyTestDriver each : List.of(expected, driver)) {
          TestInputTopic<String, String> input = each.createInputTopic(
              topic, Serdes.String().serializer(), Serdes.String().serializer());
          input.pipeInput(key, value, time);
        }
        if (i % 20 == 0 || i == operations - 1) {
          TreeMap<String, List<String>> outputs = outputs(driver);
          assertEquals(outputs(expected), outputs, "seed " + seed + ", after " + i + " records");
          emitted += outputs.values().stream().mapToInt(List::size).sum();
          outputs.forEach((name, records) -> counts.merge(name, records.size(), Integer::sum));
        }
      }
      assertTrue(emitted > operations, emitted + " records came out");
      assertTrue(counts.size() == OUTPUTS.size() && counts.values().stream().allMatch(n -> n > 20),
          counts::toString);
    }
  }

  private static final Duration SECOND = Duration.ofSeconds(1);
  private static final Duration GRACE = Duration.ofSeconds(5);

  /** Windows of each kind, each with results at every update and with those of closed windows. */
  private static StreamsBuilder closing() {
    StreamsBuilder builder = new StreamsBuilder();
    KGroupedStream<String, String> grouped = builder.<String, String>stream("a").groupByKey();
    for (EmitStrategy emit : List.of(EmitStrategy.onWindowUpdate(), EmitStrategy.onWindowClose())) {
      String of = emit.type() == EmitStrategy.StrategyType.ON_WINDOW_CLOSE ? "closed" : "updated";
      TimeWindows hopping =
          TimeWindows.ofSizeAndGrace(SECOND, GRACE).advanceBy(SECOND.dividedBy(2));
      to(grouped.windowedBy(hopping).emitStrategy(emit).count().toStream(), of + "Windows");
      to(grouped.windowedBy(SlidingWindows.ofTimeDifferenceAndGrace(SECOND, GRACE))
          .emitStrategy(emit).count().toStream(), of + "Sliding");
      to(grouped.windowedBy(SessionWindows.ofInactivityGapAndGrace(SECOND, GRACE))
          .emitStrategy(emit).count().toStream(), of + "Sessions");
    }
    return builder;
  }

  private static List<TestRecord<String, String>> read(TopologyTestDriver driver, String topic) {
    return driver.createOutputTopic(topic, Serdes.String().deserializer(),
        Serdes.String().deserializer()).readRecordsToList();
  }

  private static long endOf(String window) {
    return Long.parseLong(window.substring(window.lastIndexOf('-') + 1));
  }

  /**
   * What is emitted when a window closes is what was its last update; each once, none is missing.
   * Stores in memory are no measure here: what they emit depends on the cache over them. Nor are
   * updates that went through Kafka's cache, which still finds sessions that have expired in the
   * store below: a late record joins them there.
   */
  @ParameterizedTest
  @CsvSource({"false,0", "true,0", "true,1000000"})
  void windowsAreEmittedWhenTheyClose(boolean exactlyOnce, long cacheBytes) throws IOException {
    long seed = seed();
    Random random = new Random(seed);
    Properties configs = configs(true, exactlyOnce);
    configs.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, cacheBytes);
    Properties uncached = configs(true, exactlyOnce);
    uncached.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, 0);
    try (TopologyTestDriver driver =
            new TopologyTestDriver(closing().build(), configs, Instant.EPOCH);
        TopologyTestDriver updates =
            new TopologyTestDriver(closing().build(), uncached, Instant.EPOCH)) {
      long now = 100_000;
      long highest = 0;
      for (int i = 0; i < (isNight() ? 20_000 : 600); ++i) {
        now += random.nextInt(random.nextInt(30) == 0 ? 100_000 : 200);
        long time = now - random.nextInt(random.nextInt(20) == 0 ? 8_000 : 1_000);
        highest = Math.max(highest, time);
        String key = "k" + random.nextInt(5);
        for (TopologyTestDriver each : List.of(updates, driver)) {
          each.createInputTopic("a", Serdes.String().serializer(), Serdes.String().serializer())
              .pipeInput(key, "v", time);
        }
      }
      long closed = highest - GRACE.toMillis() - SECOND.toMillis();
      for (String kind : List.of("Windows", "Sliding", "Sessions")) {
        Map<String, String> last = new HashMap<>();
        read(updates, "updated" + kind).forEach(record -> last.put(record.key(), record.value()));
        last.values().removeIf("null"::equals); // merged into another session
        Map<String, String> emitted = new HashMap<>();
        for (TestRecord<String, String> record : read(driver, "closed" + kind)) {
          String what = kind + " " + record.key() + ", seed " + seed;
          assertEquals(null, emitted.put(record.key(), record.value()), what);
          assertEquals(last.get(record.key()), record.value(), what);
        }
        last.keySet().removeIf(window -> endOf(window) >= closed || emitted.containsKey(window));
        assertEquals(Map.of(), last, kind + ", seed " + seed);
        assertTrue(emitted.size() > 50, kind + " " + emitted.size());
      }
    }
  }

  /** A count, with its time or without. */
  private static long number(Object value) {
    return (Long) (value instanceof ValueAndTimestamp ? ((ValueAndTimestamp<?>) value).value()
        : value);
  }

  private static <R> R answer(org.apache.kafka.streams.processor.StateStore store,
      org.apache.kafka.streams.query.Query<R> query) {
    org.apache.kafka.streams.query.QueryResult<R> result =
        store.query(query, PositionBound.unbounded(), new QueryConfig(false));
    assertTrue(result.isSuccess(), () -> result.getFailureMessage());
    return result.getResult();
  }

  @Test
  void queriesAreAnswered() throws IOException {
    try (TopologyTestDriver driver = new TopologyTestDriver(
        topology().build(), configs(true, true), Instant.EPOCH)) {
      TestInputTopic<String, String> input = driver.createInputTopic(
          "a", Serdes.String().serializer(), Serdes.String().serializer());
      for (int i = 0; i < 10; ++i) {
        input.pipeInput("k" + i % 3, "v", 1000L + i);
      }
      assertTrue(driver.metrics().keySet().stream().anyMatch(
          name -> name.name().equals("uncommitted-bytes") && "counts".equals(
              name.tags().get("braid-state-id"))));
      Map<String, Object> pool = new HashMap<>();
      driver.metrics().forEach((name, metric) -> {
        if (name.group().equals(PoolMetrics.GROUP)) {
          pool.put(name.name(), metric.metricValue());
        }
      });
      assertTrue((long) pool.get("pool-bytes") >= (long) pool.get("pool-used-bytes"), pool::toString);
      assertTrue((long) pool.get("pool-used-bytes") > 0, pool::toString);
      assertTrue((long) pool.get("memory-budget-bytes") > 0, pool::toString);
      assertTrue((long) pool.get("batches-total") > 0, pool::toString);
      assertEquals(4L, number(answer(driver.getAllStateStores().get("counts"),
          KeyQuery.<String, Object>withKey("k0"))));
      List<String> keys = new ArrayList<>();
      try (KeyValueIterator<String, Object> range = answer(
          driver.getAllStateStores().get("counts"),
          RangeQuery.<String, Object>withLowerBound("k1"))) {
        range.forEachRemaining(entry -> keys.add(entry.key + "=" + number(entry.value)));
      }
      assertEquals(List.of("k1=3", "k2=3"), keys);
      try (WindowStoreIterator<Object> windows = answer(
          driver.getAllStateStores().get("windows"),
          WindowKeyQuery.<String, Object>withKeyAndWindowStartRange(
              "k0", Instant.ofEpochMilli(0), Instant.ofEpochMilli(2000)))) {
        assertEquals(4L, number(windows.next().value));
      }
      int found = 0;
      try (KeyValueIterator<Windowed<String>, Object> windows = answer(
          driver.getAllStateStores().get("windows"),
          WindowRangeQuery.<String, Object>withWindowStartRange(
              Instant.ofEpochMilli(0), Instant.ofEpochMilli(2000)))) {
        for (; windows.hasNext(); ++found) {
          windows.next();
        }
      }
      assertEquals(3, found);
      try (KeyValueIterator<Windowed<String>, Long> sessions = answer(
          driver.getAllStateStores().get("sessions"), WindowRangeQuery.<String, Long>withKey("k1"))) {
        assertEquals(3L, sessions.next().value);
      }
    }
  }

  /** Stores values with the headers of their records. */
  private static final class Keeper extends ContextualProcessor<String, String, Void, Void> {
    @Override
    public void process(Record<String, String> record) {
      TimestampedKeyValueStoreWithHeaders<String, String> store = context().getStateStore("kept");
      store.put(record.key(), ValueTimestampHeaders.make(
          record.value(), record.timestamp(), record.headers()));
    }
  }

  @Test
  void headersAreKept() throws IOException {
    StreamsBuilder builder = new StreamsBuilder();
    builder.addStateStore(Stores.timestampedKeyValueStoreWithHeadersBuilder(
        BraidStores.timestampedKeyValueStoreWithHeaders("kept"), Serdes.String(),
        Serdes.String()));
    builder.stream("in", Consumed.with(Serdes.String(), Serdes.String()))
        .process(Keeper::new, "kept");
    try (TopologyTestDriver driver =
        new TopologyTestDriver(builder.build(), configs(true, true), Instant.EPOCH)) {
      TestInputTopic<String, String> input = driver.createInputTopic(
          "in", Serdes.String().serializer(), Serdes.String().serializer());
      RecordHeaders headers = new RecordHeaders();
      headers.add("trace", bytes("7"));
      input.pipeInput(new TestRecord<>("k", "v", headers, 5L));
      KeyValueStore<String, ValueTimestampHeaders<String>> store =
          driver.getTimestampedKeyValueStoreWithHeaders("kept");
      ValueTimestampHeaders<String> found = store.get("k");
      assertEquals("v", found.value());
      assertEquals(5, found.timestamp());
      assertEquals("7", text(found.headers().lastHeader("trace").value()));
    }
  }
}
