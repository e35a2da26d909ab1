package org.apache.kafka.streams.processor.internals;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import io.braid.kafka.BraidConfig;
import io.braid.kafka.BraidStores;
import java.io.File;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.Task.TaskType;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.internals.ThreadCache;
import org.apache.kafka.test.StreamsTestUtils;
import org.apache.kafka.test.TestUtils;
import org.junit.jupiter.api.Test;

/**
 * What Kafka Streams' own state manager makes of a store that was not closed well, with exactly-once:
 * it must neither take the task for corrupted nor restore more than the tail.
 */
class BraidTaskRestartTest {
  private static final TaskId TASK = new TaskId(0, 0);
  private static final TopicPartition CHANGELOG = new TopicPartition("changelog", 0);

  private final File states = TestUtils.tempDirectory("braid-restart");
  private KeyValueStore<Bytes, byte[]> store;
  private double commits; // what the thread's metric says
  private ProcessorContextImpl context;

  /** A task with one store, as a thread begins it: TaskCorruptedException where it must be wiped. */
  private ProcessorStateManager begin() {
    Properties configs = StreamsTestUtils.getStreamsConfig("restart", "none:1",
        "org.apache.kafka.common.serialization.Serdes$ByteArraySerde",
        "org.apache.kafka.common.serialization.Serdes$ByteArraySerde", new Properties());
    configs.put(StreamsConfig.STATE_DIR_CONFIG, states.getPath());
    configs.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    configs.put(BraidConfig.MEMORY_BUDGET, "32M");
    StreamsConfig config = new StreamsConfig(configs);
    StateDirectory directory = new StateDirectory(config, Time.SYSTEM, true, false);
    ProcessorStateManager manager = new ProcessorStateManager(TASK, TaskType.ACTIVE, true,
        new LogContext(), directory, Map.of("store", "changelog"), Set.of());
    Metrics registry = new Metrics();
    registry.addMetric(registry.metricName("commit-total", "stream-thread-metrics", "",
        Map.of("thread-id", Thread.currentThread().getName())), (ignored, now) -> commits);
    StreamsMetricsImpl metrics = new StreamsMetricsImpl(registry, "client", Time.SYSTEM);
    context = new ProcessorContextImpl(
        TASK, config, manager, metrics, new ThreadCache(new LogContext(), 0, metrics));
    boolean empty = directory.directoryForTaskIsEmpty(TASK);
    store = BraidStores.keyValueStore("store").get();
    manager.registerStateStores(List.of(store), context);
    manager.initializeStoreOffsets(empty);
    return manager;
  }

  private static Bytes key(String text) {
    return Bytes.wrap(text.getBytes());
  }

  @Test
  void onlyTheTailIsRestored() {
    ProcessorStateManager manager = begin();
    assertEquals(Map.of(CHANGELOG, 0L), manager.changelogOffsets());
    store.put(key("a"), new byte[] {1});
    manager.updateChangelogOffsets(Map.of(CHANGELOG, 41L));
    manager.commit();
    store.put(key("a"), new byte[] {2});
    store.put(key("b"), new byte[] {3});
    store.close(); // drops what was not committed, as the end of the process does

    manager = begin();
    assertEquals(Map.of(CHANGELOG, 42L), manager.changelogOffsets());
    assertEquals(1, store.get(key("a"))[0]);
    assertNull(store.get(key("b")));
    manager.close();
  }

  /** Kafka Streams does not call commit after a transaction: the next write must find it out. */
  @Test
  void aCommittedTransactionIsKept() {
    ProcessorStateManager manager = begin();
    RecordCollector collector = mock(RecordCollector.class);
    context.transitionToActive(null, collector, new ThreadCache(new LogContext(), 0, null));
    store.put(key("a"), new byte[] {1});
    store.put(key("b"), new byte[] {1});
    when(collector.offsets()).thenReturn(Map.of(CHANGELOG, 41L));
    ++commits;
    store.put(key("b"), new byte[] {2});
    when(collector.offsets()).thenReturn(Map.of(CHANGELOG, 42L));
    assertEquals(2, store.get(key("b"))[0]);
    store.close();

    manager = begin();
    assertEquals(Map.of(CHANGELOG, 42L), manager.changelogOffsets());
    assertEquals(1, store.get(key("a"))[0]);
    assertEquals(1, store.get(key("b"))[0]);
    manager.close();
  }

  @Test
  void aTaskThatNeverCommittedIsNotCorrupted() {
    begin();
    store.put(key("a"), new byte[] {1});
    store.close();
    ProcessorStateManager manager = begin();
    assertEquals(Map.of(CHANGELOG, 0L), manager.changelogOffsets());
    assertNull(store.get(key("a")));
    manager.close();
  }
}
