package io.braid;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.Range;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.iq80.leveldb.WriteBatch;
import org.iq80.leveldb.WriteOptions;

/**
 * An open pool. All calls from any thread. What is acknowledged is durable as the C++ API says:
 * on persistent memory when the call returns, on page-cache media against a crash of the process,
 * and with {@code sync} against power loss. After close() every call is a DBException, also of
 * iterators and snapshots, and closing them in any order is safe.
 */
public final class BraidDB extends Handle implements DB {
  private static final ReadOptions NEWEST = new ReadOptions();
  private static final WriteOptions PLAIN = new WriteOptions();

  BraidDB(String path, long db) {
    super("the database " + path, db, Native::close);
  }

  private static long native_(WriteOptions options) {
    return options.sync() ? Native.SYNC : Native.NO_SYNC;
  }

  /** To be followed by leaveSnapshot, in any case. */
  private long readOptions(ReadOptions options, Scratch scratch) {
    BraidSnapshot snapshot = snapshotOf(options);
    return snapshot == null ? Native.NEWEST : snapshot.enterToo(scratch);
  }

  private BraidSnapshot snapshotOf(ReadOptions options) {
    Snapshot snapshot = options.snapshot();
    if (snapshot != null
        && (!(snapshot instanceof BraidSnapshot) || ((BraidSnapshot) snapshot).db() != this)) {
      throw new IllegalArgumentException("the snapshot is one of another database");
    }
    return (BraidSnapshot) snapshot;
  }

  private static void leaveSnapshot(Scratch scratch) {
    if (scratch.usingToo != null) {
      scratch.usingToo = null;
    }
  }

  @Override
  public byte[] get(byte[] key) throws DBException {
    return get(key, NEWEST);
  }

  /** The value, or null when there is no such key. */
  @Override
  public byte[] get(byte[] key, ReadOptions options) throws DBException {
    Objects.requireNonNull(key, "key");
    Scratch scratch = Scratch.mine();
    scratch.load(key);
    long db = enter(scratch);
    try {
      long at = readOptions(options, scratch);
      long size = Native.get(db, at, scratch.address(), key.length, scratch.capacity());
      while (size > scratch.capacity()) {
        scratch.ensure(Math.max(size, key.length));
        scratch.load(key);
        size = Native.get(db, at, scratch.address(), key.length, scratch.capacity());
      }
      return size < 0 ? null : scratch.take(0, (int) size);
    } finally {
      leaveSnapshot(scratch);
      leave(scratch);
      scratch.settle();
    }
  }

  /** The values of many keys as of one moment, null for each that is not there: side by side. */
  public byte[][] multiGet(List<byte[]> keys, ReadOptions options) throws DBException {
    byte[][] array = keys.toArray(new byte[0][]);
    for (byte[] key : array) {
      Objects.requireNonNull(key, "key");
    }
    Scratch scratch = Scratch.mine();
    long db = enter(scratch);
    try {
      return Native.multiGet(db, readOptions(options, scratch), array);
    } finally {
      leaveSnapshot(scratch);
      leave(scratch);
    }
  }

  public byte[][] multiGet(List<byte[]> keys) throws DBException {
    return multiGet(keys, NEWEST);
  }

  @Override
  public void put(byte[] key, byte[] value) throws DBException {
    put(key, value, PLAIN);
  }

  /** A snapshot is only made when the options ask for one; else null. */
  @Override
  public Snapshot put(byte[] key, byte[] value, WriteOptions options) throws DBException {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(value, "value");
    Scratch scratch = Scratch.mine();
    scratch.load(key, value);
    long db = enter(scratch);
    try {
      Native.put(db, native_(options), scratch.address(), key.length, value.length);
    } finally {
      leave(scratch);
      scratch.settle();
    }
    return options.snapshot() ? getSnapshot() : null;
  }

  @Override
  public void delete(byte[] key) throws DBException {
    delete(key, PLAIN);
  }

  @Override
  public Snapshot delete(byte[] key, WriteOptions options) throws DBException {
    Objects.requireNonNull(key, "key");
    Scratch scratch = Scratch.mine();
    scratch.load(key);
    long db = enter(scratch);
    try {
      Native.delete(db, native_(options), scratch.address(), key.length);
    } finally {
      leave(scratch);
    }
    return options.snapshot() ? getSnapshot() : null;
  }

  /** Stores the value if there is no such key; returns whether it did. One atomic step. */
  public boolean putIfAbsent(byte[] key, byte[] value) throws DBException {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(value, "value");
    Scratch scratch = Scratch.mine();
    scratch.load(key, value);
    long db = enter(scratch);
    try {
      return Native.putIfAbsent(
          db, Native.NO_SYNC, scratch.address(), key.length, value.length);
    } finally {
      leave(scratch);
      scratch.settle();
    }
  }

  /**
   * Stores `desired` if the key's value is `expected`, byte for byte, or, with `expected` null, if
   * there is no such key; returns whether it did. One atomic step.
   */
  public boolean compareAndSwap(byte[] key, byte[] expected, byte[] desired) throws DBException {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(desired, "desired");
    Scratch scratch = Scratch.mine();
    scratch.load(key, expected, desired);
    long db = enter(scratch);
    try {
      return Native.compareAndSwap(db, Native.NO_SYNC, scratch.address(), key.length,
          Scratch.sizeOf(expected), desired.length);
    } finally {
      leave(scratch);
      scratch.settle();
    }
  }

  /** Deletes all keys from `begin` to before `end` (null: to the last); returns their number. */
  public long deleteRange(byte[] begin, byte[] end) throws DBException {
    Objects.requireNonNull(begin, "begin");
    Scratch scratch = Scratch.mine();
    scratch.load(begin, end);
    long db = enter(scratch);
    try {
      return Native.deleteRange(
          db, Native.NO_SYNC, scratch.address(), begin.length, Scratch.sizeOf(end));
    } finally {
      leave(scratch);
    }
  }

  @Override
  public void write(WriteBatch updates) throws DBException {
    write(updates, PLAIN);
  }

  /** All updates of the batch in their order, as one atomic step. */
  @Override
  public Snapshot write(WriteBatch updates, WriteOptions options) throws DBException {
    if (!(updates instanceof BraidWriteBatch)) {
      throw new IllegalArgumentException("the write batch is not one of createWriteBatch()");
    }
    BraidWriteBatch batch = (BraidWriteBatch) updates;
    Scratch scratch = Scratch.mine();
    synchronized (batch) {
      long db = enter(scratch);
      try {
        Native.write(db, native_(options), batch.enterToo(scratch));
      } finally {
        leaveSnapshot(scratch);
        leave(scratch);
      }
    }
    return options.snapshot() ? getSnapshot() : null;
  }

  /**
   * Loads many records past log and memtable: each is written once, in the order of the keys.
   * {@code sorted}: the keys come strictly ascending, in the order of the database, and all records
   * are there, durable, when it returns, or none is. Else they are sorted in as many runs as the
   * memory budget makes of them, each all or none, and after an error the runs before are there.
   * What the iterator throws ends the call, and is thrown. It is called by this thread, and must not
   * use this database, nor its iterators; another one it may. Each call makes a table or more, of
   * any size: for batches of thousands of records, write() costs less.
   *
   * @return how many records are in the database by this call
   */
  public long ingest(
      Iterator<? extends Map.Entry<byte[], byte[]>> records, boolean sorted) throws DBException {
    RecordFeed feed = new RecordFeed(Objects.requireNonNull(records, "records"));
    Scratch scratch = Scratch.mine();
    long db = hold(scratch);
    try {
      return Native.ingest(db, sorted, feed);
    } finally {
      release(scratch);
    }
  }

  /** A transaction that sees the state of this moment; close it. */
  public BraidTransaction beginTransaction() throws DBException {
    Scratch scratch = Scratch.mine();
    long db = enter(scratch);
    try {
      return new BraidTransaction(Native.beginTransaction(db));
    } finally {
      leave(scratch);
    }
  }

  @Override
  public BraidWriteBatch createWriteBatch() {
    return new BraidWriteBatch();
  }

  @Override
  public BraidIterator iterator() {
    return iterator(NEWEST);
  }

  /** Close it: it keeps what it shows alive. Begins at the first entry. */
  @Override
  public BraidIterator iterator(ReadOptions options) {
    return iterator(options, null, null);
  }

  /**
   * The same from `begin` (null: the first) to before `end` (null: to the last): moves beyond come
   * to an end there, whatever lies behind.
   */
  public BraidIterator iterator(ReadOptions options, byte[] begin, byte[] end) {
    return new BraidIterator(nativeIterator(options, begin, end));
  }

  /**
   * The entries of this moment from `begin` (null: the first) to before `end` (null: to the last),
   * in this order or, not `forward`, from the last to the first. It takes up to 64 entries from the
   * store at a time, which makes an entry cost a fraction of what an iterator's does. Close it: it
   * keeps what it shows alive.
   */
  public BraidScan scan(byte[] begin, byte[] end, boolean forward) throws DBException {
    return scan(NEWEST, begin, end, forward);
  }

  /** The same, of a snapshot's moment. */
  public BraidScan scan(ReadOptions options, byte[] begin, byte[] end, boolean forward)
      throws DBException {
    return new BraidScan(nativeIterator(options, begin, end), forward);
  }

  private long nativeIterator(ReadOptions options, byte[] begin, byte[] end) {
    BraidSnapshot snapshot = snapshotOf(options);
    Scratch scratch = Scratch.mine();
    scratch.load(begin, end);
    long db = enter(scratch);
    try {
      if (snapshot != null) {
        snapshot.enterToo(scratch);
      }
      return Native.createIterator(db, snapshot == null ? 0 : snapshot.snapshot(),
          scratch.address(), Scratch.sizeOf(begin), Scratch.sizeOf(end));
    } finally {
      leaveSnapshot(scratch);
      leave(scratch);
      scratch.settle();
    }
  }

  /** The state of this moment; close it: it keeps overwritten values alive. */
  @Override
  public Snapshot getSnapshot() {
    Scratch scratch = Scratch.mine();
    long db = enter(scratch);
    try {
      return BraidSnapshot.of(this, Native.createSnapshot(db));
    } finally {
      leave(scratch);
    }
  }

  /** Estimates of the bytes in ranges of keys. */
  @Override
  public long[] getApproximateSizes(Range... ranges) {
    long[] sizes = new long[ranges.length];
    Scratch scratch = Scratch.mine();
    for (int i = 0; i < ranges.length; ++i) {
      byte[] begin = ranges[i].start();
      byte[] end = ranges[i].limit();
      scratch.load(begin, end);
      long db = enter(scratch);
      try {
        sizes[i] = Native.approximateSize(db, scratch.address(), begin.length, end.length);
      } finally {
        leave(scratch);
      }
    }
    return sizes;
  }

  private interface Call<T> {
    T on(long db);
  }

  private <T> T call(Call<T> call) {
    Scratch scratch = Scratch.mine();
    long db = enter(scratch);
    try {
      return call.on(db);
    } finally {
      leave(scratch);
    }
  }

  /** A property as text, null when the name is unknown: "braid.stats", "braid.stats.json" ... */
  @Override
  public String getProperty(String name) {
    return call(db -> Native.property(db, name.getBytes(StandardCharsets.UTF_8)));
  }

  /** All counters as one JSON object. */
  public String statistics() {
    return call(Native::statistics);
  }

  /** Turns what is in the memtable into a table and waits for it. */
  public void flush() throws DBException {
    call(db -> {
      Native.flush(db);
      return null;
    });
  }

  /**
   * A DBException with the error that has ended writes until the database is opened again, or the
   * reason why they wait for room; nothing while writes are taken. Waits for nothing.
   */
  public void backgroundStatus() throws DBException {
    call(db -> {
      Native.backgroundStatus(db);
      return null;
    });
  }

  /** Tries again a flush that found no room, where the cause is gone; then as backgroundStatus. */
  public void resume() throws DBException {
    call(db -> {
      Native.resume(db);
      return null;
    });
  }

  /** Checks every entry and link, beside reads and writes; DBException names the first problem. */
  public void verify() throws DBException {
    call(db -> {
      Native.verify(db);
      return null;
    });
  }

  /** Writes the state of this moment to a new pool at `target`, beside reads and writes. */
  public void checkpoint(File target) throws DBException {
    call(db -> {
      Native.checkpoint(db, target.getPath().getBytes(StandardCharsets.UTF_8));
      return null;
    });
  }

  /**
   * Flushes and merges what holds keys from `begin` (null: the first) to before `end` (null: to the
   * last), collects garbage, and waits for it.
   */
  @Override
  public void compactRange(byte[] begin, byte[] end) throws DBException {
    compactRange(begin, end, null);
  }

  /**
   * The same, with progress (may be null), called by this thread some twenty times a second. After
   * it has cancelled, a DBException says so, and what was done by then stays.
   */
  public void compactRange(byte[] begin, byte[] end, CompactionProgress progress)
      throws DBException {
    Scratch scratch = Scratch.mine();
    scratch.load(begin, end);
    long db = enter(scratch);
    try {
      Native.compact(db, scratch.address(), Scratch.sizeOf(begin), Scratch.sizeOf(end),
          progress);
    } finally {
      leave(scratch);
    }
  }

  /**
   * From now on the background writes at most so many bytes a second; 0: as many as it can, as after
   * each open. Lifted while a writer waits.
   */
  public void setBackgroundLimit(long bytesPerSecond) throws DBException {
    if (bytesPerSecond < 0) {
      throw new IllegalArgumentException("bytesPerSecond is " + bytesPerSecond);
    }
    call(db -> {
      Native.setBackgroundLimit(db, bytesPerSecond);
      return null;
    });
  }

  /**
   * While it is on, `braid top` and `braid metrics` of another process see this database: its
   * statistics are written once a second to a file beside the pool's folder, until the close.
   */
  public void publishStatistics(boolean on) throws DBException {
    call(db -> {
      Native.publishStatistics(db, on);
      return null;
    });
  }

  /**
   * Deletes what is over: the keys of timeKey() with this prefix whose time is before `time`.
   * Returns their number. It is one deleteRange: a scan of the keys that go.
   */
  public long expireBefore(byte[] prefix, long time) throws DBException {
    return deleteRange(timeKey(prefix, 0, null), timeKey(prefix, time, null));
  }

  /**
   * A key that is ordered by time: the prefix, the time in eight bytes, the most significant first,
   * as an unsigned number, and `rest` (may be null), which tells keys of one time apart.
   */
  public static byte[] timeKey(byte[] prefix, long time, byte[] rest) {
    ByteBuffer key = ByteBuffer.allocate(
        prefix.length + Long.BYTES + (rest == null ? 0 : rest.length));
    key.put(prefix).putLong(time);
    return rest == null ? key.array() : key.put(rest).array();
  }

  /** The first key behind all that begin with `prefix`; null: there is none. */
  public static byte[] prefixUpperBound(byte[] prefix) {
    int size = prefix.length;
    while (size > 0 && prefix[size - 1] == (byte) 0xff) {
      --size;
    }
    byte[] bound = Arrays.copyOf(prefix, size);
    if (size == 0) {
      return null;
    }
    ++bound[size - 1];
    return bound;
  }

  /** Not supported: merges are never in the way of writes. */
  @Override
  public void suspendCompactions() {
    throw new UnsupportedOperationException(
        "braid merges in place beside writes: there is nothing to suspend. To copy the files of an"
            + " open database use checkpoint()");
  }

  /** Nothing was suspended. */
  @Override
  public void resumeCompactions() {}

  /**
   * Makes everything durable and frees the pool, once the calls under way have ended. An error of
   * the last flush has no way out of here: call flush() before, if you need it.
   */
  @Override
  public void close() {
    super.close();
  }
}
