package io.braid.kafka;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Sensor;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Window;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.kstream.internals.TimeWindow;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.ChangelogRecordDeserializationHelper;
import org.apache.kafka.streams.processor.internals.InternalProcessorContext;
import org.apache.kafka.streams.processor.internals.ProcessorContextUtils;
import org.apache.kafka.streams.processor.internals.RecordBatchingStateRestoreCallback;
import org.apache.kafka.streams.processor.internals.RecordCollector;
import org.apache.kafka.streams.processor.internals.metrics.StreamsMetricsImpl;
import org.apache.kafka.streams.processor.internals.metrics.TaskMetrics;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.internals.OffsetCheckpoint;
import org.apache.kafka.streams.state.internals.PositionSerde;
import org.apache.kafka.streams.state.internals.StoreQueryUtils;
import org.apache.kafka.streams.state.internals.VersionedKeyValueToBytesStoreAdapter;

/**
 * Every use of what Kafka Streams does not promise to keep (its packages "internals"), so that
 * another version of it is a change of this file. A store can't do without: records of a restore
 * with their offsets, positions, and the queries and sensors that its own stores have.
 */
final class Internals {
  /** A committed offset that says: all of the changelog is still to be read. */
  static final long OFFSET_UNKNOWN = OffsetCheckpoint.OFFSET_UNKNOWN;

  private Internals() {}

  static void register(StateStoreContext context, StateStore root,
      Consumer<Collection<ConsumerRecord<byte[], byte[]>>> restore) {
    context.register(root, (RecordBatchingStateRestoreCallback) restore::accept);
  }

  static boolean consistencyEnabled(StateStoreContext context) {
    return StreamsConfig.InternalConfig.getBoolean(context.appConfigs(),
        StreamsConfig.InternalConfig.IQ_CONSISTENCY_OFFSET_VECTOR_ENABLED, false);
  }

  static void restored(
      ConsumerRecord<byte[], byte[]> record, boolean consistencyEnabled, Position position) {
    ChangelogRecordDeserializationHelper.applyChecksAndUpdatePosition(
        record, consistencyEnabled, position);
  }

  static void updatePosition(Position position, StateStoreContext context) {
    StoreQueryUtils.updatePosition(position, context);
  }

  static boolean isPermitted(Position position, PositionBound bound, int partition) {
    return StoreQueryUtils.isPermitted(position, bound, partition);
  }

  static <R> QueryResult<R> query(Query<R> query, PositionBound bound, QueryConfig config,
      StateStore store, Position position, StateStoreContext context) {
    return StoreQueryUtils.handleBasicQueries(query, bound, config, store, position, context);
  }

  static byte[] bytesOf(Position position) {
    ByteBuffer buffer = PositionSerde.serialize(position);
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  static Position positionOf(byte[] bytes) {
    return PositionSerde.deserialize(ByteBuffer.wrap(bytes));
  }

  /** Counts a record that came too late for its store. */
  static Runnable droppedRecords(StateStoreContext context) {
    if (!(context instanceof InternalProcessorContext)) {
      return () -> {};
    }
    InternalProcessorContext<?, ?> internal = (InternalProcessorContext<?, ?>) context;
    Sensor sensor = TaskMetrics.droppedRecordsSensor(Thread.currentThread().getName(),
        context.taskId().toString(), ProcessorContextUtils.metricsImpl(context));
    return () -> sensor.record(1.0d, internal.currentSystemTimeMs());
  }

  /** Shows a number of the store among its metrics, which Kafka Streams removes at the close. */
  static void gauge(StateStoreContext context, String store, String name, String description,
      LongSupplier value) {
    if (context.metrics() instanceof StreamsMetricsImpl) {
      ((StreamsMetricsImpl) context.metrics()).addStoreLevelMutableMetric(
          context.taskId().toString(), BraidStores.METRICS_SCOPE, store, name, description,
          Sensor.RecordingLevel.INFO, (config, now) -> value.getAsLong());
    }
  }

  /** The metrics of the instance; null: it has none of this kind. */
  static Metrics registry(StateStoreContext context) {
    return context.metrics() instanceof StreamsMetricsImpl
        ? ((StreamsMetricsImpl) context.metrics()).metricsRegistry() : null;
  }

  /** Asks for a commit as soon as the record at hand is done. */
  static void requestCommit(StateStoreContext context) {
    if (context instanceof InternalProcessorContext) {
      ((InternalProcessorContext<?, ?>) context).commit();
    }
  }

  /**
   * How many commits of the calling thread are done. Kafka Streams 4.3 does not tell a store that a
   * transaction is committed, but for the last one before it closes the store; the thread that writes
   * to the store counts them. Always 0 where no thread of Kafka Streams calls.
   */
  static LongSupplier commits(StateStoreContext context) {
    Metric count = context.metrics().metrics().get(new MetricName("commit-total",
        "stream-thread-metrics", "", Map.of("thread-id", Thread.currentThread().getName())));
    return count == null ? () -> 0 : () -> ((Number) count.metricValue()).longValue();
  }

  /** The store's changelog and the last offset in it that this task has written; else nothing. */
  static Map<TopicPartition, Long> written(StateStoreContext context, String store) {
    if (!(context instanceof RecordCollector.Supplier)) {
      return Map.of();
    }
    RecordCollector collector = ((RecordCollector.Supplier) context).recordCollector();
    String topic = ((InternalProcessorContext<?, ?>) context).changelogFor(store);
    if (collector == null || topic == null) {
      return Map.of();
    }
    TopicPartition changelog = new TopicPartition(topic, context.taskId().partition());
    Long offset = collector.offsets().get(changelog);
    return offset == null ? Map.of() : Map.of(changelog, offset);
  }

  static Window timeWindow(long start, long size) {
    long end = start + size;
    return new TimeWindow(start, end < 0 ? Long.MAX_VALUE : end);
  }

  static Window sessionWindow(long start, long end) {
    return new SessionWindow(start, end);
  }

  static KeyValueStore<Bytes, byte[]> asBytesStore(VersionedKeyValueStore<Bytes, byte[]> store) {
    return new VersionedKeyValueToBytesStoreAdapter(store);
  }
}
