package io.braid.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.BytesSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Key-value stores: what they give, and what of it is there after a commit, a close, a crash. */
class KeyValueStoreTest extends StoreCase {
  private static final TopicPartition CHANGELOG = new TopicPartition("changelog", 0);
  private static final TaskId TASK = new TaskId(0, 0);

  private static BraidKeyValueStore open(File states, boolean exactlyOnce) {
    BraidKeyValueStore store = new BraidKeyValueStore("store");
    store.init(new TestContext(states, TASK, exactlyOnce), store);
    return store;
  }

  private static void check(
      BraidKeyValueStore store, TreeMap<String, String> model, Random random, String seed) {
    String from = random.nextInt(4) == 0 ? null : "k" + random.nextInt(200);
    String to = random.nextInt(4) == 0 ? null : "k" + random.nextInt(200);
    NavigableMap<String, String> range = model;
    if (from != null && to != null && from.compareTo(to) > 0) {
      range = new TreeMap<>();
    } else {
      range = from == null ? range : range.tailMap(from, true);
      range = to == null ? range : range.headMap(to, true);
    }
    List<String> expected = new ArrayList<>();
    range.forEach((key, value) -> expected.add(key + "=" + value));
    assertEquals(expected, all(store.range(from == null ? null : key(from),
        to == null ? null : key(to))), seed);
    Collections.reverse(expected);
    assertEquals(expected, all(store.reverseRange(from == null ? null : key(from),
        to == null ? null : key(to))), seed);
    String prefix = "k" + random.nextInt(20);
    List<String> begins = new ArrayList<>();
    model.forEach((key, value) -> {
      if (key.startsWith(prefix)) {
        begins.add(key + "=" + value);
      }
    });
    assertEquals(begins, all(store.prefixScan(key(prefix), new BytesSerializer())), seed);
    assertEquals(model.size(), store.approximateNumEntries());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void itGivesWhatAMapGives(boolean exactlyOnce) throws IOException {
    long number = seed();
    Random random = new Random(number);
    String seed = "seed " + number;
    File states = folder();
    TreeMap<String, String> model = new TreeMap<>();
    TreeMap<String, String> committed = new TreeMap<>();
    BraidKeyValueStore store = open(states, exactlyOnce);
    long offset = -1;
    for (int i = 0; i < 6000; ++i) {
      String key = "k" + random.nextInt(200);
      String value = random.nextInt(10) == 0 ? "" : "v" + i;
      switch (random.nextInt(60)) {
        case 0:
          store.commit(Map.of(CHANGELOG, ++offset));
          committed = new TreeMap<>(model);
          break;
        case 1:
          store.close();
          store = open(states, exactlyOnce);
          if (exactlyOnce) {
            model = new TreeMap<>(committed);
          }
          Long known = store.committedOffset(CHANGELOG);
          assertEquals(offset < 0 ? (exactlyOnce ? Long.valueOf(-4) : null) : (Long) offset, known);
          break;
        case 2, 3, 4:
          check(store, model, random, seed);
          break;
        case 5:
          store.putAll(List.of(KeyValue.pair(key(key), bytes(value)),
              KeyValue.pair(key("k7"), null), KeyValue.pair(key("k8"), bytes("all"))));
          model.put(key, value);
          model.remove("k7");
          model.put("k8", "all");
          break;
        case 6, 7, 8:
          assertEquals(model.get(key), text(store.putIfAbsent(key(key), bytes(value))), seed);
          model.putIfAbsent(key, value);
          break;
        default:
          assertEquals(model.get(key), text(store.get(key(key))), seed);
          if (random.nextInt(3) == 0) {
            assertEquals(model.remove(key), text(store.delete(key(key))), seed);
          } else {
            store.put(key(key), bytes(value));
            model.put(key, value);
          }
      }
    }
    check(store, model, random, seed);
    store.close();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aCommitHasDataOffsetsAndPosition(boolean exactlyOnce) throws IOException {
    File states = folder();
    BraidKeyValueStore store = new BraidKeyValueStore("store");
    TestContext context = new TestContext(states, TASK, exactlyOnce);
    store.init(context, store);
    context.at("input", 0, 41);
    store.put(key("a"), bytes("1"));
    TopicPartition other = new TopicPartition("changelog", 1);
    store.commit(Map.of(CHANGELOG, 7L, other, 8L));
    store.close();

    store = open(states, exactlyOnce);
    assertEquals("1", text(store.get(key("a"))));
    assertEquals(7L, store.committedOffset(CHANGELOG));
    assertEquals(Map.of(0, 41L), store.getPosition().getPartitionPositions("input"));
    Map<TopicPartition, Long> one = new HashMap<>();
    one.put(other, null);
    store.commit(one);
    assertNull(store.committedOffset(other));
    assertEquals(7L, store.committedOffset(CHANGELOG));
    store.commit(Map.of());
    assertNull(store.committedOffset(CHANGELOG));
    store.close();
    store = open(states, exactlyOnce);
    assertNull(store.committedOffset(CHANGELOG));
    store.close();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aRestoreGoesOnWhereItsLastBatchEnded(boolean exactlyOnce) throws IOException {
    File states = folder();
    BraidKeyValueStore store = new BraidKeyValueStore("store");
    TestContext context = new TestContext(states, TASK, exactlyOnce);
    store.init(context, store);
    context.restore(List.of(TestContext.changed(3, bytes("a"), bytes("1")),
        TestContext.changed(4, bytes("b"), bytes("2")),
        TestContext.changed(9, bytes("a"), null)));
    store.close(); // no commit

    store = open(states, exactlyOnce);
    assertEquals(List.of("b=2"), all(store.all()));
    assertEquals(9L, store.committedOffset(CHANGELOG));
    store.close();
  }

  @Test
  void anIteratorSeesNoCommitHappen() throws IOException {
    BraidKeyValueStore store = open(folder(), true);
    store.put(key("a"), bytes("1"));
    store.commit(Map.of(CHANGELOG, 1L));
    store.put(key("b"), bytes("2"));
    try (KeyValueIterator<org.apache.kafka.common.utils.Bytes, byte[]> iterator = store.all()) {
      assertEquals("a", text(iterator.next().key));
      store.commit(Map.of(CHANGELOG, 2L));
      store.put(key("c"), bytes("3"));
      assertEquals("b", text(iterator.next().key));
    }
    store.close();
  }

  @Test
  void whatIsClosedSaysSo() throws IOException {
    BraidKeyValueStore store = open(folder(), true);
    store.put(key("a"), bytes("1"));
    KeyValueIterator<org.apache.kafka.common.utils.Bytes, byte[]> left = store.all();
    assertTrue(store.isOpen());
    store.close();
    store.close();
    assertFalse(store.isOpen());
    assertThrows(InvalidStateStoreException.class, left::hasNext);
    assertThrows(InvalidStateStoreException.class, () -> store.get(key("a")));
    assertThrows(InvalidStateStoreException.class, () -> store.put(key("a"), bytes("2")));
    assertThrows(InvalidStateStoreException.class, store::all);
    assertThrows(InvalidStateStoreException.class, () -> store.commit(Map.of()));
    left.close();
  }
}
