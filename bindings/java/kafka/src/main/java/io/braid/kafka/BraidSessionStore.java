package io.braid.kafka;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Predicate;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.SessionStore;

/**
 * A session store. The changelog's keys are the user's key, the end and the start of the session;
 * so are the pool's, behind their segments (Timeline). A session is too late when its end is the
 * retention, or more, before the highest end seen.
 */
class BraidSessionStore extends BraidStore implements SessionStore<Bytes, byte[]> {
  private static final int SUFFIX = 2 * Long.BYTES;

  /** What a supplier says of its stores; times in ms. */
  record Shape(String name, long retention, long segmentInterval, Timeline.Order order) {
    Shape in(Timeline.Order other) {
      return new Shape(name, retention, segmentInterval, other);
    }
  }

  private final Shape shape;
  private Timeline timeline;
  private Runnable dropped;

  BraidSessionStore(Shape shape) {
    super(shape.name());
    this.shape = shape;
  }

  /** Its values begin with their headers. */
  static final class WithHeaders extends BraidSessionStore implements HeadersBytesStore {
    WithHeaders(Shape shape) {
      super(shape);
    }

    @Override
    String format() {
      return super.format() + ", with headers";
    }
  }

  @Override
  String format() {
    return "sessions, segments of " + shape.segmentInterval() + " ms" + shape.order().words;
  }

  @Override
  void opened(StateStoreContext context) {
    dropped = Internals.droppedRecords(context);
    timeline = new Timeline(
        space(), shape.order(), SUFFIX, shape.segmentInterval(), shape.retention());
    byte[] clock = space().clock();
    if (clock != null) {
      timeline.setStreamTime(ByteBuffer.wrap(clock).getLong());
    }
  }

  @Override
  byte[] clock() {
    return ByteBuffer.allocate(Long.BYTES).putLong(timeline.streamTime()).array();
  }

  @Override
  void clockStored() {
    timeline.sweep();
  }

  private static byte[] suffix(long end, long start) {
    return ByteBuffer.allocate(SUFFIX).putLong(end).putLong(start).array();
  }

  private static byte[] binary(Bytes key, long end, long start) {
    return ByteBuffer.allocate(key.get().length + SUFFIX).put(key.get()).putLong(end)
        .putLong(start).array();
  }

  private static byte[] binary(Windowed<Bytes> session) {
    return binary(session.key(), session.window().end(), session.window().start());
  }

  private static long endOf(byte[] binary) {
    return ByteBuffer.wrap(binary).getLong(binary.length - SUFFIX);
  }

  private static long startOf(byte[] binary) {
    return ByteBuffer.wrap(binary).getLong(binary.length - Long.BYTES);
  }

  @Override
  void restore(ConsumerRecord<byte[], byte[]> record) {
    timeline.put(endOf(record.key()), record.key(), record.value());
  }

  @Override
  public void put(Windowed<Bytes> sessionKey, byte[] aggregate) {
    Objects.requireNonNull(sessionKey, "sessionKey cannot be null");
    writing(() -> {
      if (!timeline.put(sessionKey.window().end(), binary(sessionKey), aggregate)) {
        dropped.run();
      }
    });
  }

  @Override
  public void remove(Windowed<Bytes> sessionKey) {
    Objects.requireNonNull(sessionKey, "sessionKey cannot be null");
    writing(() -> timeline.delete(sessionKey.window().end(), binary(sessionKey)));
  }

  @Override
  public byte[] fetchSession(Bytes key, long sessionStartTime, long sessionEndTime) {
    Objects.requireNonNull(key, "key cannot be null");
    checkOpen();
    return sessionEndTime < timeline.earliest() ? null
        : timeline.get(sessionEndTime, binary(key, sessionEndTime, sessionStartTime));
  }

  private static Windowed<Bytes> sessionOf(byte[] binary) {
    return new Windowed<>(Bytes.wrap(Arrays.copyOf(binary, binary.length - SUFFIX)),
        Internals.sessionWindow(startOf(binary), endOf(binary)));
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> iterate(Cursor cursor) {
    StoreIterator<Windowed<Bytes>> iterator =
        new StoreIterator<>(name(), cursor, BraidSessionStore::sessionOf);
    register(iterator.endsWhenClosed());
    return iterator;
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> find(long endFrom, byte[] begin, byte[] last,
      Predicate<byte[]> wanted, boolean forward) {
    return iterate(timeline.ofKeys(endFrom, Long.MAX_VALUE, begin, last,
        binary -> endOf(binary) >= endFrom && wanted.test(binary), forward));
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> find(Bytes key, long earliestSessionEndTime,
      long latestSessionStartTime, boolean forward) {
    Objects.requireNonNull(key, "key cannot be null");
    checkOpen();
    long from = Math.max(Math.max(earliestSessionEndTime, timeline.earliest()), 0);
    return find(from, binary(key, from, 0),
        binary(key, Long.MAX_VALUE, Math.max(latestSessionStartTime, 0)), binary ->
            startOf(binary) <= latestSessionStartTime && Arrays.equals(
                binary, 0, binary.length - SUFFIX, key.get(), 0, key.get().length), forward);
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> find(Bytes keyFrom, Bytes keyTo,
      long earliestSessionEndTime, long latestSessionStartTime, boolean forward) {
    checkOpen();
    if (keyFrom != null && keyTo != null && keyFrom.compareTo(keyTo) > 0) {
      warnInvalidRange();
      return StoreIterator.empty(name());
    }
    long from = Math.max(earliestSessionEndTime, timeline.earliest());
    byte[] last = keyTo == null ? null
        : Segments.lastWithSuffix(keyTo.get(), suffix(Long.MAX_VALUE, Long.MAX_VALUE));
    return find(from, keyFrom == null ? null : keyFrom.get(), last, binary -> {
      int size = binary.length - SUFFIX;
      return startOf(binary) <= latestSessionStartTime
          && (keyFrom == null || Arrays.compareUnsigned(
              binary, 0, size, keyFrom.get(), 0, keyFrom.get().length) >= 0)
          && (keyTo == null || Arrays.compareUnsigned(
              binary, 0, size, keyTo.get(), 0, keyTo.get().length) <= 0);
    }, forward);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      long earliestSessionEndTime, long latestSessionEndTime) {
    checkOpen();
    long from = Math.max(earliestSessionEndTime, timeline.earliestOfTimes());
    return iterate(timeline.ofTimes(from, latestSessionEndTime,
        binary -> endOf(binary) >= from && endOf(binary) <= latestSessionEndTime, true));
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      Bytes key, long earliestSessionEndTime, long latestSessionStartTime) {
    return find(key, earliestSessionEndTime, latestSessionStartTime, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
      Bytes key, long earliestSessionEndTime, long latestSessionStartTime) {
    return find(key, earliestSessionEndTime, latestSessionStartTime, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> findSessions(
      Bytes keyFrom, Bytes keyTo, long earliestSessionEndTime, long latestSessionStartTime) {
    return find(keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFindSessions(
      Bytes keyFrom, Bytes keyTo, long earliestSessionEndTime, long latestSessionStartTime) {
    return find(keyFrom, keyTo, earliestSessionEndTime, latestSessionStartTime, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(Bytes key) {
    return find(key, 0, Long.MAX_VALUE, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(Bytes key) {
    return find(key, 0, Long.MAX_VALUE, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(Bytes keyFrom, Bytes keyTo) {
    return find(keyFrom, keyTo, 0, Long.MAX_VALUE, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(Bytes keyFrom, Bytes keyTo) {
    return find(keyFrom, keyTo, 0, Long.MAX_VALUE, false);
  }
}
