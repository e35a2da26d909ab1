package org.apache.kafka.streams.state.internals;

import static java.time.Duration.ofMillis;

import io.braid.kafka.BraidStores;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;

/** In place of Kafka's: for windows of values, and of values with timestamps. */
public class RocksDbWindowBytesStoreSupplier extends StandInWindows {
  /** What windows hold; Kafka's Stores names it. */
  public enum WindowStoreTypes {
    DEFAULT_WINDOW_STORE,
    TIMESTAMPED_WINDOW_STORE,
    TIMESTAMPED_WINDOW_STORE_WITH_HEADERS
  }

  public RocksDbWindowBytesStoreSupplier(String name, long retentionPeriod, long segmentInterval,
      long windowSize, boolean retainDuplicates, WindowStoreTypes windowStoreType) {
    super(with(segmentInterval,
        braid(name, retentionPeriod, windowSize, retainDuplicates, windowStoreType)));
  }

  private static WindowBytesStoreSupplier braid(String name, long retention, long size,
      boolean retainDuplicates, WindowStoreTypes type) {
    return switch (type) {
      case DEFAULT_WINDOW_STORE ->
          BraidStores.windowStore(name, ofMillis(retention), ofMillis(size), retainDuplicates);
      case TIMESTAMPED_WINDOW_STORE -> BraidStores.timestampedWindowStore(
          name, ofMillis(retention), ofMillis(size), retainDuplicates);
      case TIMESTAMPED_WINDOW_STORE_WITH_HEADERS -> BraidStores.timestampedWindowStoreWithHeaders(
          name, ofMillis(retention), ofMillis(size), retainDuplicates);
    };
  }
}
