package io.braid.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.TaskId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Instances of one process that share a memory budget and threads by braid.shared.group. */
class SharedGroupTest extends StoreCase {
  private static final String GROUP = "tenants";

  /** An instance with a state folder of its own, one task, one store. */
  private static final class Instance {
    final TestContext context;
    final BraidKeyValueStore store = new BraidKeyValueStore("store");

    Instance(File states) {
      context = new TestContext(states, new TaskId(0, 0), false);
    }

    Instance with(String name, Object value) {
      context.with(name, value);
      return this;
    }

    Instance open() {
      store.init(context, store);
      return this;
    }

    void fill(int count) {
      for (int i = 0; i < count; ++i) {
        store.put(key("key" + i), bytes("value" + i));
      }
    }

    /** A number in the statistics of its pool. */
    long statistic(String name) {
      SharedPool pool = SharedPool.acquire(new BraidConfig(context), null);
      try {
        String all = pool.db().statistics();
        String begin = "\"" + name + "\":";
        int at = all.indexOf(begin) + begin.length();
        assertTrue(at >= begin.length(), all);
        return Long.parseLong(all.substring(at, all.indexOf(',', at)));
      } finally {
        pool.release();
      }
    }

    void close() {
      store.close();
    }
  }

  private Instance instance(String group) throws IOException {
    return new Instance(folder()).with(BraidConfig.SHARED_GROUP, group);
  }

  private static void refused(Instance instance, String... words) {
    ProcessorStateException e = assertThrows(ProcessorStateException.class, instance::open);
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), e.getMessage());
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void instancesShareABudgetAndCloseInAnyOrder(boolean firstClosesFirst) throws IOException {
    Instance first = instance(GROUP).with(BraidConfig.SHARED_THREADS, 3).open();
    Instance second = instance(GROUP).with(BraidConfig.SHARED_THREADS, "3").open();
    first.fill(20_000);
    second.fill(10_000);
    for (Instance one : List.of(first, second)) {
      assertEquals(2, one.statistic("shared_databases"));
      assertEquals(32L << 20, one.statistic("shared_budget_bytes"));
      long all = one.statistic("shared_memory_bytes");
      assertTrue(all >= one.statistic("memory_bytes") && all <= 32L << 20, "all take " + all);
      assertTrue(one.statistic("memory_budget_bytes") <= 32L << 20);
    }
    Instance closes = firstClosesFirst ? first : second;
    Instance stays = firstClosesFirst ? second : first;
    closes.close();
    assertEquals(1, stays.statistic("shared_databases"));
    assertEquals(32L << 20, stays.statistic("memory_budget_bytes")); // all is its own
    stays.fill(20_000);
    assertEquals("value19999", text(stays.store.get(key("key19999"))));
    // What has left can come back.
    Instance again = new Instance(closes.context.stateDir().getParentFile().getParentFile())
        .with(BraidConfig.SHARED_GROUP, GROUP).with(BraidConfig.SHARED_THREADS, 3).open();
    assertEquals("value9999", text(again.store.get(key("key9999"))));
    assertEquals(2, again.statistic("shared_databases"));
    stays.close();
    assertEquals(1, again.statistic("shared_databases"));
    again.close();
    // The group went with the last one: its name is free for other limits.
    Instance other = instance(GROUP).with(BraidConfig.MEMORY_BUDGET, "16M").open();
    assertEquals(16L << 20, other.statistic("shared_budget_bytes"));
    other.close();
  }

  @Test
  void storesOfAnInstanceAreOneMember() throws IOException {
    Instance first = instance(GROUP).open();
    BraidKeyValueStore other = new BraidKeyValueStore("other");
    other.init(first.context, other);
    assertEquals(1, first.statistic("shared_databases"));
    first.close();
    other.put(key("a"), bytes("1"));
    assertEquals(1, first.statistic("shared_databases"));
    other.close();
  }

  @Test
  void groupsOfOtherNamesAndInstancesWithoutOneHaveTheirOwn() throws IOException {
    Instance first = instance(GROUP).open();
    Instance second = instance("others").with(BraidConfig.MEMORY_BUDGET, "16M").open();
    Instance alone = instance(" ").open();
    assertEquals(1, first.statistic("shared_databases"));
    assertEquals(16L << 20, second.statistic("shared_budget_bytes"));
    assertEquals(0, alone.statistic("shared_databases"));
    assertEquals(0, alone.statistic("shared_budget_bytes"));
    first.close();
    second.close();
    alone.close();
  }

  @Test
  void instancesThatDisagreeAreRefusedAndTheOthersGoOn() throws IOException {
    Instance first = instance(GROUP).open();
    Instance wrong = instance(GROUP).with(BraidConfig.MEMORY_BUDGET, "64M");
    refused(wrong, GROUP, BraidConfig.SHARED_GROUP, "33554432", "67108864");
    refused(instance(GROUP).with(BraidConfig.MEMORY_BUDGET, null), "1073741824");
    refused(instance(GROUP).with(BraidConfig.SHARED_THREADS, 4), BraidConfig.SHARED_THREADS);
    first.fill(100);
    assertEquals(1, first.statistic("shared_databases"));
    wrong.with(BraidConfig.MEMORY_BUDGET, "32768K").open(); // the same in other words
    assertEquals(2, wrong.statistic("shared_databases"));
    wrong.close();
    first.close();
  }

  @Test
  void oneMoreThanTheBudgetHasRoomForIsRefused() throws IOException {
    List<Instance> open = new ArrayList<>();
    Instance next = null;
    for (int i = 0; i < 5; ++i) {
      next = instance(GROUP).with(BraidConfig.MEMORY_BUDGET, "4M")
          .with(BraidConfig.SET + "cache.lookup_bytes", "0");
      if (i < 4) {
        open.add(next.open());
      }
    }
    refused(next, BraidConfig.MEMORY_BUDGET, GROUP, "too small for 5 databases");
    assertEquals(4, open.get(0).statistic("shared_databases"));
    open.remove(3).close();
    next.open().fill(100);
    open.forEach(Instance::close);
    next.close();
    Instance other = instance(GROUP).open(); // nothing holds the group any more
    assertEquals(32L << 20, other.statistic("shared_budget_bytes"));
    other.close();
  }

  @Test
  void whatMakesNoSenseIsNamed() throws IOException {
    refused(instance(GROUP).with(BraidConfig.MEMORY_BUDGET, "much"), BraidConfig.MEMORY_BUDGET,
        "much", "512M");
    refused(instance(GROUP).with(BraidConfig.MEMORY_BUDGET, "99999999999G"), "99999999999G");
    refused(instance(GROUP).with(BraidConfig.MEMORY_BUDGET, "1000"), BraidConfig.MEMORY_BUDGET,
        "1048576");
    refused(instance(GROUP).with(BraidConfig.SHARED_THREADS, 2), BraidConfig.SHARED_THREADS, "3");
    refused(instance(GROUP).with(BraidConfig.SHARED_THREADS, "-1"), BraidConfig.SHARED_THREADS);
    refused(new Instance(folder()).with(BraidConfig.SHARED_THREADS, 3), BraidConfig.SHARED_GROUP);
  }

  private TopologyTestDriver driver(String application) throws IOException {
    StreamsBuilder builder = new StreamsBuilder();
    builder.<String, String>stream("words").groupByKey().count(Materialized.as("counts"))
        .toStream().to("counts");
    Properties configs = new Properties();
    configs.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
    configs.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, "none:1");
    configs.put(StreamsConfig.STATE_DIR_CONFIG, folder().getPath());
    configs.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.String().getClass());
    configs.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.String().getClass());
    configs.put(StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, BraidDslStoreSuppliers.class);
    configs.put(BraidConfig.SHARED_GROUP, GROUP);
    configs.put(BraidConfig.MEMORY_BUDGET, "48M");
    return new TopologyTestDriver(builder.build(), configs);
  }

  @Test
  void wholeTopologiesShareAndTheirMetricsShowTheWhole() throws IOException {
    try (TopologyTestDriver first = driver("first"); TopologyTestDriver second = driver("second")) {
      for (TopologyTestDriver driver : List.of(first, second)) {
        var words = driver.createInputTopic("words", new StringSerializer(), new StringSerializer());
        for (int i = 0; i < 100; ++i) {
          words.pipeInput("word" + i % 10, "");
        }
        assertEquals(10L, driver.getKeyValueStore("counts").get("word1"));
        Map<String, Object> pool = new HashMap<>();
        driver.metrics().forEach((name, metric) -> {
          if (name.group().equals(PoolMetrics.GROUP)) {
            pool.put(name.name(), metric.metricValue());
          }
        });
        assertEquals(2L, pool.get("shared-databases"));
        assertEquals(48L << 20, pool.get("shared-budget-bytes"));
        assertTrue((Long) pool.get("shared-memory-bytes") >= (Long) pool.get("memory-bytes"));
      }
    }
  }
}
