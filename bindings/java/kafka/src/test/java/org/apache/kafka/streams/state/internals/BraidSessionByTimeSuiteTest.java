package org.apache.kafka.streams.state.internals;

import static java.time.Duration.ofMillis;

import io.braid.kafka.BraidDslStoreSuppliers;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;

/** The same for the store of sessions that are emitted when they close. */
public class BraidSessionByTimeSuiteTest extends BraidSessionSuiteTest {
  @Override
  <K, V> SessionStore<K, V> buildSessionStore(
      long retentionPeriod, Serde<K> keySerde, Serde<V> valueSerde) {
    return Stores.sessionStoreBuilder(new BraidDslStoreSuppliers().sessionStore(
        new DslSessionParams("braid session store", ofMillis(retentionPeriod),
            EmitStrategy.onWindowClose(), DslStoreFormat.PLAIN)), keySerde, valueSerde).build();
  }
}
