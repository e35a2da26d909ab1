package org.apache.kafka.streams.state.internals;

import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;

/** In place of Kafka's: the same for values with headers. */
public class RocksDbTimeOrderedSessionHeadersBytesStoreSupplier extends StandInSessions
    implements HeadersBytesStoreSupplier {
  public RocksDbTimeOrderedSessionHeadersBytesStoreSupplier(
      String name, long retentionPeriod, boolean withIndex) {
    super(emitted(name, retentionPeriod, DslStoreFormat.HEADERS));
  }
}
