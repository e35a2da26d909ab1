package io.braid;

import java.util.AbstractMap.SimpleImmutableEntry;
import java.util.Map.Entry;
import java.util.NoSuchElementException;
import java.util.Objects;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.DBIterator;

/**
 * Stands between two entries: next() gives the one behind, prev() the one before. Shows the state
 * of when it was made, or of its snapshot. Begins at the first entry. After the database was closed
 * each move is a DBException. Calls from several threads take turns.
 */
public final class BraidIterator extends Handle implements DBIterator {
  // As in braid_jni.c.
  private static final int STAY = 0;
  private static final int NEXT = 1;
  private static final int PREV = 2;
  private static final int FIRST = 3;
  private static final int LAST = 4;
  private static final int SEEK = 5;

  private static final int SIZES = 2 * Long.BYTES;
  private static final byte[] NO_KEY = {};

  /** What next() gives, on which the native iterator stands; null: nothing, behind the last. */
  private Entry<byte[], byte[]> next;

  private boolean begun;

  BraidIterator(long iterator) {
    super("the iterator", iterator, Native::destroyIterator);
  }

  private Entry<byte[], byte[]> move(int how, byte[] key) {
    Scratch scratch = Scratch.mine();
    scratch.load(key);
    long iterator = enter(scratch);
    try {
      long bytes =
          Native.iteratorMove(iterator, how, scratch.address(), key.length, scratch.capacity());
      while (bytes > scratch.capacity()) {
        scratch.ensure(bytes);
        bytes = Native.iteratorMove(iterator, STAY, scratch.address(), 0, scratch.capacity());
      }
      if (bytes < 0) {
        return null;
      }
      int keySize = (int) scratch.number(0);
      int valueSize = (int) scratch.number(Long.BYTES);
      return new SimpleImmutableEntry<>(
          scratch.take(SIZES, keySize), scratch.take(SIZES + keySize, valueSize));
    } finally {
      leave(scratch);
      scratch.settle();
    }
  }

  private void place(int how, byte[] key) {
    next = move(how, key);
    begun = true;
  }

  private void begin() {
    if (isClosed()) {
      throw new DBException(this + " is closed");
    }
    if (!begun) {
      place(FIRST, NO_KEY);
    }
  }

  /** Shows the newest state from now on, and begins at the first entry again. */
  public synchronized void refresh() throws DBException {
    Scratch scratch = Scratch.mine();
    long iterator = enter(scratch);
    try {
      Native.refresh(iterator);
      next = null;
      begun = false;
    } finally {
      leave(scratch);
    }
  }

  @Override
  public synchronized void seek(byte[] key) {
    place(SEEK, Objects.requireNonNull(key, "key"));
  }

  @Override
  public synchronized void seekToFirst() {
    place(FIRST, NO_KEY);
  }

  /** To before the last entry, which next() then gives, as in LevelDB's own JNI binding. */
  @Override
  public synchronized void seekToLast() {
    place(LAST, NO_KEY);
  }

  @Override
  public synchronized boolean hasNext() {
    begin();
    return next != null;
  }

  @Override
  public synchronized Entry<byte[], byte[]> peekNext() {
    begin();
    if (next == null) {
      throw new NoSuchElementException("the iterator is behind the last entry");
    }
    return next;
  }

  @Override
  public synchronized Entry<byte[], byte[]> next() {
    Entry<byte[], byte[]> entry = peekNext();
    next = move(NEXT, NO_KEY);
    return entry;
  }

  /** The entry before, on which the native iterator then stands; null: it stands where it did. */
  private Entry<byte[], byte[]> back() {
    begin();
    Entry<byte[], byte[]> entry = move(next == null ? LAST : PREV, NO_KEY);
    if (entry == null && next != null) {
      move(FIRST, NO_KEY);
    }
    return entry;
  }

  @Override
  public synchronized boolean hasPrev() {
    Entry<byte[], byte[]> before = back();
    if (before != null) {
      move(NEXT, NO_KEY);
    }
    return before != null;
  }

  @Override
  public synchronized Entry<byte[], byte[]> peekPrev() {
    Entry<byte[], byte[]> before = back();
    if (before == null) {
      throw new NoSuchElementException("the iterator is before the first entry");
    }
    move(NEXT, NO_KEY);
    return before;
  }

  @Override
  public synchronized Entry<byte[], byte[]> prev() {
    Entry<byte[], byte[]> before = back();
    if (before == null) {
      throw new NoSuchElementException("the iterator is before the first entry");
    }
    next = before;
    return before;
  }

  /** Not supported: delete the key in the database. */
  @Override
  public void remove() {
    throw new UnsupportedOperationException("delete the key in the database");
  }
}
