package io.braid.kafka;

import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map.Entry;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.MultiVersionedKeyQuery;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.query.ResultOrder;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.VersionedRecordIterator;

/**
 * A versioned store. The newest value of a key, with its time, is an entry of its own and never is
 * over. An older one is in the history, in the segment of the time from which it is valid no more:
 * behind the segment are the size of the key, the key, and the time from which it was valid; the
 * value begins with the time until which it was. A delete is in the history too, as a value that is
 * valid at no time, so that an older value that comes later does not become the newest.
 *
 * <p>A put changes up to three entries, together. At most one value of a key is valid at a time.
 */
final class BraidVersionedStore extends BraidStore implements VersionedKeyValueStore<Bytes, byte[]> {
  private static final byte[] NONE = new byte[0];

  private final long retention;
  private final long segmentInterval;
  private Segments history;
  private Runnable dropped;

  BraidVersionedStore(String name, long retention, long segmentInterval) {
    super(name);
    this.retention = retention;
    this.segmentInterval = segmentInterval;
  }

  /** Valid from a time on, until another (Long.MAX_VALUE: until there is a newer one). */
  private record Version(long from, long until, byte[] value) {}

  @Override
  String format() {
    return "versions, segments of " + segmentInterval + " ms";
  }

  @Override
  void opened(StateStoreContext context) {
    dropped = Internals.droppedRecords(context);
    // A version is kept while its end is not before the stream time less the retention.
    history = new Segments(space(), Space.HISTORY, segmentInterval, retention);
    byte[] clock = space().clock();
    if (clock != null) {
      history.setStreamTime(ByteBuffer.wrap(clock).getLong());
    }
  }

  @Override
  byte[] clock() {
    return ByteBuffer.allocate(Long.BYTES).putLong(history.streamTime()).array();
  }

  @Override
  void clockStored() {
    history.sweep(0);
  }

  private byte[] newestKey(Bytes key) {
    return space().key(Space.DATA, key.get());
  }

  private static byte[] historyRest(Bytes key, long from) {
    return ByteBuffer.allocate(Integer.BYTES + key.get().length + Long.BYTES)
        .putInt(key.get().length).put(key.get()).putLong(from).array();
  }

  private Version newest(Bytes key) {
    byte[] stored = space().get(newestKey(key));
    return stored == null ? null : new Version(ByteBuffer.wrap(stored).getLong(), Long.MAX_VALUE,
        Arrays.copyOfRange(stored, Long.BYTES, stored.length));
  }

  private void putNewest(Bytes key, long from, byte[] value) {
    space().put(newestKey(key), value == null ? null
        : ByteBuffer.allocate(Long.BYTES + value.length).putLong(from).put(value).array());
  }

  private byte[] oldKey(Bytes key, Version version) {
    return history.keyAt(version.until(), historyRest(key, version.from()));
  }

  private void putOld(Bytes key, Version version) {
    history.willHold(version.until());
    space().put(oldKey(key, version), ByteBuffer.allocate(Long.BYTES + version.value().length)
        .putLong(version.until()).put(version.value()).array());
  }

  private Version versionOf(Entry<byte[], byte[]> entry) {
    byte[] rest = history.rest(entry.getKey());
    byte[] value = entry.getValue();
    return new Version(ByteBuffer.wrap(rest).getLong(rest.length - Long.BYTES),
        ByteBuffer.wrap(value).getLong(), Arrays.copyOfRange(value, Long.BYTES, value.length));
  }

  /** The old version that is valid at a time; null: none is. */
  private Version oldAt(Bytes key, long time) {
    if (time < 0) {
      return null;
    }
    // It is the last of its segment that begins by then: what begins earlier has ended earlier.
    return history.firsts(time, historyRest(key, 0), historyRest(key, time), false,
        entry -> versionOf(entry).until() > time).map(this::versionOf).orElse(null);
  }

  /** When the first version or delete after a time begins; Long.MAX_VALUE: there is none. */
  private long nextAfter(Bytes key, long time, Version newest) {
    long[] next = {newest == null ? Long.MAX_VALUE : newest.from()};
    history.firsts(time, historyRest(key, time + 1), historyRest(key, Long.MAX_VALUE), true,
        entry -> {
          next[0] = Math.min(next[0], versionOf(entry).from());
          return false;
        });
    return next[0];
  }

  /** A value that is the newest, or, null, a delete. */
  private void storeNewest(Bytes key, byte[] value, long time, Version newest) {
    if (newest != null && newest.from() < time) {
      putOld(key, new Version(newest.from(), time, newest.value()));
    }
    putNewest(key, time, value);
  }

  /** One that is valid until a time at which there is another, or a delete. */
  private void storeOlder(Bytes key, byte[] value, long time, long next) {
    Version covering = oldAt(key, time);
    if (covering != null && covering.from() < time) {
      Version shortened = new Version(covering.from(), time, covering.value());
      putOld(key, shortened);
      if (!Arrays.equals(oldKey(key, shortened), oldKey(key, covering))) {
        space().put(oldKey(key, covering), null);
      }
    } else if (covering != null) {
      space().put(oldKey(key, covering), null);
    }
    if (value != null) {
      putOld(key, new Version(time, next, value));
    }
  }

  /** Returns until when the value is valid; PUT_RETURN_CODE_VALID_TO_UNDEFINED: it is the newest. */
  private long store(Bytes key, byte[] value, long time) {
    history.observe(time);
    Version newest = newest(key);
    long next = Long.MAX_VALUE;
    if (newest == null || newest.from() > time) {
      next = nextAfter(key, time, newest);
      byte[] deleteHere = oldKey(key, new Version(time, time, NONE));
      byte[] here = space().get(deleteHere);
      if (here != null && ByteBuffer.wrap(here).getLong() == time) {
        space().put(deleteHere, null);
      }
    }
    if (next == Long.MAX_VALUE) {
      storeNewest(key, value, time, newest);
    } else {
      storeOlder(key, value, time, next);
    }
    if (value == null) {
      putOld(key, new Version(time, time, NONE));
    }
    return next == Long.MAX_VALUE ? PUT_RETURN_CODE_VALID_TO_UNDEFINED : next;
  }

  private boolean isTooLate(long time) {
    return time < history.streamTime() - retention;
  }

  @Override
  void restore(ConsumerRecord<byte[], byte[]> record) {
    if (!isTooLate(record.timestamp())) {
      store(Bytes.wrap(record.key()), record.value(), record.timestamp());
    }
  }

  @Override
  public long put(Bytes key, byte[] value, long timestamp) {
    Objects.requireNonNull(key, "key cannot be null");
    long[] until = {PUT_RETURN_CODE_NOT_PUT};
    writing(() -> {
      if (isTooLate(timestamp)) {
        dropped.run();
      } else {
        space().together(() -> until[0] = store(key, value, timestamp));
      }
    });
    return until[0];
  }

  @Override
  public VersionedRecord<byte[]> delete(Bytes key, long timestamp) {
    Objects.requireNonNull(key, "key cannot be null");
    List<VersionedRecord<byte[]>> before = new ArrayList<>();
    writing(() -> {
      if (isTooLate(timestamp)) {
        dropped.run();
      } else {
        before.add(get(key, timestamp));
        space().together(() -> store(key, null, timestamp));
      }
    });
    return before.isEmpty() ? null : before.get(0);
  }

  private static VersionedRecord<byte[]> asRecord(Version version) {
    if (version == null) {
      return null;
    }
    return version.until() == Long.MAX_VALUE ? new VersionedRecord<>(version.value(), version.from())
        : new VersionedRecord<>(version.value(), version.from(), version.until());
  }

  @Override
  public VersionedRecord<byte[]> get(Bytes key) {
    Objects.requireNonNull(key, "key cannot be null");
    checkOpen();
    return asRecord(newest(key));
  }

  @Override
  public VersionedRecord<byte[]> get(Bytes key, long asOfTimestamp) {
    Objects.requireNonNull(key, "key cannot be null");
    checkOpen();
    Version newest = newest(key);
    if (newest != null && newest.from() <= asOfTimestamp) {
      return asRecord(newest);
    }
    return isTooLate(asOfTimestamp) ? null : asRecord(oldAt(key, asOfTimestamp));
  }

  /** All versions that are valid at some time between the two, inclusive. */
  private List<VersionedRecord<byte[]>> get(Bytes key, long from, long to, ResultOrder order) {
    checkOpen();
    List<Version> found = new ArrayList<>();
    Version newest = newest(key);
    if (newest != null && newest.from() <= to) {
      found.add(newest);
    }
    if (!isTooLate(to) && to >= 0) {
      try (Cursor cursor = history.scan(Math.max(from, 0), Long.MAX_VALUE, historyRest(key, 0),
          Segments.behind(historyRest(key, to)), UnaryOperator.identity(), true)) {
        while (cursor.hasNext()) {
          Version version = versionOf(cursor.next());
          if (version.until() > version.from() && version.until() > from) {
            found.add(version);
          }
        }
      }
    }
    Comparator<Version> byTime = Comparator.comparingLong(Version::from);
    found.sort(order == ResultOrder.ASCENDING ? byTime : byTime.reversed());
    return found.stream().map(BraidVersionedStore::asRecord).toList();
  }

  private record Records(Iterator<VersionedRecord<byte[]>> iterator)
      implements VersionedRecordIterator<byte[]> {
    @Override
    public boolean hasNext() {
      return iterator.hasNext();
    }

    @Override
    public VersionedRecord<byte[]> next() {
      return iterator.next();
    }

    @Override
    public void close() {}
  }

  /** Kafka Streams itself answers a query for many versions for its own store only. */
  @Override
  @SuppressWarnings("unchecked")
  public <R> QueryResult<R> query(Query<R> query, PositionBound bound, QueryConfig config) {
    if (!(query instanceof MultiVersionedKeyQuery)) {
      return super.query(query, bound, config);
    }
    MultiVersionedKeyQuery<Bytes, byte[]> versions = (MultiVersionedKeyQuery<Bytes, byte[]>) query;
    synchronized (getPosition()) {
      int partition = context().taskId().partition();
      QueryResult<R> result;
      if (Internals.isPermitted(getPosition(), bound, partition)) {
        result = (QueryResult<R>) QueryResult.forResult(new Records(get(versions.key(),
            versions.fromTime().map(Instant::toEpochMilli).orElse(0L),
            versions.toTime().map(Instant::toEpochMilli).orElse(Long.MAX_VALUE),
            versions.resultOrder()).iterator()));
      } else {
        result = QueryResult.notUpToBound(getPosition(), bound, partition);
      }
      result.setPosition(getPosition().copy());
      return result;
    }
  }
}
