package io.braid.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Window and session stores against maps, over commits and reopens, with keys that begin alike. */
class WindowStoreTest extends StoreCase {
  private static final TopicPartition CHANGELOG = new TopicPartition("changelog", 0);
  private static final long RETENTION = 5_000;
  private static final long SEGMENT = 1_000;

  /** Keys of which some begin with others, also where bytes of a time may follow. */
  private static String someKey(Random random) {
    String[] ends = {"", "\0", "\0\0\0\0\0\0\0\0\0\0\0\0", "\u007f\u00ff", "b"};
    return "k" + random.nextInt(3) + ends[random.nextInt(ends.length)];
  }

  private static TestContext context(File states, boolean exactlyOnce) {
    return new TestContext(states, new TaskId(0, 0), exactlyOnce);
  }

  private static BraidWindowStore openWindows(
      File states, boolean exactlyOnce, boolean duplicates, Timeline.Order order) {
    BraidWindowStore store = new BraidWindowStore(
        new BraidWindowStore.Shape("windows", RETENTION, SEGMENT, 10, duplicates, order));
    store.init(context(states, exactlyOnce), store);
    return store;
  }

  private static BraidSessionStore openSessions(
      File states, boolean exactlyOnce, Timeline.Order order) {
    BraidSessionStore store = new BraidSessionStore(
        new BraidSessionStore.Shape("sessions", RETENTION, SEGMENT, order));
    store.init(context(states, exactlyOnce), store);
    return store;
  }

  /** Each guarantee with each order of keys. */
  static List<Arguments> modes() {
    return Stream.of(Timeline.Order.values()).flatMap(order ->
        Stream.of(arguments(false, order), arguments(true, order))).toList();
  }

  private record Entry(String key, long start, long end, String value) {
    @Override
    public String toString() {
      return key + "@" + start + "-" + end + "=" + value;
    }
  }

  private static List<String> sorted(List<Entry> entries) {
    return entries.stream().map(Entry::toString).sorted().toList();
  }

  private static List<Entry> windows(KeyValueIterator<Windowed<Bytes>, byte[]> iterator) {
    List<Entry> found = new ArrayList<>();
    try (iterator) {
      while (iterator.hasNext()) {
        Windowed<Bytes> peeked = iterator.peekNextKey();
        KeyValue<Windowed<Bytes>, byte[]> entry = iterator.next();
        assertEquals(peeked, entry.key);
        found.add(new Entry(text(entry.key.key()), entry.key.window().start(),
            entry.key.window().end(), text(entry.value)));
      }
    }
    return found;
  }

  private static List<Entry> times(String key, WindowStoreIterator<byte[]> iterator) {
    List<Entry> found = new ArrayList<>();
    try (iterator) {
      iterator.forEachRemaining(entry ->
          found.add(new Entry(key, entry.key, entry.key + 10, text(entry.value))));
    }
    return found;
  }

  private static List<Entry> of(TreeMap<String, Entry> model, long earliest, Predicate<Entry> wanted) {
    return model.values().stream()
        .filter(entry -> entry.end() >= earliest && wanted.test(entry)).toList();
  }

  private static List<Entry> of(List<Entry> list, long earliest) {
    return list.stream().filter(entry -> entry.end() >= earliest).toList();
  }

  private static <T> List<T> backward(List<T> list) {
    List<T> other = new ArrayList<>(list);
    java.util.Collections.reverse(other);
    return other;
  }

  @ParameterizedTest
  @MethodSource("modes")
  void windowsAreWhatAMapSays(boolean exactlyOnce, Timeline.Order order) throws IOException {
    long number = seed();
    Random random = new Random(number);
    String seed = "seed " + number;
    File states = folder();
    TreeMap<String, Entry> model = new TreeMap<>();
    BraidWindowStore store = openWindows(states, exactlyOnce, false, order);
    long now = 0;
    long highest = -1;
    long shown = order == Timeline.Order.BY_TIME_TOO ? RETENTION + 1 : RETENTION;
    for (int i = 0; i < 4000; ++i) {
      now += random.nextInt(8);
      String key = someKey(random);
      long time = Math.max(0, now - random.nextInt(random.nextInt(10) == 0 ? 8000 : 1000));
      long earliest = highest - shown + 1;
      switch (random.nextInt(12)) {
        case 0:
          store.commit(Map.of(CHANGELOG, (long) i));
          if (random.nextInt(4) == 0) {
            store.close();
            store = openWindows(states, exactlyOnce, false, order);
          }
          break;
        case 1, 2:
          long from = Math.max(0, time - random.nextInt(3000));
          Predicate<Entry> at = entry -> entry.start() >= from && entry.start() <= time;
          List<Entry> one = times(key, store.fetch(key(key), from, time));
          assertEquals(sorted(of(model, earliest + 10, at.and(e -> e.key().equals(key)))),
              sorted(one), seed);
          assertEquals(backward(one), times(key, store.backwardFetch(key(key), from, time)), seed);
          String to = key + (random.nextBoolean() ? "" : "z");
          String begin = random.nextInt(3) == 0 ? null : "k" + random.nextInt(3);
          if (begin == null || begin.compareTo(to) <= 0) {
            List<Entry> range = windows(store.fetch(
                begin == null ? null : key(begin), key(to), from, time));
            assertEquals(sorted(of(model, earliest + 10, at.and(e ->
                (begin == null || e.key().compareTo(begin) >= 0) && e.key().compareTo(to) <= 0))),
                sorted(range), seed);
            assertEquals(backward(range), windows(store.backwardFetch(
                begin == null ? null : key(begin), key(to), from, time)), seed);
          }
          List<Entry> between = windows(store.fetchAll(from, time));
          assertEquals(backward(between), windows(store.backwardFetchAll(from, time)), seed);
          between = of(between, earliest + 10); // one to be emitted may be older
          assertEquals(sorted(of(model, earliest + 10, at)), sorted(between), seed);
          assertEquals(between, windows(store.all()).stream().filter(at).toList(), seed);
          List<Entry> all = windows(store.all());
          assertEquals(sorted(of(model, earliest + 10, e -> true)), sorted(all), seed);
          assertEquals(backward(windows(store.all())), windows(store.backwardAll()), seed);
          break;
        default:
          Entry known = model.get(key + "@" + time);
          assertEquals(known == null || time < earliest ? null : known.value(),
              text(store.fetch(key(key), time)), seed);
          String value = random.nextInt(5) == 0 ? null : "v" + i;
          store.put(key(key), value == null ? null : bytes(value), time);
          highest = Math.max(highest, time);
          if (value == null) {
            model.remove(key + "@" + time);
          } else if (time > highest - shown) {
            model.put(key + "@" + time, new Entry(key, time, time + 10, value));
          }
      }
    }
    store.close();
  }

  @ParameterizedTest
  @MethodSource("modes")
  void sessionsAreWhatAMapSays(boolean exactlyOnce, Timeline.Order order) throws IOException {
    long number = seed();
    Random random = new Random(number);
    String seed = "seed " + number;
    File states = folder();
    TreeMap<String, Entry> model = new TreeMap<>();
    BraidSessionStore store = openSessions(states, exactlyOnce, order);
    long now = 0;
    long highest = -1;
    for (int i = 0; i < 4000; ++i) {
      now += random.nextInt(8);
      String key = someKey(random);
      long end = Math.max(0, now - random.nextInt(random.nextInt(10) == 0 ? 8000 : 1000));
      long start = Math.max(0, end - random.nextInt(300));
      long earliest = highest - RETENTION + 1;
      switch (random.nextInt(12)) {
        case 0:
          store.commit(Map.of(CHANGELOG, (long) i));
          if (random.nextInt(4) == 0) {
            store.close();
            store = openSessions(states, exactlyOnce, order);
          }
          break;
        case 1, 2:
          long ends = Math.max(0, end - random.nextInt(3000));
          Predicate<Entry> at = entry -> entry.end() >= ends && entry.start() <= start;
          List<Entry> one = windows(store.findSessions(key(key), ends, start));
          assertEquals(sorted(of(model, earliest, at.and(e -> e.key().equals(key)))),
              sorted(one), seed);
          assertEquals(backward(one),
              windows(store.backwardFindSessions(key(key), ends, start)), seed);
          List<Entry> range = windows(store.findSessions(null, key(key), ends, start));
          assertEquals(sorted(of(model, earliest, at.and(e -> e.key().compareTo(key) <= 0))),
              sorted(range), seed);
          List<Entry> ended = of(windows(store.findSessions(ends, end)), earliest);
          assertEquals(sorted(of(model, earliest, e -> e.end() >= ends && e.end() <= end)),
              sorted(ended), seed);
          assertEquals(ended, windows(store.fetch((Bytes) null, (Bytes) null)).stream()
              .filter(e -> e.end() >= ends && e.end() <= end).toList(), seed);
          assertEquals(sorted(of(model, earliest, e -> e.key().equals(key))),
              sorted(windows(store.fetch(key(key)))), seed);
          assertEquals(sorted(of(model, earliest, e -> true)),
              sorted(windows(store.fetch((Bytes) null, (Bytes) null))), seed);
          break;
        default:
          Windowed<Bytes> session = new Windowed<>(key(key), new SessionWindow(start, end));
          String place = key + "@" + start + "-" + end;
          Entry known = model.get(place);
          assertEquals(known == null || end < earliest ? null : known.value(),
              text(store.fetchSession(key(key), start, end)), seed);
          if (random.nextInt(5) == 0) {
            store.remove(session);
            model.remove(place);
          } else {
            store.put(session, bytes("v" + i));
            highest = Math.max(highest, end);
            if (end > highest - RETENTION) {
              model.put(place, new Entry(key, start, end, "v" + i));
            }
          }
      }
    }
    store.close();
  }

  @ParameterizedTest
  @EnumSource(Timeline.Order.class)
  void duplicatesAreKept(Timeline.Order order) throws IOException {
    File states = folder();
    BraidWindowStore store = openWindows(states, true, true, order);
    store.put(key("a"), bytes("1"), 100);
    store.put(key("a"), bytes("2"), 100);
    store.put(key("a"), null, 100);
    store.commit(Map.of(CHANGELOG, 1L));
    store.close();
    store = openWindows(states, true, true, order);
    store.put(key("a"), bytes("3"), 100); // takes the place of none
    List<String> values = new ArrayList<>();
    try (WindowStoreIterator<byte[]> iterator = store.fetch(key("a"), 0, 200)) {
      iterator.forEachRemaining(entry -> values.add(text(entry.value)));
    }
    assertEquals(List.of("1", "2", "3"), values);
    store.close();
  }

  @ParameterizedTest
  @MethodSource("modes")
  void whatIsOverStaysOverAndItsEntriesGo(boolean exactlyOnce, Timeline.Order order) throws Exception {
    File states = folder();
    BraidWindowStore store = openWindows(states, exactlyOnce, false, order);
    for (long time = 0; time < 3000; time += 10) {
      store.put(key("a"), bytes("old"), time);
    }
    store.put(key("a"), bytes("new"), 20_000);
    store.commit(Map.of(CHANGELOG, 1L));
    store.close();
    store = openWindows(states, exactlyOnce, false, order);
    assertNull(store.fetch(key("a"), 10));
    store.put(key("a"), bytes("too late"), 10);
    assertNull(store.fetch(key("a"), 10));
    assertEquals(1, windows(store.all()).size());
    store.commit(Map.of(CHANGELOG, 2L)); // sweeps
    if (order == Timeline.Order.BY_TIME_TOO) {
      assertEquals(301, windows(store.fetchAll(0, 30_000)).size()); // may still be emitted
      assertEquals(301, store.space().count(Space.DATA));
      store.timeline().sweep(0);
      assertEquals(1, windows(store.fetchAll(0, 30_000)).size());
    }
    long end = System.nanoTime() + 20_000_000_000L;
    for (byte kind : new byte[] {Space.DATA, Space.INDEX}) {
      int left = kind == Space.DATA || order == Timeline.Order.BY_TIME_TOO ? 1 : 0;
      while (store.space().count(kind) > left && System.nanoTime() < end) {
        Thread.sleep(10);
      }
      assertEquals(left, store.space().count(kind));
    }
    store.close();
  }

  /** What a window that closes is emitted to may read it, though its retention is over then. */
  @ParameterizedTest
  @EnumSource(Timeline.Order.class)
  void whatClosesNowIsReadIfItIsEmitted(Timeline.Order order) throws IOException {
    BraidWindowStore store = openWindows(folder(), true, false, order);
    store.put(key("a"), bytes("closes"), 1_000);
    store.put(key("b"), bytes("now"), 1_000 + RETENTION);
    List<String> read = order == Timeline.Order.BY_TIME_TOO ? List.of("a@1000-1010=closes") : List.of();
    assertEquals(read.isEmpty() ? null : "closes", text(store.fetch(key("a"), 1_000)));
    assertEquals(read, sorted(times("a", store.fetch(key("a"), 0, 2_000))));
    assertEquals(read, sorted(windows(store.fetch(null, key("a"), 0, 2_000))));
    assertEquals(read.size() + 1, windows(store.all()).size());
    store.put(key("b"), bytes("later"), 1_001 + RETENTION);
    assertNull(store.fetch(key("a"), 1_000));
    assertEquals(2, windows(store.all()).size());
    store.close();
  }

  /** More entries of a part of a segment than are sorted in memory. */
  @Test
  void manyEntriesOfAFewTimesAreInOrder() throws IOException {
    BraidWindowStore store = openWindows(folder(), true, false, Timeline.Order.BY_TIME_TOO);
    int keys = Timeline.MOST_SORTED / 2 + 100;
    for (int i = 0; i < keys; ++i) {
      for (long time : new long[] {1, 2, 3}) {
        store.put(key("key" + i), bytes("v"), time);
      }
    }
    for (long last : new long[] {1, 2, 3}) { // sorted, and twice not
      List<Entry> found = windows(store.fetchAll(0, last));
      assertEquals(keys * last, found.size());
      assertEquals(
          found, windows(store.all()).stream().filter(e -> e.start() <= last).toList());
    }
    store.close();
  }

  /** A store that has written in one order refuses another, and says what to do. */
  @Test
  void anotherOrderIsRefused() throws IOException {
    File states = folder();
    BraidWindowStore store = openWindows(states, true, false, Timeline.Order.BY_KEY);
    store.put(key("a"), bytes("1"), 100);
    store.commit(Map.of(CHANGELOG, 1L));
    store.close();
    String message = assertThrows(ProcessorStateException.class,
        () -> openWindows(states, true, false, Timeline.Order.BY_TIME_TOO)).getMessage();
    assertTrue(message.contains("by time") && message.contains("remove the folder"), message);
  }

  @Test
  void noKeyUpToTheLastOneSortsBehindIt() {
    Random random = new Random(1);
    byte[] suffix = {0x7f, -1, -1, -1, -1, -1, -1, -1, 0x7f, -1, -1, -1};
    for (int i = 0; i < 20_000; ++i) {
      byte[] key = new byte[random.nextInt(4)];
      byte[] last = new byte[random.nextInt(4)];
      byte[] tail = new byte[suffix.length];
      random.nextBytes(key);
      random.nextBytes(last);
      random.nextBytes(tail);
      tail[0] &= 0x7f;
      if (java.util.Arrays.compareUnsigned(key, last) <= 0) {
        byte[] whole = java.util.Arrays.copyOf(key, key.length + tail.length);
        System.arraycopy(tail, 0, whole, key.length, tail.length);
        byte[] bound = Segments.lastWithSuffix(last, suffix);
        assertTrue(java.util.Arrays.compareUnsigned(whole, bound) <= 0);
      }
    }
  }
}
