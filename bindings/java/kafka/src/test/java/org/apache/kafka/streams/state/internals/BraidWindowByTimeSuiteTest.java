package org.apache.kafka.streams.state.internals;

import static java.time.Duration.ofMillis;

import io.braid.kafka.BraidDslStoreSuppliers;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.state.DslWindowParams;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;

/** The same for the store of windows that are emitted when they close. */
public class BraidWindowByTimeSuiteTest extends BraidWindowSuiteTest {
  @Override
  <K, V> WindowStore<K, V> buildWindowStore(long retentionPeriod, long windowSize,
      boolean retainDuplicates, Serde<K> keySerde, Serde<V> valueSerde) {
    return Stores.windowStoreBuilder(new BraidDslStoreSuppliers().windowStore(
        new DslWindowParams("braid-window-store", ofMillis(retentionPeriod), ofMillis(windowSize),
            retainDuplicates, EmitStrategy.onWindowClose(), false, DslStoreFormat.PLAIN)),
        keySerde, valueSerde).build();
  }
}
