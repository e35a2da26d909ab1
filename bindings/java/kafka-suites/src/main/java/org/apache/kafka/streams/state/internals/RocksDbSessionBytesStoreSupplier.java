package org.apache.kafka.streams.state.internals;

import static java.time.Duration.ofMillis;

import io.braid.kafka.BraidStores;

/** In place of Kafka's: for sessions. */
public class RocksDbSessionBytesStoreSupplier extends StandInSessions {
  public RocksDbSessionBytesStoreSupplier(String name, long retentionPeriod) {
    super(BraidStores.sessionStore(name, ofMillis(retentionPeriod)));
  }
}
