package io.braid;

import java.lang.ref.Cleaner;
import java.util.function.LongConsumer;
import org.iq80.leveldb.DBException;

/**
 * A native object that is freed exactly once: by close(), or when nobody can reach it any more. Any
 * thread. A call names the handle in its thread's Scratch before it looks whether it is closed;
 * close() marks it closed before it looks who names it: one of the two sees the other. So nothing
 * is freed under a call, and calls of many threads write to no common place.
 */
abstract class Handle {
  private static final Cleaner CLEANER = Cleaner.create();

  private final String what;
  private final long address;
  private final Cleaner.Cleanable cleanable;
  private volatile boolean closed;

  /** `free` must not lead to this object. */
  Handle(String what, long address, LongConsumer free) {
    this.what = what;
    this.address = made(address);
    this.cleanable = CLEANER.register(this, () -> free.accept(address));
  }

  /** The address, if the object could be made. */
  static long made(long address) {
    if (address == 0) {
      throw new OutOfMemoryError("no native memory for an object of braid");
    }
    return address;
  }

  final boolean isClosed() {
    return closed;
  }

  /** The address, which stays valid until leave. DBException when it is closed. */
  final long enter(Scratch scratch) {
    scratch.using = this;
    if (closed || scratch.holding == this) {
      scratch.using = null;
      throw refusal(scratch);
    }
    return address;
  }

  private RuntimeException refusal(Scratch scratch) {
    return closed ? new DBException(this + " is closed") : new IllegalStateException(
        this + " can't be called by the source of the records that are loaded into it");
  }

  /** As enter, for a call that calls the user's code; the thread then can't enter it again. */
  final long hold(Scratch scratch) {
    if (scratch.holding != null) {
      throw new IllegalStateException(
          "the source of the records of one ingest can't begin another one");
    }
    scratch.holding = this;
    if (closed) {
      scratch.holding = null;
      throw new DBException(this + " is closed");
    }
    return address;
  }

  final void release(Scratch scratch) {
    scratch.holding = null;
  }

  final void leave(Scratch scratch) {
    scratch.using = null;
  }

  /** A native call on an object with two arrays, which are behind each other in a buffer. */
  interface Call {
    void run(long object, long buffer, int firstSize, int secondSize);
  }

  /** Makes the call; an array that is null has the size -1. */
  final void pass(byte[] first, byte[] second, Call call) {
    Scratch scratch = Scratch.mine();
    scratch.load(first, second);
    long object = enter(scratch);
    try {
      call.run(object, scratch.address(), Scratch.sizeOf(first), Scratch.sizeOf(second));
    } finally {
      leave(scratch);
      scratch.settle();
    }
  }

  /** A second one beside the first. */
  final long enterToo(Scratch scratch) {
    scratch.usingToo = this;
    if (closed) {
      scratch.usingToo = null;
      throw new DBException(this + " is closed");
    }
    return address;
  }

  final void leaveToo(Scratch scratch) {
    scratch.usingToo = null;
  }

  /** Frees it once the calls under way have ended; nothing happens the second time. */
  public void close() {
    synchronized (cleanable) {
      if (closed) {
        return;
      }
      if (Scratch.mine().uses(this)) {
        throw new IllegalStateException(this + " can't be closed from within a call on it");
      }
      closed = true;
      Scratch.awaitUnused(this);
      cleanable.clean();
    }
  }

  @Override
  public String toString() {
    return what;
  }
}
