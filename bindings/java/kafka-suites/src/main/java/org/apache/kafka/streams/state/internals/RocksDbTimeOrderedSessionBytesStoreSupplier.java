package org.apache.kafka.streams.state.internals;

import org.apache.kafka.streams.DslStoreFormat;

/** In place of Kafka's: for sessions that are emitted when they close. */
public class RocksDbTimeOrderedSessionBytesStoreSupplier extends StandInSessions {
  public RocksDbTimeOrderedSessionBytesStoreSupplier(
      String name, long retentionPeriod, boolean withIndex) {
    super(emitted(name, retentionPeriod, DslStoreFormat.PLAIN));
  }
}
