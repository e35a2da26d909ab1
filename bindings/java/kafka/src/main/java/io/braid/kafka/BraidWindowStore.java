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
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;

/**
 * A window store. Behind its segment a key has the user's key, the start of the window and a number,
 * which tells duplicates apart: what the changelog's keys are, and in the order that Kafka Streams'
 * cache expects. A record is too late when its window's start is the retention, or more, before the
 * highest start seen.
 */
class BraidWindowStore extends BraidStore implements WindowStore<Bytes, byte[]> {
  private static final int SUFFIX = Long.BYTES + Integer.BYTES;

  private final long retention;
  private final long segmentInterval;
  private final long windowSize;
  private final boolean retainDuplicates;
  private Segments segments;
  private Runnable dropped;
  private int sequence;

  BraidWindowStore(String name, long retention, long segmentInterval, long windowSize,
      boolean retainDuplicates) {
    super(name);
    this.retention = retention;
    this.segmentInterval = segmentInterval;
    this.windowSize = windowSize;
    this.retainDuplicates = retainDuplicates;
  }

  /** Its values begin with their timestamps, which Kafka Streams learns by this interface. */
  static final class Timestamped extends BraidWindowStore implements TimestampedBytesStore {
    Timestamped(String name, long retention, long segmentInterval, long windowSize,
        boolean retainDuplicates) {
      super(name, retention, segmentInterval, windowSize, retainDuplicates);
    }

    @Override
    String format() {
      return super.format() + ", with timestamps";
    }
  }

  /** Its values begin with their headers, then their timestamps. */
  static final class WithHeaders extends BraidWindowStore implements HeadersBytesStore {
    WithHeaders(String name, long retention, long segmentInterval, long windowSize,
        boolean retainDuplicates) {
      super(name, retention, segmentInterval, windowSize, retainDuplicates);
    }

    @Override
    String format() {
      return super.format() + ", with headers";
    }
  }

  @Override
  String format() {
    return "windows, segments of " + segmentInterval + " ms";
  }

  @Override
  void opened(StateStoreContext context) {
    dropped = Internals.droppedRecords(context);
    segments = new Segments(space(), Space.DATA, segmentInterval, retention);
    byte[] clock = space().clock();
    if (clock != null) {
      ByteBuffer stored = ByteBuffer.wrap(clock);
      segments.setStreamTime(stored.getLong());
      sequence = stored.getInt();
    }
  }

  @Override
  byte[] clock() {
    return ByteBuffer.allocate(SUFFIX).putLong(segments.streamTime()).putInt(sequence).array();
  }

  @Override
  void clockStored() {
    segments.sweep();
  }

  private static byte[] suffix(long time, int number) {
    return ByteBuffer.allocate(SUFFIX).putLong(time).putInt(number).array();
  }

  private static byte[] binary(Bytes key, long time, int number) {
    return ByteBuffer.allocate(key.get().length + SUFFIX).put(key.get()).putLong(time)
        .putInt(number).array();
  }

  private static long timeOf(byte[] binary) {
    return ByteBuffer.wrap(binary).getLong(binary.length - SUFFIX);
  }

  @Override
  void restore(ConsumerRecord<byte[], byte[]> record) {
    segments.put(timeOf(record.key()), record.key(), record.value());
  }

  @Override
  public void put(Bytes key, byte[] value, long windowStartTimestamp) {
    Objects.requireNonNull(key, "key cannot be null");
    writing(() -> {
      if (value == null && retainDuplicates) {
        return; // which of the duplicates?
      }
      if (retainDuplicates) {
        sequence = (sequence + 1) & Integer.MAX_VALUE;
      }
      byte[] binary = binary(key, windowStartTimestamp, sequence);
      if (!segments.put(windowStartTimestamp, binary, value)) {
        dropped.run();
      }
    });
  }

  @Override
  public byte[] fetch(Bytes key, long time) {
    Objects.requireNonNull(key, "key cannot be null");
    checkOpen();
    return time < segments.earliest() ? null
        : space().get(segments.keyAt(time, binary(key, time, sequence)));
  }

  private Predicate<byte[]> wanted(Bytes from, Bytes to, long timeFrom, long timeTo) {
    return binary -> {
      int size = binary.length - SUFFIX;
      long time = timeOf(binary);
      return time >= timeFrom && time <= timeTo
          && (from == null
              || Arrays.compareUnsigned(binary, 0, size, from.get(), 0, from.get().length) >= 0)
          && (to == null
              || Arrays.compareUnsigned(binary, 0, size, to.get(), 0, to.get().length) <= 0);
    };
  }

  private Windowed<Bytes> windowOf(byte[] key) {
    byte[] binary = segments.rest(key);
    return new Windowed<>(Bytes.wrap(Arrays.copyOf(binary, binary.length - SUFFIX)),
        Internals.timeWindow(timeOf(binary), windowSize));
  }

  private WindowStoreIterator<byte[]> fetch(
      Bytes key, long timeFrom, long timeTo, boolean forward) {
    Objects.requireNonNull(key, "key cannot be null");
    checkOpen();
    long from = Math.max(Math.max(timeFrom, segments.earliest()), 0);
    Cursor cursor = segments.scan(from, timeTo, binary(key, from, 0),
        binary(key, Math.max(timeTo, 0), Integer.MAX_VALUE), wanted(key, key, from, timeTo),
        forward);
    StoreIterator.Times iterator =
        new StoreIterator.Times(name(), cursor, at -> timeOf(segments.rest(at)));
    register(iterator.endsWhenClosed());
    return iterator;
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
      Bytes keyFrom, Bytes keyTo, long timeFrom, long timeTo, boolean forward) {
    checkOpen();
    if (keyFrom != null && keyTo != null && keyFrom.compareTo(keyTo) > 0) {
      warnInvalidRange();
      return StoreIterator.empty(name());
    }
    long from = Math.max(timeFrom, segments.earliest());
    byte[] last = keyTo == null ? null : Segments.lastWithSuffix(
        keyTo.get(), suffix(Math.max(timeTo, 0), Integer.MAX_VALUE));
    Cursor cursor = segments.scan(from, timeTo, keyFrom == null ? null : keyFrom.get(), last,
        wanted(keyFrom, keyTo, from, timeTo), forward);
    StoreIterator<Windowed<Bytes>> iterator =
        new StoreIterator<>(name(), cursor, this::windowOf);
    register(iterator.endsWhenClosed());
    return iterator;
  }

  @Override
  public WindowStoreIterator<byte[]> fetch(Bytes key, long timeFrom, long timeTo) {
    return fetch(key, timeFrom, timeTo, true);
  }

  @Override
  public WindowStoreIterator<byte[]> backwardFetch(Bytes key, long timeFrom, long timeTo) {
    return fetch(key, timeFrom, timeTo, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetch(
      Bytes keyFrom, Bytes keyTo, long timeFrom, long timeTo) {
    return fetch(keyFrom, keyTo, timeFrom, timeTo, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetch(
      Bytes keyFrom, Bytes keyTo, long timeFrom, long timeTo) {
    return fetch(keyFrom, keyTo, timeFrom, timeTo, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> fetchAll(long timeFrom, long timeTo) {
    return fetch(null, null, timeFrom, timeTo, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetchAll(long timeFrom, long timeTo) {
    return fetch(null, null, timeFrom, timeTo, false);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> all() {
    return fetch(null, null, 0, Long.MAX_VALUE, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardAll() {
    return fetch(null, null, 0, Long.MAX_VALUE, false);
  }
}
