package io.braid.kafka;

import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.DslWindowParams;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/**
 * Makes braid the store of all tables, aggregations and joins of a topology that name no store of
 * their own: {@code dsl.store.suppliers.class=io.braid.kafka.BraidDslStoreSuppliers}.
 */
public final class BraidDslStoreSuppliers implements DslStoreSuppliers {
  /** Kafka Streams adapts a store of timestamps to values with headers, which it then drops. */
  private static boolean isTimestamped(DslStoreFormat format) {
    return format != DslStoreFormat.PLAIN;
  }

  @Override
  public KeyValueBytesStoreSupplier keyValueStore(DslKeyValueParams params) {
    return isTimestamped(params.dslStoreFormat())
        ? BraidStores.timestampedKeyValueStore(params.name())
        : BraidStores.keyValueStore(params.name());
  }

  @Override
  public WindowBytesStoreSupplier windowStore(DslWindowParams params) {
    return isTimestamped(params.dslStoreFormat())
        ? BraidStores.timestampedWindowStore(params.name(), params.retentionPeriod(),
            params.windowSize(), params.retainDuplicates())
        : BraidStores.windowStore(params.name(), params.retentionPeriod(), params.windowSize(),
            params.retainDuplicates());
  }

  @Override
  public SessionBytesStoreSupplier sessionStore(DslSessionParams params) {
    return BraidStores.sessionStore(params.name(), params.retentionPeriod());
  }
}
