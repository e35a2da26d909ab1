package org.apache.kafka.streams.state.internals;

import io.braid.kafka.BraidDslStoreSuppliers;
import java.time.Duration;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.state.DslWindowParams;

/**
 * In place of Kafka's: for windows that are emitted when they close. Braid's store finds them by key
 * as well in any case, which Kafka's does with an index only.
 */
public class RocksDbIndexedTimeOrderedWindowBytesStoreSupplier extends StandInWindows {
  RocksDbIndexedTimeOrderedWindowBytesStoreSupplier(String name, Duration retentionPeriod,
      Duration windowSize, boolean retainDuplicates, DslStoreFormat format) {
    super(new BraidDslStoreSuppliers().windowStore(new DslWindowParams(name, retentionPeriod,
        windowSize, retainDuplicates, EmitStrategy.onWindowClose(), false, format)));
  }

  public static RocksDbIndexedTimeOrderedWindowBytesStoreSupplier create(String name,
      Duration retentionPeriod, Duration windowSize, boolean retainDuplicates, boolean hasIndex) {
    return new RocksDbIndexedTimeOrderedWindowBytesStoreSupplier(
        name, retentionPeriod, windowSize, retainDuplicates, DslStoreFormat.TIMESTAMPED);
  }
}
