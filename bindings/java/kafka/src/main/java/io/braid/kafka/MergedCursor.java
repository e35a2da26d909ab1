package io.braid.kafka;

import io.braid.BraidScan;
import java.util.Arrays;
import java.util.Iterator;
import java.util.Map.Entry;

/**
 * What lies in the pool, under what a store has written since its last commit: of two entries of a
 * key the uncommitted one is shown, and none where that is a delete.
 */
final class MergedCursor extends LookaheadCursor {
  private final BraidScan committed;
  private final Iterator<Entry<byte[], byte[]>> uncommitted;
  private final int direction;
  private Entry<byte[], byte[]> newer; // the next of uncommitted; null: no more

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

  @Override
  protected Entry<byte[], byte[]> find() {
    while (newer != null) {
      int order = committed.hasNext()
          ? direction * Arrays.compareUnsigned(committed.peekKey(), newer.getKey()) : 1;
      if (order < 0) {
        return committed.next();
      }
      if (order == 0) {
        committed.next();
      }
      Entry<byte[], byte[]> shown = newer.getValue() == Space.DELETED ? null : newer;
      advance();
      if (shown != null) {
        return shown;
      }
    }
    return committed.hasNext() ? committed.next() : null;
  }

  @Override
  public void close() {
    committed.close();
  }
}
