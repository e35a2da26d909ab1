package io.braid;

import java.util.Objects;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.WriteOptions;

/**
 * Several reads and writes that take effect as one step, or not at all. Optimistic: nobody waits for
 * it, and the commit fails where another write has changed what it builds upon: a key that it has
 * written, or has read with {@link #getForUpdate}. All its reads show the state at its begin, and its
 * own writes.
 *
 * <p>It keeps what it has written in memory, outside the budget, and overwritten values alive as a
 * snapshot does: keep it short, and close it. Without a commit it then leaves nothing. Calls from
 * several threads take turns.
 */
public final class BraidTransaction extends Handle implements AutoCloseable {
  BraidTransaction(long transaction) {
    super("the transaction", transaction, Native::destroyTransaction);
  }

  /** What it has written, or the value at its begin; null when there is no such key. */
  public byte[] get(byte[] key) throws DBException {
    return get(key, false);
  }

  /**
   * The same, and the commit fails when another has written the key since the begin: for what the
   * writes depend on. That there is no such key is an answer that counts, too.
   */
  public byte[] getForUpdate(byte[] key) throws DBException {
    return get(key, true);
  }

  private synchronized byte[] get(byte[] key, boolean forUpdate) {
    Objects.requireNonNull(key, "key");
    Scratch scratch = Scratch.mine();
    scratch.load(key);
    long transaction = enter(scratch);
    try {
      long size = Native.transactionGet(
          transaction, forUpdate, scratch.address(), key.length, scratch.capacity());
      while (size > scratch.capacity()) {
        scratch.ensure(Math.max(size, key.length));
        scratch.load(key);
        size = Native.transactionGet(
            transaction, forUpdate, scratch.address(), key.length, scratch.capacity());
      }
      return size < 0 ? null : scratch.take(0, (int) size);
    } finally {
      leave(scratch);
      scratch.settle();
    }
  }

  /** Kept until the commit. */
  public synchronized void put(byte[] key, byte[] value) throws DBException {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(value, "value");
    pass(key, value, Native::transactionPut);
  }

  /** Kept until the commit. */
  public synchronized void delete(byte[] key) throws DBException {
    Objects.requireNonNull(key, "key");
    pass(key, null,
        (transaction, buffer, size, none) -> Native.transactionDelete(transaction, buffer, size));
  }

  /**
   * Deletes the keys from {@code begin} (null: the first) to before {@code end} (null: to the last):
   * those it has written, and those that the database holds at the commit.
   */
  public synchronized void deleteRange(byte[] begin, byte[] end) throws DBException {
    pass(begin, end, Native::transactionDeleteRange);
  }

  /**
   * Writes all as one durable step. False: another write came in between, and nothing is written:
   * begin a new transaction. It is over in any case; a later call is a DBException.
   */
  public boolean commit() throws DBException {
    return commit(new WriteOptions());
  }

  /** The same with options; a snapshot is not made. */
  public synchronized boolean commit(WriteOptions options) throws DBException {
    Scratch scratch = Scratch.mine();
    long transaction = enter(scratch);
    try {
      return Native.transactionCommit(
          transaction, options.sync() ? Native.SYNC : Native.NO_SYNC);
    } finally {
      leave(scratch);
    }
  }

  /** Drops all; it is over. */
  public synchronized void rollback() throws DBException {
    Scratch scratch = Scratch.mine();
    long transaction = enter(scratch);
    try {
      Native.transactionRollback(transaction);
    } finally {
      leave(scratch);
    }
  }
}
