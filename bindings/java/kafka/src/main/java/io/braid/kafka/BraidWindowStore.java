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
 * A window store. The changelog's keys are the user's key, the start of the window and a number,
 * which tells duplicates apart; so are the pool's, behind their segments (Timeline). A record is
 * too late when its window's start is the retention, or more, before the highest start seen; in a
 * store of windows that are emitted when they close, more than the retention.
 */
class BraidWindowStore extends BraidStore implements WindowStore<Bytes, byte[]> {
  private static final int SUFFIX = Long.BYTES + Integer.BYTES;

  /** What a supplier says of its stores; times in ms. */
  record Shape(String name, long retention, long segmentInterval, long windowSize,
      boolean retainDuplicates, Timeline.Order order) {
    Shape in(Timeline.Order other) {
      return new Shape(name, retention, segmentInterval, windowSize, retainDuplicates, other);
    }

    /**
     * For how long reads show an entry. One that is emitted when its window closes, which is when it
     * is over, may be asked for by what it is emitted to: so do Kafka Streams' own stores.
     */
    long shown() {
      return order == Timeline.Order.BY_TIME_TOO ? retention + 1 : retention;
    }
  }

  private final Shape shape;
  private Timeline timeline;
  private Runnable dropped;
  private int sequence;

  BraidWindowStore(Shape shape) {
    super(shape.name());
    this.shape = shape;
  }

  /** Its values begin with their timestamps, which Kafka Streams learns by this interface. */
  static final class Timestamped extends BraidWindowStore implements TimestampedBytesStore {
    Timestamped(Shape shape) {
      super(shape);
    }

    @Override
    String format() {
      return super.format() + ", with timestamps";
    }
  }

  /** Its values begin with their headers, then their timestamps. */
  static final class WithHeaders extends BraidWindowStore implements HeadersBytesStore {
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
    return "windows, segments of " + shape.segmentInterval() + " ms" + shape.order().words;
  }

  @Override
  void opened(StateStoreContext context) {
    dropped = Internals.droppedRecords(context);
    timeline = new Timeline(
        space(), shape.order(), SUFFIX, shape.segmentInterval(), shape.shown());
    byte[] clock = space().clock();
    if (clock != null) {
      ByteBuffer stored = ByteBuffer.wrap(clock);
      timeline.setStreamTime(stored.getLong());
      sequence = stored.getInt();
    }
  }

  @Override
  byte[] clock() {
    return ByteBuffer.allocate(SUFFIX).putLong(timeline.streamTime()).putInt(sequence).array();
  }

  @Override
  void clockStored() {
    timeline.sweep();
  }

  final Timeline timeline() {
    return timeline;
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
    timeline.put(timeOf(record.key()), record.key(), record.value());
  }

  @Override
  public void put(Bytes key, byte[] value, long windowStartTimestamp) {
    Objects.requireNonNull(key, "key cannot be null");
    writing(() -> {
      if (value == null && shape.retainDuplicates()) {
        return; // which of the duplicates?
      }
      if (shape.retainDuplicates()) {
        sequence = (sequence + 1) & Integer.MAX_VALUE;
      }
      byte[] binary = binary(key, windowStartTimestamp, sequence);
      if (!timeline.put(windowStartTimestamp, binary, value)) {
        dropped.run();
      }
    });
  }

  @Override
  public byte[] fetch(Bytes key, long time) {
    Objects.requireNonNull(key, "key cannot be null");
    checkOpen();
    return time < timeline.earliest() ? null
        : timeline.get(time, binary(key, time, sequence));
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

  private Windowed<Bytes> windowOf(byte[] binary) {
    return new Windowed<>(Bytes.wrap(Arrays.copyOf(binary, binary.length - SUFFIX)),
        Internals.timeWindow(timeOf(binary), shape.windowSize()));
  }

  private WindowStoreIterator<byte[]> fetch(
      Bytes key, long timeFrom, long timeTo, boolean forward) {
    Objects.requireNonNull(key, "key cannot be null");
    checkOpen();
    long from = Math.max(Math.max(timeFrom, timeline.earliest()), 0);
    Cursor cursor = timeline.ofKeys(from, timeTo, binary(key, from, 0),
        binary(key, Math.max(timeTo, 0), Integer.MAX_VALUE), wanted(key, key, from, timeTo),
        forward);
    StoreIterator.Times iterator =
        new StoreIterator.Times(name(), cursor, BraidWindowStore::timeOf);
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
    long from = Math.max(timeFrom, timeline.earliest());
    byte[] last = keyTo == null ? null : Segments.lastWithSuffix(
        keyTo.get(), suffix(Math.max(timeTo, 0), Integer.MAX_VALUE));
    return iterate(timeline.ofKeys(from, timeTo, keyFrom == null ? null : keyFrom.get(), last,
        wanted(keyFrom, keyTo, from, timeTo), forward));
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> iterate(Cursor cursor) {
    StoreIterator<Windowed<Bytes>> iterator =
        new StoreIterator<>(name(), cursor, this::windowOf);
    register(iterator.endsWhenClosed());
    return iterator;
  }

  private KeyValueIterator<Windowed<Bytes>, byte[]> fetchAll(
      long timeFrom, long timeTo, boolean forward) {
    checkOpen();
    long from = Math.max(timeFrom, timeline.earliestOfTimes());
    return iterate(
        timeline.ofTimes(from, timeTo, wanted(null, null, from, timeTo), forward));
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
    return fetchAll(timeFrom, timeTo, true);
  }

  @Override
  public KeyValueIterator<Windowed<Bytes>, byte[]> backwardFetchAll(long timeFrom, long timeTo) {
    return fetchAll(timeFrom, timeTo, false);
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
