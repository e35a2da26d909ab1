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
    pass(key, value, Native::batchPut);
    return this;
  }

  @Override
  public synchronized WriteBatch delete(byte[] key) {
    Objects.requireNonNull(key, "key");
    pass(key, null, (batch, buffer, size, none) -> Native.batchDelete(batch, buffer, size));
    return this;
  }

  /**
   * Deletes the keys from {@code begin} to before {@code end}; null: from the first, to the last.
   * These are the keys that the database holds when the batch is written, however many, and those
   * of the updates before this one. Readers and crashes find all of the batch or nothing.
   */
  public synchronized BraidWriteBatch deleteRange(byte[] begin, byte[] end) {
    pass(begin, end, Native::batchDeleteRange);
    return this;
  }
}
