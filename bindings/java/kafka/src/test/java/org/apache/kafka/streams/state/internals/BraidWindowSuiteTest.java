package org.apache.kafka.streams.state.internals;

import static java.time.Duration.ofMillis;

import io.braid.kafka.BraidStores;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.WindowStore;
import org.junit.jupiter.api.AfterEach;

/** Kafka's own suite for window stores. */
public class BraidWindowSuiteTest extends AbstractWindowBytesStoreTest {
  @Override
  <K, V> WindowStore<K, V> buildWindowStore(long retentionPeriod, long windowSize,
      boolean retainDuplicates, Serde<K> keySerde, Serde<V> valueSerde) {
    return Stores.windowStoreBuilder(BraidStores.windowStore("braid-window-store",
        ofMillis(retentionPeriod), ofMillis(windowSize), retainDuplicates), keySerde, valueSerde)
        .build();
  }

  /** A pool takes 64 MiB at first, and this is one for each test. */
  @AfterEach
  @Override
  public void after() {
    super.after();
    try {
      Utils.delete(context.stateDir());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
