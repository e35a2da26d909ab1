package org.apache.kafka.streams.state.internals;

import io.braid.kafka.BraidStores;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.AfterEach;

/** Kafka's own suite for key-value stores. */
public class BraidKeyValueSuiteTest extends AbstractKeyValueStoreTest {
  @Override
  @SuppressWarnings("unchecked")
  protected <K, V> KeyValueStore<K, V> createKeyValueStore(StateStoreContext context) {
    KeyValueStore<K, V> made = Stores.keyValueStoreBuilder(BraidStores.keyValueStore("my-store"),
        (Serde<K>) context.keySerde(), (Serde<V>) context.valueSerde()).build();
    made.init(context, made);
    return made;
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
