package org.apache.kafka.streams.state.internals;

import static java.time.Duration.ofMillis;

import io.braid.kafka.BraidStores;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;

/** In place of Kafka's: for sessions of values with headers. */
public class RocksDbSessionHeadersBytesStoreSupplier extends StandInSessions
    implements HeadersBytesStoreSupplier {
  public RocksDbSessionHeadersBytesStoreSupplier(String name, long retentionPeriod) {
    super(BraidStores.sessionStoreWithHeaders(name, ofMillis(retentionPeriod)));
  }
}
