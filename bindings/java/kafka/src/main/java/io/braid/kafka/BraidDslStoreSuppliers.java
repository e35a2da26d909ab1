package io.braid.kafka;

import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.kstream.EmitStrategy;
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

  /** Results that are emitted when their window closes are found by their time, again and again. */
  private static Timeline.Order order(EmitStrategy emit) {
    return emit.type() == EmitStrategy.StrategyType.ON_WINDOW_CLOSE ? Timeline.Order.BY_TIME_TOO
        : Timeline.Order.BY_KEY;
  }

  @Override
  public WindowBytesStoreSupplier windowStore(DslWindowParams params) {
    DslStoreFormat format = params.dslStoreFormat();
    return BraidStores.windows(format == null ? DslStoreFormat.TIMESTAMPED : format,
        BraidStores.shape(params.name(), params.retentionPeriod(), params.windowSize(),
            params.retainDuplicates()).in(order(params.emitStrategy())));
  }

  @Override
  public SessionBytesStoreSupplier sessionStore(DslSessionParams params) {
    return BraidStores.sessions(params.storeFormat(),
        BraidStores.shape(params.name(), params.retentionPeriod())
            .in(order(params.emitStrategy())));
  }
}
