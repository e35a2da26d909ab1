package org.apache.kafka.streams.state.internals;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.time.Duration.ofMillis;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.braid.kafka.BraidStores;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Kafka's own suite for session stores. */
public class BraidSessionSuiteTest extends AbstractSessionBytesStoreTest {
  @Override
  <K, V> SessionStore<K, V> buildSessionStore(
      long retentionPeriod, Serde<K> keySerde, Serde<V> valueSerde) {
    return Stores.sessionStoreBuilder(
        BraidStores.sessionStore("braid session store", ofMillis(retentionPeriod)), keySerde,
        valueSerde).build();
  }

  /** It can find the sessions of a range of time, as the stores ordered by time. */
  @Override
  StoreType storeType() {
    return StoreType.RocksDBTimeOrderedSessionStoreWithIndex;
  }

  /** Kafka's own restores into a store that it has closed, which others take; this one is opened. */
  @Test
  @Override
  public void shouldRestore() {
    List<KeyValue<byte[], byte[]>> changelog = new ArrayList<>();
    List<KeyValue<Windowed<String>, Long>> expected = new ArrayList<>();
    for (long time : new long[] {0, 10, 100, 1000}) {
      changelog.add(KeyValue.pair(SessionKeySchema.toBinary(
          Bytes.wrap("a".getBytes(UTF_8)), time, time).get(),
          Serdes.Long().serializer().serialize(null, time + 1)));
      expected.add(KeyValue.pair(new Windowed<>("a", new SessionWindow(time, time)), time + 1));
    }
    context.restore(sessionStore.name(), changelog);
    try (KeyValueIterator<Windowed<String>, Long> found = sessionStore.fetch("a")) {
      List<KeyValue<Windowed<String>, Long>> restored = new ArrayList<>();
      found.forEachRemaining(restored::add);
      assertEquals(expected, restored);
    }
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
