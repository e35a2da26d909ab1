package io.braid.kafka;

import java.io.File;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.MockTime;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.StreamsMetrics;
import org.apache.kafka.streams.processor.CommitCallback;
import org.apache.kafka.streams.processor.StateRestoreCallback;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.processor.internals.RecordBatchingStateRestoreCallback;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;

/** What a task tells its stores, with a folder and a configuration of the test's own. */
final class TestContext implements StateStoreContext {
  private final File states;
  private final TaskId task;
  private final Map<String, Object> configs = new HashMap<>();
  private RecordBatchingStateRestoreCallback restore;
  private RecordMetadata record;

  TestContext(File states, TaskId task, boolean exactlyOnce) {
    this.states = states;
    this.task = task;
    configs.put(StreamsConfig.STATE_DIR_CONFIG, states.getPath());
    configs.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG,
        exactlyOnce ? StreamsConfig.EXACTLY_ONCE_V2 : StreamsConfig.AT_LEAST_ONCE);
    configs.put(BraidConfig.MEMORY_BUDGET, "32M");
    configs.put(BraidConfig.SET + "memtable.bytes", "256K");
  }

  TestContext with(String name, Object value) {
    configs.put(name, value);
    return this;
  }

  /** The record at hand is this one. */
  void at(String topic, int partition, long offset) {
    record = new RecordMetadata() {
      @Override
      public String topic() {
        return topic;
      }

      @Override
      public int partition() {
        return partition;
      }

      @Override
      public long offset() {
        return offset;
      }
    };
  }

  void restore(List<ConsumerRecord<byte[], byte[]>> records) {
    restore.restoreBatch(records);
  }

  @Override
  public String applicationId() {
    Object named = configs.get(StreamsConfig.APPLICATION_ID_CONFIG);
    return named == null ? "application" : named.toString();
  }

  @Override
  public TaskId taskId() {
    return task;
  }

  @Override
  public Optional<RecordMetadata> recordMetadata() {
    return Optional.ofNullable(record);
  }

  @Override
  public Serde<?> keySerde() {
    return Serdes.Bytes();
  }

  @Override
  public Serde<?> valueSerde() {
    return Serdes.ByteArray();
  }

  @Override
  public File stateDir() {
    File folder = new File(new File(states, applicationId()), task.toString());
    folder.mkdirs();
    return folder;
  }

  @Override
  public StreamsMetrics metrics() {
    return new StreamsMetricsImpl(new Metrics(), "test", new MockTime());
  }

  @Override
  public void register(StateStore store, StateRestoreCallback callback) {
    restore = (RecordBatchingStateRestoreCallback) callback;
  }

  @Override
  public void register(StateStore store, StateRestoreCallback callback, CommitCallback commit) {
    register(store, callback);
  }

  @Override
  public Map<String, Object> appConfigs() {
    return configs;
  }

  @Override
  public Map<String, Object> appConfigsWithPrefix(String prefix) {
    Map<String, Object> found = new HashMap<>();
    configs.forEach((name, value) -> {
      if (name.startsWith(prefix)) {
        found.put(name.substring(prefix.length()), value);
      }
    });
    return found;
  }

  static ConsumerRecord<byte[], byte[]> changed(long offset, byte[] key, byte[] value) {
    return new ConsumerRecord<>("changelog", 0, offset, key, value);
  }

}
