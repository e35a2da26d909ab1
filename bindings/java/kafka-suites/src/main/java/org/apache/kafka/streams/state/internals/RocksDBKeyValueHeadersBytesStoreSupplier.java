package org.apache.kafka.streams.state.internals;

import io.braid.kafka.BraidStores;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;

/** In place of Kafka's: for stores of values with timestamps and headers. */
public class RocksDBKeyValueHeadersBytesStoreSupplier extends StandInKeyValue
    implements HeadersBytesStoreSupplier {
  public RocksDBKeyValueHeadersBytesStoreSupplier(String name) {
    super(BraidStores.timestampedKeyValueStoreWithHeaders(name));
  }
}
