package org.apache.kafka.streams.state.internals;

import io.braid.kafka.BraidDslStoreSuppliers;
import java.time.Duration;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionStore;

/** What stands in for Kafka's suppliers of session stores, as StandInKeyValue. */
class StandInSessions implements SessionBytesStoreSupplier {
  private final SessionBytesStoreSupplier braid;

  StandInSessions(SessionBytesStoreSupplier braid) {
    this.braid = braid;
  }

  /** Of sessions that are emitted when they close. */
  static SessionBytesStoreSupplier emitted(String name, long retention, DslStoreFormat format) {
    return new BraidDslStoreSuppliers().sessionStore(new DslSessionParams(
        name, Duration.ofMillis(retention), EmitStrategy.onWindowClose(), format));
  }

  @Override
  public String name() {
    return braid.name();
  }

  @Override
  public SessionStore<Bytes, byte[]> get() {
    return braid.get();
  }

  @Override
  public String metricsScope() {
    return "rocksdb-session";
  }

  @Override
  public long segmentIntervalMs() {
    return braid.segmentIntervalMs();
  }

  @Override
  public long retentionPeriod() {
    return braid.retentionPeriod();
  }
}
