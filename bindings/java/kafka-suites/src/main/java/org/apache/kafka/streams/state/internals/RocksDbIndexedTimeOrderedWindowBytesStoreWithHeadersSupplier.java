package org.apache.kafka.streams.state.internals;

import java.time.Duration;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;

/** In place of Kafka's: the same for values with timestamps and headers. */
public class RocksDbIndexedTimeOrderedWindowBytesStoreWithHeadersSupplier
    extends RocksDbIndexedTimeOrderedWindowBytesStoreSupplier implements HeadersBytesStoreSupplier {
  private RocksDbIndexedTimeOrderedWindowBytesStoreWithHeadersSupplier(
      String name, Duration retentionPeriod, Duration windowSize, boolean retainDuplicates) {
    super(name, retentionPeriod, windowSize, retainDuplicates, DslStoreFormat.HEADERS);
  }

  public static RocksDbIndexedTimeOrderedWindowBytesStoreWithHeadersSupplier create(String name,
      Duration retentionPeriod, Duration windowSize, boolean retainDuplicates, boolean hasIndex) {
    return new RocksDbIndexedTimeOrderedWindowBytesStoreWithHeadersSupplier(
        name, retentionPeriod, windowSize, retainDuplicates);
  }
}
