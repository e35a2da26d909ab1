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
  @Override
  public KeyValueBytesStoreSupplier keyValueStore(DslKeyValueParams params) {
    return switch (params.dslStoreFormat()) {
      case HEADERS -> BraidStores.timestampedKeyValueStoreWithHeaders(params.name());
      case TIMESTAMPED -> BraidStores.timestampedKeyValueStore(params.name());
      case PLAIN -> BraidStores.keyValueStore(params.name());
    };
  }

  @Override
  public WindowBytesStoreSupplier windowStore(DslWindowParams params) {
    DslStoreFormat format = params.dslStoreFormat();
    return switch (format == null ? DslStoreFormat.TIMESTAMPED : format) {
      case HEADERS -> BraidStores.timestampedWindowStoreWithHeaders(params.name(),
          params.retentionPeriod(), params.windowSize(), params.retainDuplicates());
      case TIMESTAMPED -> BraidStores.timestampedWindowStore(params.name(),
          params.retentionPeriod(), params.windowSize(), params.retainDuplicates());
      case PLAIN -> BraidStores.windowStore(params.name(), params.retentionPeriod(),
          params.windowSize(), params.retainDuplicates());
    };
  }

  @Override
  public SessionBytesStoreSupplier sessionStore(DslSessionParams params) {
    return params.storeFormat() == DslStoreFormat.HEADERS
        ? BraidStores.sessionStoreWithHeaders(params.name(), params.retentionPeriod())
        : BraidStores.sessionStore(params.name(), params.retentionPeriod());
  }
}
