package org.apache.kafka.streams.state.internals;

import io.braid.kafka.BraidStores;

/** In place of Kafka's: for stores of values, and of values with timestamps. */
public class RocksDBKeyValueBytesStoreSupplier extends StandInKeyValue {
  public RocksDBKeyValueBytesStoreSupplier(String name, boolean returnTimestampedStore) {
    super(returnTimestampedStore
        ? BraidStores.timestampedKeyValueStore(name) : BraidStores.keyValueStore(name));
  }
}
