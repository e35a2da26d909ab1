package io.braid;

import java.util.Objects;
import org.iq80.leveldb.WriteBatch;

/** Updates that are applied as one atomic step. Calls from several threads take turns. */
public final class BraidWriteBatch extends Handle implements WriteBatch {
  BraidWriteBatch() {
    super("the write batch", Native.createBatch(), Native::destroyBatch);
  }

  @Override
  public synchronized WriteBatch put(byte[] key, byte[] value) {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(value, "value");
    Scratch scratch = Scratch.mine();
    scratch.load(key, value);
    long batch = enter(scratch);
    try {
      Native.batchPut(batch, scratch.address(), key.length, value.length);
    } finally {
      leave(scratch);
      scratch.settle();
    }
    return this;
  }

  @Override
  public synchronized WriteBatch delete(byte[] key) {
    Objects.requireNonNull(key, "key");
    Scratch scratch = Scratch.mine();
    scratch.load(key);
    long batch = enter(scratch);
    try {
      Native.batchDelete(batch, scratch.address(), key.length);
    } finally {
      leave(scratch);
    }
    return this;
  }

  /**
   * Deletes the keys from {@code begin} to before {@code end}; null: from the first, to the last.
   * These are the keys that the database holds when the batch is written, however many, and those
   * of the updates before this one. Readers and crashes find all of the batch or nothing.
   */
  public synchronized BraidWriteBatch deleteRange(byte[] begin, byte[] end) {
    byte[] none = new byte[0];
    Scratch scratch = Scratch.mine();
    scratch.load(begin == null ? none : begin, end == null ? none : end);
    long batch = enter(scratch);
    try {
      Native.batchDeleteRange(batch, scratch.address(), begin == null ? -1 : begin.length,
          end == null ? -1 : end.length);
    } finally {
      leave(scratch);
    }
    return this;
  }
}
