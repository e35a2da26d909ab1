package io.braid;

import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.Iterator;
import java.util.Map.Entry;
import java.util.NoSuchElementException;
import org.iq80.leveldb.DBException;

/**
 * Goes once over a range of the database, forward or backward, and shows the state of when it was
 * made. Many entries come with one call of the native library: few at first, up to 64 as it goes
 * on. After the database or the scan was closed, the next call that needs the store is a
 * DBException. Calls from several threads take turns.
 */
public final class BraidScan extends Handle implements Iterator<Entry<byte[], byte[]>>, AutoCloseable {
  private static final int FEW = 8;
  private static final int MANY = 64;
  private static final int SIZES = 2 * Integer.BYTES;

  private final boolean forward;
  private final byte[][] keys = new byte[MANY][];
  private final byte[][] values = new byte[MANY][];
  private int at;
  private int count;
  private int most = FEW;
  private boolean ended;

  BraidScan(long iterator, boolean forward) {
    super("the scan", iterator, Native::destroyIterator);
    this.forward = forward;
  }

  private void fill() {
    Scratch scratch = Scratch.mine();
    long scan = enter(scratch);
    try {
      long got = Native.scanNext(scan, forward, most, scratch.address(), scratch.capacity());
      while (got < 0) {
        scratch.ensure(-got);
        got = Native.scanNext(scan, forward, most, scratch.address(), scratch.capacity());
      }
      at = 0;
      count = (int) got;
      ended = count == 0;
      most = MANY;
      int from = 0;
      for (int i = 0; i < count; ++i) {
        int keySize = scratch.size(from);
        int valueSize = scratch.size(from + Integer.BYTES);
        keys[i] = scratch.take(from + SIZES, keySize);
        values[i] = scratch.take(from + SIZES + keySize, valueSize);
        from += SIZES + keySize + valueSize;
      }
    } finally {
      leave(scratch);
      scratch.settle();
    }
  }

  @Override
  public synchronized boolean hasNext() throws DBException {
    if (isClosed()) {
      throw new DBException(this + " is closed");
    }
    if (at == count && !ended) {
      fill();
    }
    return at < count;
  }

  /** The key of the entry that next() gives. */
  public synchronized byte[] peekKey() throws DBException {
    if (!hasNext()) {
      throw new NoSuchElementException("the scan is at its end");
    }
    return keys[at];
  }

  @Override
  public synchronized Entry<byte[], byte[]> next() throws DBException {
    Entry<byte[], byte[]> entry = new SimpleImmutableEntry<>(peekKey(), values[at]);
    keys[at] = null;
    values[at] = null;
    ++at;
    return entry;
  }
}
