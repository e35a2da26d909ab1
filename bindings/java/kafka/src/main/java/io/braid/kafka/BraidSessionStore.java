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
 * A session store. Behind its segment, which the session's end chooses, a key has the user's key,
 * the end and the start of the session: what the changelog's keys are, and in the order that Kafka
 * Streams' cache expects. A session is too late when its end is the retention, or more, before the
 * highest end seen.
 */
class BraidSessionStore extends BraidStore implements SessionStore<Bytes, byte[]> {
  private static final int SUFFIX = 2 * Long.BYTES;

  private final long retention;
  private final long segmentInterval;
  private Segments segments;
  private Runnable dropped;

  BraidSessionStore(String name, long retention, long segmentInterval) {
    super(name);
    this.retention = retention;
    this.segmentInterval = segmentInterval;
  }

  /** Its values begin with their headers. */
  static final class WithHeaders extends BraidSessionStore implements HeadersBytesStore {
    WithHeaders(String name, long retention, long segmentInterval) {
      super(name, retention, segmentInterval);
    }

    @Override
    String format() {
      return super.format() + ", with headers";
    }
  }

  @Override
  String format() {
    return "sessions, segments of " + segmentInterval + " ms";
  }

  @Override
  void opened(StateStoreContext context) {
    dropped = Internals.droppedRecords(context);
    segments = new Segments(space(), Space.DATA, segmentInterval, retention);
    byte[] clock = space().clock();
    if (clock != null) {
      segments.setStreamTime(ByteBuffer.wrap(clock).getLong());
    }
  }

  @Override
  byte[] clock() {
    return ByteBuffer.allocate(Long.BYTES).putLong(segments.streamTime()).array();
  }

  @Override
  void clockStored() {
    segments.sweep();
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
    segments.put(endOf(record.key()), record.key(), record.value());
  }

  @Override
  public void put(Windowed<Bytes> sessionKey, byte[] aggregate) {
    Objects.requireNonNull(sessionKey, "sessionKey cannot be null");
    writing(() -> {
      if (!segments.put(sessionKey.window().end(), binary(sessionKey), aggregate)) {
        dropped.run();
      }
    });
  }

  @Override
  public void remove(Windowed<Bytes> sessionKey) {
    Objects.requireNonNull(sessionKey, "sessionKey cannot be null");
    writing(() -> space().put(
        segments.keyAt(sessionKey.window().end(), binary(sessionKey)), null));
  }

  @Override
  public byte[] fetchSession(Bytes key, long sessionStartTime, long sessionEndTime) {
    Objects.requireNonNull(key, "key cannot be null");
    checkOpen();
    return sessionEndTime < segments.earliest() ? null
        : space().get(segments.keyAt(
            sessionEndTime, binary(key, sessionEndTime, sessionStartTime)));
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> find(long endFrom, long endTo, byte[] begin,
      byte[] last, Predicate<byte[]> wanted, boolean forward) {
    Cursor cursor = segments.scan(endFrom, endTo, begin, last,
        binary -> endOf(binary) >= endFrom && endOf(binary) <= endTo && wanted.test(binary),
        forward);
    StoreIterator<Windowed<Bytes>> iterator = new StoreIterator<>(name(), cursor, key -> {
      byte[] binary = segments.rest(key);
      return new Windowed<>(Bytes.wrap(Arrays.copyOf(binary, binary.length - SUFFIX)),
          Internals.sessionWindow(startOf(binary), endOf(binary)));
    });
    register(iterator.endsWhenClosed());
    return iterator;
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> find(Bytes key, long earliestSessionEndTime,
      long latestSessionStartTime, boolean forward) {
    Objects.requireNonNull(key, "key cannot be null");
    checkOpen();
    long from = Math.max(Math.max(earliestSessionEndTime, segments.earliest()), 0);
    return find(from, Long.MAX_VALUE, binary(key, from, 0),
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
    long from = Math.max(earliestSessionEndTime, segments.earliest());
    byte[] last = keyTo == null ? null
        : Segments.lastWithSuffix(keyTo.get(), suffix(Long.MAX_VALUE, Long.MAX_VALUE));
    return find(from, Long.MAX_VALUE, keyFrom == null ? null : keyFrom.get(), last, binary -> {
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
    long from = Math.max(earliestSessionEndTime, segments.earliest());
    return find(from, latestSessionEndTime, null, null, binary -> true, true);
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
