package io.braid.kafka;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * The entries of a window or session store, each with a time, in segments. Who uses it knows a key
 * as the changelog has it: the user's key, the time, and a few more bytes; so it is behind its segment
 * in the pool. Entries of a key are one range in each segment.
 *
 * <p>Those of some time are found by looking at all of a segment, or, BY_TIME_TOO, by an index: an
 * empty entry for each, with the time first. For results that are emitted when their window closes,
 * which asks for the entries of short times again and again. A write is two then, in one atomic
 * batch, and an entry that is found by its time takes a lookup. What is found is in the order of
 * segments, and in each in that of the changelog's keys, with an index and without: Kafka Streams'
 * cache, which may lie over the store, merges its own entries by that order.
 *
 * <p>Cursors have the changelog's keys. Threads as for Segments.
 */
final class Timeline {
  enum Order {
    BY_KEY(""), BY_TIME_TOO(", by time too");

    /** What a store says of it among what its entries mean. */
    final String words;

    Order(String words) {
      this.words = words;
    }
  }

  private static final byte[] PRESENT = new byte[0];
  private static final long EMITTED_NANOS = 10_000_000_000L;

  /** So many keys of a part of a segment are sorted in memory; for more all of it is looked at. */
  static final int MOST_SORTED = 16_384;

  private final Space space;
  private final int suffix;
  private final long interval;
  private final Segments entries;
  private final Segments times; // null: there is no index

  /** `suffix`: how many bytes are behind the user's key, of which the first eight are the time. */
  Timeline(Space space, Order order, int suffix, long interval, long retention) {
    this.space = space;
    this.suffix = suffix;
    this.interval = interval;
    entries = new Segments(space, Space.DATA, interval, retention);
    times = order == Order.BY_KEY ? null : new Segments(space, Space.INDEX, interval, retention);
  }

  long streamTime() {
    return entries.streamTime();
  }

  void setStreamTime(long time) {
    entries.setStreamTime(time);
    if (times != null) {
      times.setStreamTime(time);
    }
  }

  /** The first time that is not over. */
  long earliest() {
    return entries.earliest();
  }

  /**
   * The first time whose entries are shown to those who ask for times. Windows that close are over
   * just then, and are to be emitted.
   */
  long earliestOfTimes() {
    return times == null ? earliest() : 0;
  }

  /** As Segments.sweep. What is to be emitted, which Kafka Streams does once a second, stays. */
  void sweep() {
    sweep(times == null ? 0 : EMITTED_NANOS);
  }

  void sweep(long nanosLater) {
    entries.sweep(nanosLater);
    if (times != null) {
      times.sweep(nanosLater);
    }
  }

  /** The changelog's key with its time first. */
  private byte[] timeFirst(byte[] binary) {
    int size = binary.length - suffix;
    return ByteBuffer.allocate(binary.length).put(binary, size, Long.BYTES).put(binary, 0, size)
        .put(binary, size + Long.BYTES, suffix - Long.BYTES).array();
  }

  private byte[] timeBehind(byte[] first) {
    int size = first.length - suffix;
    return ByteBuffer.allocate(first.length).put(first, Long.BYTES, size).put(first, 0, Long.BYTES)
        .put(first, Long.BYTES + size, suffix - Long.BYTES).array();
  }

  /** Stores the value, null: deletes the key, of a time. False: that time is over. */
  boolean put(long time, byte[] binary, byte[] value) {
    if (times == null) {
      return entries.put(time, binary, value);
    }
    boolean[] live = new boolean[1];
    space.together(() -> live[0] = entries.put(time, binary, value)
        && times.put(time, timeFirst(binary), value == null ? null : PRESENT));
    return live[0];
  }

  /** Deletes a key also when its time is over. */
  void delete(long time, byte[] binary) {
    if (times == null) {
      space.put(entries.keyAt(time, binary), null);
      return;
    }
    space.together(() -> {
      space.put(entries.keyAt(time, binary), null);
      space.put(times.keyAt(time, timeFirst(binary)), null);
    });
  }

  byte[] get(long time, byte[] binary) {
    return space.get(entries.keyAt(time, binary));
  }

  /** Picks what is wanted, and gives it the changelog's key. */
  private UnaryOperator<Entry<byte[], byte[]>> pick(Predicate<byte[]> wanted) {
    return entry -> {
      byte[] binary = entries.rest(entry.getKey());
      return wanted.test(binary) ? Map.entry(binary, entry.getValue()) : null;
    };
  }

  /**
   * Entries from one time to another whose keys are from `begin` (null: the first) to `last` (null:
   * the last), both inclusive, and which `wanted` wants.
   */
  Cursor ofKeys(long from, long to, byte[] begin, byte[] last, Predicate<byte[]> wanted,
      boolean forward) {
    return entries.scan(
        from, to, begin, last == null ? null : Segments.behind(last), pick(wanted), forward);
  }

  /** Entries from one time to another which `wanted` wants, whatever their keys. */
  Cursor ofTimes(long from, long to, Predicate<byte[]> wanted, boolean forward) {
    return times == null ? entries.scan(from, to, null, null, pick(wanted), forward)
        : new TimesCursor(from, to, wanted, forward);
  }

  private static byte[] bytes(long time) {
    return ByteBuffer.allocate(Long.BYTES).putLong(time).array();
  }

  /** The keys of some times within one segment, in their order; null: there are too many. */
  private List<byte[]> keysOf(long from, long to, boolean forward) {
    List<byte[]> found = new ArrayList<>();
    try (Cursor cursor = times.scan(
        from, to, bytes(from), bytes(to + 1), UnaryOperator.identity(), true)) {
      while (cursor.hasNext()) {
        if (found.size() == MOST_SORTED) {
          return null;
        }
        found.add(timeBehind(times.rest(cursor.next().getKey())));
      }
    }
    found.sort(forward ? Arrays::compareUnsigned : Collections.reverseOrder(Arrays::compareUnsigned));
    return found;
  }

  /** Goes over segments, over those that are not wanted as a whole by the index. */
  private final class TimesCursor extends LookaheadCursor {
    private final long from;
    private final long to;
    private final Predicate<byte[]> wanted;
    private final boolean forward;
    private final Iterator<Long> segments;
    private Iterator<byte[]> keys = Collections.emptyIterator();
    private Cursor whole = Space.emptyCursor();

    TimesCursor(long from, long to, Predicate<byte[]> wanted, boolean forward) {
      this.from = from;
      this.to = to;
      this.wanted = wanted;
      this.forward = forward;
      segments = entries.between(from, to, forward);
    }

    private void open(long segment) {
      long first = segment * interval;
      long last = first + interval - 1;
      boolean part = from > first || to < last;
      List<byte[]> found =
          part ? keysOf(Math.max(from, first), Math.min(to, last), forward) : null;
      if (found != null) {
        keys = found.iterator();
      } else {
        whole.close();
        whole = entries.scan(first, first, null, null, pick(wanted), forward);
      }
    }

    @Override
    protected Entry<byte[], byte[]> find() {
      while (true) {
        if (keys.hasNext()) {
          byte[] binary = keys.next();
          long time = ByteBuffer.wrap(binary).getLong(binary.length - suffix);
          byte[] value = wanted.test(binary) ? get(time, binary) : null;
          if (value != null) { // else it is gone by now
            return Map.entry(binary, value);
          }
        } else if (whole.hasNext()) {
          return whole.next();
        } else if (segments.hasNext()) {
          open(segments.next());
        } else {
          return null;
        }
      }
    }

    @Override
    public void close() {
      whole.close();
    }
  }
}
