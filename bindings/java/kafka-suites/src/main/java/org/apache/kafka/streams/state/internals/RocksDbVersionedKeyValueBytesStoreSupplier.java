package org.apache.kafka.streams.state.internals;

import static java.time.Duration.ofMillis;

import io.braid.kafka.BraidStores;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;

/** In place of Kafka's: for stores of versions. */
public class RocksDbVersionedKeyValueBytesStoreSupplier extends StandInKeyValue
    implements VersionedBytesStoreSupplier {
  private final long historyRetention;

  public RocksDbVersionedKeyValueBytesStoreSupplier(String name, long historyRetentionMs) {
    super(BraidStores.versionedKeyValueStore(name, ofMillis(historyRetentionMs)));
    historyRetention = historyRetentionMs;
  }

  public RocksDbVersionedKeyValueBytesStoreSupplier(
      String name, long historyRetentionMs, long segmentIntervalMs) {
    super(BraidStores.versionedKeyValueStore(
        name, ofMillis(historyRetentionMs), ofMillis(segmentIntervalMs)));
    historyRetention = historyRetentionMs;
  }

  @Override
  public long historyRetentionMs() {
    return historyRetention;
  }
}
