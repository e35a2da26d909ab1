package io.braid;

import java.util.Objects;
import org.iq80.leveldb.WriteBatch;

/** Updates that are applied as one atomic step. Calls from several threads take turns. */
final class BraidWriteBatch extends Handle implements WriteBatch {
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
}
