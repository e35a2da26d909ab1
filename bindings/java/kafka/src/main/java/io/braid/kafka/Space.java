package io.braid.kafka;

import io.braid.BraidDB;
import io.braid.BraidScan;
import io.braid.BraidWriteBatch;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.Map.Entry;
import java.util.NoSuchElementException;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.WriteOptions;

/**
 * The part of a pool that belongs to one store of one task: its namespace. Keys are the namespace's
 * eight bytes, a byte that says what kind they are of, and the rest.
 *
 * <p>With exactly-once, writes wait in an ordered buffer, which reads look into first, until the
 * commit applies them with the offsets and the position as one atomic batch: the pool never holds
 * what was not committed. With at-least-once they go to the pool at once, and the commit adds the
 * offsets. A batch of a restore goes to the pool in any case, its offset last.
 *
 * <p>Writes, commits and closing are for one thread at a time, which the stores see to; reads for
 * any thread meanwhile. A read takes the buffer before it looks into the pool, and a commit replaces
 * the buffer after it has written it: no read misses an entry on its way from one to the other.
 */
final class Space {
  /** Kinds of keys. */
  static final byte OWN = 0;

  static final byte DATA = 1;
  static final byte HISTORY = 2;
  static final byte INDEX = 3;

  /** In the buffer: there is no such key any more. */
  static final byte[] DELETED = new byte[0];

  private static final byte[] NONE = new byte[0];
  private static final String OFFSET = "o";
  private static final String POSITION = "p";
  private static final String CLOCK = "t";
  private static final String FORMAT = "f";

  /** From so many bytes on the buffer asks for a commit, so that the heap stays as it is. */
  private static final long LARGE_BUFFER = 32 << 20;

  private final String what;
  private final SharedPool pool;
  private final BraidDB db;
  private final File marker;
  private final byte[] namespace;
  private final boolean buffered;
  private final WriteOptions commitOptions;
  private final StateStoreContext context;
  private final Map<String, Long> offsets = new HashMap<>();
  private boolean staging;
  private volatile long bufferBytes; // one thread writes it
  private long asked; // from how many on it asked for a commit
  private byte[] storedPosition;
  private byte[] storedClock;
  private volatile ConcurrentNavigableMap<byte[], byte[]> buffer = emptyBuffer();
  private volatile boolean open = true;

  private Space(StateStoreContext context, BraidConfig config, String store, SharedPool pool,
      File marker, byte[] namespace) {
    this.context = context;
    this.what = "the store " + store + " of the task " + context.taskId();
    this.pool = pool;
    this.db = pool.db();
    this.marker = marker;
    this.namespace = namespace;
    this.buffered = config.exactlyOnce && !isGlobal(context);
    this.commitOptions = new WriteOptions().sync(config.sync);
    load();
  }

  static boolean isGlobal(StateStoreContext context) {
    return context.taskId().partition() < 0;
  }

  /** Opens the store's part of its instance's pool. To be closed. */
  static Space open(StateStoreContext context, String store) {
    BraidConfig config = new BraidConfig(context);
    SharedPool pool = SharedPool.acquire(config, Internals.registry(context));
    File marker = new File(new File(context.stateDir(), "braid"), store);
    boolean done = false;
    try {
      byte[] namespace = pool.openNamespace(marker);
      try {
        Space space = new Space(context, config, store, pool, marker, namespace);
        done = true;
        return space;
      } finally {
        if (!done) {
          pool.closeNamespace(marker);
        }
      }
    } finally {
      if (!done) {
        pool.release();
      }
    }
  }

  private void load() {
    doing("opened", () -> {
      storedPosition = db.get(ownKey(POSITION));
      storedClock = db.get(ownKey(CLOCK));
      byte[] begin = ownKey(OFFSET);
      try (BraidScan scan = db.scan(begin, BraidDB.prefixUpperBound(begin), true)) {
        while (scan.hasNext()) {
          Entry<byte[], byte[]> entry = scan.next();
          byte[] key = entry.getKey();
          offsets.put(new String(key, begin.length, key.length - begin.length,
              StandardCharsets.UTF_8), ByteBuffer.wrap(entry.getValue()).getLong());
        }
      }
      return null;
    });
  }

  /** Refuses entries that another kind of store has written, which mean something else. */
  void checkFormat(String format) {
    byte[] known = doing("opened", () -> db.get(ownKey(FORMAT)));
    String found = known == null ? "" : new String(known, StandardCharsets.UTF_8);
    if (found.equals(format)) {
      return;
    }
    if (!isEmpty()) {
      throw new ProcessorStateException(what + " was written as \"" + found
          + "\" and is now opened as \"" + format + "\": remove the folder " + context.stateDir()
          + ", and it is restored from its changelog");
    }
    doing("opened",
        () -> db.put(ownKey(FORMAT), format.getBytes(StandardCharsets.UTF_8), new WriteOptions()));
  }

  private boolean isEmpty() {
    try (Cursor any = scan(key(DATA, NONE), key((byte) (HISTORY + 1), NONE), true)) {
      return !any.hasNext();
    }
  }

  private static ConcurrentNavigableMap<byte[], byte[]> emptyBuffer() {
    return new ConcurrentSkipListMap<>(Arrays::compareUnsigned);
  }

  /** The store's exceptions are Kafka Streams'. */
  private <T> T doing(String verb, Supplier<T> work) {
    try {
      return work.get();
    } catch (DBException e) {
      throw failed(verb, e);
    }
  }

  private RuntimeException failed(String verb, DBException e) {
    if (!open) {
      return new InvalidStateStoreException(what + " is closed");
    }
    return new ProcessorStateException(what + " can't be " + verb + ": " + e.getMessage()
        + " (pool " + pool.path() + "; what was committed is kept, and the application resumes"
        + " from there once the cause is gone)", e);
  }

  private void checkOpen() {
    if (!open) {
      throw new InvalidStateStoreException(what + " is closed");
    }
  }

  byte[] key(byte kind, byte[] rest) {
    return ByteBuffer.allocate(namespace.length + 1 + rest.length).put(namespace).put(kind)
        .put(rest).array();
  }

  /** What is behind the kind. */
  byte[] rest(byte[] key) {
    return Arrays.copyOfRange(key, namespace.length + 1, key.length);
  }

  private byte[] ownKey(String name) {
    return key(OWN, name.getBytes(StandardCharsets.UTF_8));
  }

  byte[] get(byte[] key) {
    checkOpen();
    byte[] newer = buffer.get(key);
    if (newer != null) {
      return newer == DELETED ? null : newer;
    }
    return doing("read", () -> db.get(key));
  }

  /** Entries from `begin` to before `end`. */
  Cursor scan(byte[] begin, byte[] end, boolean forward) {
    checkOpen();
    if (Arrays.compareUnsigned(begin, end) >= 0) {
      return emptyCursor();
    }
    ConcurrentNavigableMap<byte[], byte[]> newer = buffer.subMap(begin, true, end, false);
    return doing("read", () -> new GuardedCursor(new MergedCursor(db.scan(begin, end, forward),
        (forward ? newer : newer.descendingMap()).entrySet().iterator(), forward)));
  }

  static Cursor emptyCursor() {
    return new Cursor() {
      @Override
      public boolean hasNext() {
        return false;
      }

      @Override
      public byte[] peekKey() {
        throw new NoSuchElementException();
      }

      @Override
      public Entry<byte[], byte[]> next() {
        throw new NoSuchElementException();
      }

      @Override
      public void close() {}
    };
  }

  /** Entries of a kind. */
  Cursor scan(byte kind) {
    byte[] begin = key(kind, NONE);
    return scan(begin, BraidDB.prefixUpperBound(begin), true);
  }

  /** About how many entries there are of a kind: exact up to 1,024, else by their mean size. */
  long count(byte kind) {
    int few = 1024;
    byte[] begin = key(kind, NONE);
    byte[] end = BraidDB.prefixUpperBound(begin);
    long bytes = 0;
    long counted = 0;
    try (Cursor cursor = scan(begin, end, true)) {
      for (; counted < few && cursor.hasNext(); ++counted) {
        Entry<byte[], byte[]> entry = cursor.next();
        bytes += entry.getKey().length + entry.getValue().length;
      }
      if (!cursor.hasNext()) {
        return counted;
      }
    }
    long all = doing("read",
        () -> db.getApproximateSizes(new org.iq80.leveldb.Range(begin, end))[0]);
    return Math.max(counted, Math.round((double) all / bytes * counted));
  }

  /** Stores the value; null: deletes the key. */
  void put(byte[] key, byte[] value) {
    checkOpen();
    if (buffered || staging) {
      buffer.put(key, value == null ? DELETED : value.length == 0 ? new byte[0] : value);
      bufferBytes = bufferBytes + key.length + (value == null ? 0 : value.length);
      if (bufferBytes - asked > LARGE_BUFFER && !staging) {
        asked = bufferBytes;
        Internals.requestCommit(context);
      }
      return;
    }
    doing("written", () -> value == null ? db.delete(key, new WriteOptions())
        : db.put(key, value, new WriteOptions()));
  }

  /** All writes of `work` become one atomic batch, or, with exactly-once, part of the next commit. */
  void together(Runnable work) {
    if (buffered || staging) {
      work.run();
      return;
    }
    stage(work, batch -> {}, Integer.MAX_VALUE);
  }

  private interface More {
    void to(BraidWriteBatch batch);
  }

  /** `most`: updates of one batch; those after them are in further ones, `more` in the last. */
  private void stage(Runnable work, More more, int most) {
    checkOpen();
    staging = true;
    boolean done = false;
    try {
      work.run();
      write(more, new WriteOptions(), most);
      done = true;
    } finally {
      staging = false;
      if (!done && !buffered) {
        empty();
      }
    }
  }

  private void write(More more, WriteOptions options, int most) {
    ConcurrentNavigableMap<byte[], byte[]> written = buffer;
    Iterator<Entry<byte[], byte[]>> updates = written.entrySet().iterator();
    doing("written", () -> {
      do {
        try (BraidWriteBatch batch = db.createWriteBatch()) {
          for (int n = 0; n < most && updates.hasNext(); ++n) {
            Entry<byte[], byte[]> update = updates.next();
            if (update.getValue() == DELETED) {
              batch.delete(update.getKey());
            } else {
              batch.put(update.getKey(), update.getValue());
            }
          }
          if (!updates.hasNext()) {
            more.to(batch);
          }
          db.write(batch, options);
        }
      } while (updates.hasNext());
      return null;
    });
    if (!written.isEmpty()) {
      empty();
    }
  }

  private void empty() {
    buffer = emptyBuffer();
    bufferBytes = 0;
    asked = 0;
  }

  private static byte[] number(long value) {
    return ByteBuffer.allocate(Long.BYTES).putLong(value).array();
  }

  /**
   * A batch of a restore, with the offset of its last record in the changelog (null: one of a global
   * store, whose offsets the commit alone knows). It is stored in atomic batches of `most` updates, the
   * last with the offset: after a crash in between the records before it are stored once more.
   */
  void restore(Runnable work, TopicPartition partition, Long offset, Supplier<byte[]> clock, int most) {
    byte[][] time = new byte[1][];
    stage(work, batch -> {
      if (partition != null) {
        batch.put(ownKey(OFFSET + partition), number(offset));
      }
      time[0] = clock.get();
      if (time[0] != null) {
        batch.put(ownKey(CLOCK), time[0]);
      }
    }, most);
    storedClock = time[0];
    if (partition != null) {
      offsets.put(partition.toString(), offset);
    }
  }

  /**
   * What was written since the last commit, the offsets, the position and the store's clock, as one
   * durable batch. No offsets: forgets all; one that is null: forgets that. Writes nothing where
   * nothing has changed.
   */
  void commit(Map<TopicPartition, Long> committed, Position position, byte[] clock) {
    commit(committed, position, clock,
        committed.isEmpty() ? new HashMap<>() : new HashMap<>(offsets));
  }

  private void commit(Map<TopicPartition, Long> committed, Position position, byte[] clock,
      Map<String, Long> after) {
    checkOpen();
    committed.forEach((partition, offset) -> {
      if (offset == null) {
        after.remove(partition.toString());
      } else {
        after.put(partition.toString(), offset);
      }
    });
    byte[] place = Internals.bytesOf(position);
    boolean same = Arrays.equals(place, storedPosition)
        || storedPosition == null && position.isEmpty();
    if (buffer.isEmpty() && after.equals(offsets) && same && Arrays.equals(clock, storedClock)) {
      return;
    }
    write(batch -> {
      offsets.keySet().forEach(name -> {
        if (!after.containsKey(name)) {
          batch.delete(ownKey(OFFSET + name));
        }
      });
      after.forEach((name, offset) -> batch.put(ownKey(OFFSET + name), number(offset)));
      batch.put(ownKey(POSITION), place);
      if (clock != null) {
        batch.put(ownKey(CLOCK), clock);
      }
    }, commitOptions, Integer.MAX_VALUE);
    offsets.clear();
    offsets.putAll(after);
    storedPosition = place;
    storedClock = clock;
  }

  /** As commit, but offsets that are not named stay as they are. */
  void commitWritten(Map<TopicPartition, Long> written, Position position, byte[] clock) {
    commit(written, position, clock, new HashMap<>(offsets));
  }

  /** Whether writes wait for the commit of their transaction. */
  boolean isBuffered() {
    return buffered;
  }

  /**
   * The offset of the last commit. With exactly-once a store that has none yet and holds nothing says
   * that all of the changelog is to be read, as Kafka Streams would else take it for damaged.
   */
  Long offset(TopicPartition partition) {
    Long offset = offsets.get(partition.toString());
    if (offset == null && buffered) {
      return isEmpty() ? Internals.OFFSET_UNKNOWN : null;
    }
    return offset;
  }

  /** That of the last commit. */
  Position position() {
    return storedPosition == null ? Position.emptyPosition() : Internals.positionOf(storedPosition);
  }

  /** That of the last commit or restore; null: there was none. */
  byte[] clock() {
    return storedClock;
  }

  /** Deletes a range that no read asks for any more, in the background. */
  void sweep(byte[] begin, byte[] end) {
    pool.sweeper().delete(begin, end);
  }

  /** Bytes of keys and values that wait for the commit. */
  long uncommittedBytes() {
    return bufferBytes;
  }

  boolean isOpen() {
    return open;
  }

  /** Drops what was not committed. */
  void close() {
    if (!open) {
      return;
    }
    open = false;
    empty();
    pool.closeNamespace(marker);
    pool.release();
  }

  /** Turns what the store's library throws into Kafka Streams' exceptions. */
  private final class GuardedCursor implements Cursor {
    private final Cursor cursor;

    GuardedCursor(Cursor cursor) {
      this.cursor = cursor;
    }

    @Override
    public boolean hasNext() {
      return doing("read", cursor::hasNext);
    }

    @Override
    public byte[] peekKey() {
      return doing("read", cursor::peekKey);
    }

    @Override
    public Entry<byte[], byte[]> next() {
      return doing("read", cursor::next);
    }

    @Override
    public void close() {
      cursor.close();
    }
  }
}
