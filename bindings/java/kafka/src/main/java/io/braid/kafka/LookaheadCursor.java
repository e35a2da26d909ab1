package io.braid.kafka;

import java.util.Map.Entry;
import java.util.NoSuchElementException;

/** A cursor that finds its next entry when it is asked for. */
abstract class LookaheadCursor implements Cursor {
  private Entry<byte[], byte[]> next;

  /** The next entry; null: there are no more. */
  protected abstract Entry<byte[], byte[]> find();

  @Override
  public final boolean hasNext() {
    if (next == null) {
      next = find();
    }
    return next != null;
  }

  @Override
  public final byte[] peekKey() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return next.getKey();
  }

  @Override
  public final Entry<byte[], byte[]> next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    Entry<byte[], byte[]> entry = next;
    next = null;
    return entry;
  }
}
