package org.apache.kafka.streams.state.internals;

import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * What stands in for Kafka's suppliers of key-value stores. All says what Kafka's would, also the
 * scope by which Kafka Streams names its metrics of a store and tests find them; but stores are
 * braid's.
 */
class StandInKeyValue implements KeyValueBytesStoreSupplier {
  private final KeyValueBytesStoreSupplier braid;

  StandInKeyValue(KeyValueBytesStoreSupplier braid) {
    this.braid = braid;
  }

  @Override
  public String name() {
    return braid.name();
  }

  @Override
  public KeyValueStore<Bytes, byte[]> get() {
    return braid.get();
  }

  @Override
  public String metricsScope() {
    return "rocksdb";
  }
}
