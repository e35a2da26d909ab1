package io.braid.kafka;

import io.braid.BraidScan;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Map.Entry;
import java.util.NoSuchElementException;

/**
 * What lies in the pool, under what a store has written since its last commit: of two entries of a
 * key the uncommitted one is shown, and none where that is a delete.
 */
final class MergedCursor implements Cursor {
  private final BraidScan committed;
  private final Iterator<Entry<byte[], byte[]>> uncommitted;
  private final int direction;
  private Entry<byte[], byte[]> newer; // the next of uncommitted; null: no more
  private Entry<byte[], byte[]> next;

  MergedCursor(
      BraidScan committed, Iterator<Entry<byte[], byte[]>> uncommitted, boolean forward) {
    this.committed = committed;
    this.uncommitted = uncommitted;
    this.direction = forward ? 1 : -1;
    advance();
  }

  private void advance() {
    newer = uncommitted.hasNext() ? uncommitted.next() : null;
  }

  private void find() {
    while (next == null) {
      boolean older = committed.hasNext();
      if (newer == null) {
        next = older ? committed.next() : null;
        return;
      }
      int order = older
          ? direction * Arrays.compareUnsigned(committed.peekKey(), newer.getKey()) : 1;
      if (order < 0) {
        next = committed.next();
        return;
      }
      if (order == 0) {
        committed.next();
      }
      if (newer.getValue() != Space.DELETED) {
        next = newer;
      }
      advance();
    }
  }

  @Override
  public boolean hasNext() {
    find();
    return next != null;
  }

  @Override
  public byte[] peekKey() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return next.getKey();
  }

  @Override
  public Entry<byte[], byte[]> next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    Entry<byte[], byte[]> entry = next;
    next = null;
    return entry;
  }

  @Override
  public void close() {
    committed.close();
  }
}
