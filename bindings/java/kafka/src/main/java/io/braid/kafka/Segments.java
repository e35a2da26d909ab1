package io.braid.kafka;

import io.braid.BraidDB;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Map.Entry;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The entries of a store whose entries have a time, in segments of some time each, so that what is
 * over goes by segments: behind the kind of a key are the number of its segment and then the rest.
 * The stream time, the highest time seen, is stored with each commit, so that a reopened store still
 * knows what is over. Reads from any thread; writes by those who may write to the space.
 */
final class Segments {
  private final Space space;
  private final byte kind;
  private final long interval;
  private final long retention;
  private final NavigableSet<Long> live = new ConcurrentSkipListSet<>();
  private final Map<Long, Long> overSince = new HashMap<>();
  private volatile long streamTime = ConsumerRecord.NO_TIMESTAMP;

  Segments(Space space, byte kind, long interval, long retention) {
    this.space = space;
    this.kind = kind;
    this.interval = interval;
    this.retention = retention;
    findLive();
  }

  private void findLive() {
    byte[] at = space.key(kind, new byte[0]);
    byte[] end = BraidDB.prefixUpperBound(at);
    while (true) {
      try (Cursor cursor = space.scan(at, end, true)) {
        if (!cursor.hasNext()) {
          return;
        }
        long segment = ByteBuffer.wrap(space.rest(cursor.peekKey())).getLong();
        live.add(segment);
        at = space.key(kind, number(segment + 1));
      }
    }
  }

  private static byte[] number(long segment) {
    return ByteBuffer.allocate(Long.BYTES).putLong(segment).array();
  }

  private long segmentOf(long time) {
    return Math.max(time, 0) / interval;
  }

  private byte[] key(long segment, byte[] rest) {
    return space.key(kind, ByteBuffer.allocate(Long.BYTES + rest.length).putLong(segment).put(rest)
        .array());
  }

  /** Where an entry of this time is. */
  byte[] keyAt(long time, byte[] rest) {
    return key(segmentOf(time), rest);
  }

  /** What is behind the segment in a key. */
  byte[] rest(byte[] key) {
    byte[] rest = space.rest(key);
    return Arrays.copyOfRange(rest, Long.BYTES, rest.length);
  }

  /** To be called before an entry of this time is put. */
  void willHold(long time) {
    live.add(segmentOf(time));
  }

  long streamTime() {
    return streamTime;
  }

  void setStreamTime(long time) {
    streamTime = time;
  }

  void observe(long time) {
    streamTime = Math.max(streamTime, time);
  }

  /** The first time that is not over. */
  long earliest() {
    return streamTime - retention + 1;
  }

  /**
   * Deletes in the background the segments that are over as a whole, and were so many nanoseconds
   * before at an earlier call. To follow a commit.
   */
  void sweep(long nanosLater) {
    long first = segmentOf(streamTime - retention);
    long now = System.nanoTime();
    for (Long segment : live.headSet(first, false)) {
      if (now - overSince.computeIfAbsent(segment, key -> now) >= nanosLater) {
        live.remove(segment);
        overSince.remove(segment);
        space.sweep(key(segment, new byte[0]), key(segment + 1, new byte[0]));
      }
    }
  }

  /**
   * Entries of the segments from one time to another whose rest, behind the segment, is from `begin`
   * (null: the first) to before `end` (null: to the last), in the order of segments, and in each in
   * that of the rest: what `pick` makes of them; null: it is left out.
   */
  Cursor scan(long from, long to, byte[] begin, byte[] end,
      UnaryOperator<Entry<byte[], byte[]>> pick, boolean forward) {
    return new SegmentCursor(between(from, to, forward), begin, end, pick, forward);
  }

  /** The segments that hold entries from one time to another. */
  Iterator<Long> between(long from, long to, boolean forward) {
    if (to < 0 || to < from) {
      return Collections.emptyIterator();
    }
    NavigableSet<Long> range = live.subSet(segmentOf(from), true, segmentOf(to), true);
    return (forward ? range : range.descendingSet()).iterator();
  }

  /** Stores the value, null: deletes the key, of a time. False: that time is over. */
  boolean put(long time, byte[] rest, byte[] value) {
    observe(time);
    if (time < earliest()) {
      return false;
    }
    if (value != null) {
      willHold(time);
    }
    space.put(keyAt(time, rest), value);
    return true;
  }

  /** The first key behind another. */
  static byte[] behind(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  private Cursor scanOne(long segment, byte[] begin, byte[] end, boolean forward) {
    return space.scan(key(segment, begin == null ? new byte[0] : begin),
        end == null ? key(segment + 1, new byte[0]) : key(segment, end), forward);
  }

  /**
   * Of the segments from a time on, the first entry of each whose rest is from `begin` to `last`, to
   * `found`, the first of which it says true of is the result.
   */
  Optional<Entry<byte[], byte[]>> firsts(long from, byte[] begin, byte[] last, boolean forward,
      Predicate<Entry<byte[], byte[]>> found) {
    for (long segment : live.tailSet(segmentOf(from), true)) {
      try (Cursor cursor = scanOne(
          segment, begin, behind(last), forward)) {
        if (cursor.hasNext()) {
          Entry<byte[], byte[]> entry = cursor.next();
          if (found.test(entry)) {
            return Optional.of(entry);
          }
        }
      }
    }
    return Optional.empty();
  }

  private final class SegmentCursor extends LookaheadCursor {
    private final Iterator<Long> segments;
    private final byte[] begin;
    private final byte[] end;
    private final UnaryOperator<Entry<byte[], byte[]>> pick;
    private final boolean forward;
    private Cursor cursor = Space.emptyCursor();

    SegmentCursor(Iterator<Long> segments, byte[] begin, byte[] end,
        UnaryOperator<Entry<byte[], byte[]>> pick, boolean forward) {
      this.segments = segments;
      this.begin = begin;
      this.end = end;
      this.pick = pick;
      this.forward = forward;
    }

    @Override
    protected Entry<byte[], byte[]> find() {
      while (true) {
        if (cursor.hasNext()) {
          Entry<byte[], byte[]> picked = pick.apply(cursor.next());
          if (picked != null) {
            return picked;
          }
        } else if (segments.hasNext()) {
          cursor.close();
          cursor = scanOne(segments.next(), begin, end, forward);
        } else {
          return null;
        }
      }
    }

    @Override
    public void close() {
      cursor.close();
    }
  }

  /**
   * Behind which no key up to `key` sorts, when each has a suffix of two numbers that are not
   * negative behind it: a key that another begins with may sort behind that one.
   */
  static byte[] lastWithSuffix(byte[] key, byte[] suffix) {
    byte[] last = join(key, key.length, suffix);
    for (int i = 0; i < key.length; ++i) {
      if ((key[i] & 0xff) <= (suffix[0] & 0xff)) {
        byte[] other = join(key, i, suffix);
        if (Arrays.compareUnsigned(other, last) > 0) {
          last = other;
        }
      }
    }
    return last;
  }

  private static byte[] join(byte[] key, int size, byte[] suffix) {
    return ByteBuffer.allocate(size + suffix.length).put(key, 0, size).put(suffix).array();
  }
}
