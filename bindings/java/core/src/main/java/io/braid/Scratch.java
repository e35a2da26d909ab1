package io.braid;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Iterator;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.iq80.leveldb.DBException;

/**
 * What a thread brings to each call: a direct buffer for keys and values, and the handles that it
 * uses right now. A buffer that is reached by its address costs a call a third of what arrays do,
 * which the JVM copies under a check each. Owned by one thread; others look at the handles only.
 */
final class Scratch {
  private static final int SMALL = 16 << 10;

  /** A thread that has moved a large value once does not keep a buffer for it. */
  private static final int KEPT = 1 << 20;

  private static final int LARGEST = Integer.MAX_VALUE - 8;

  private static final ConcurrentLinkedQueue<WeakReference<Scratch>> ALL =
      new ConcurrentLinkedQueue<>();
  private static final ThreadLocal<Scratch> MINE = ThreadLocal.withInitial(Scratch::new);

  private ByteBuffer buffer;
  private long address;

  /** Whoever closes one of these waits until it is here no more. Stored before it is looked at. */
  volatile Handle using;

  volatile Handle usingToo;

  /** Within a call that calls the user's code, which may use other handles meanwhile. */
  volatile Handle holding;

  private Scratch() {
    allocate(SMALL);
    ALL.add(new WeakReference<>(this));
  }

  static Scratch mine() {
    return MINE.get();
  }

  long address() {
    return address;
  }

  int capacity() {
    return buffer.capacity();
  }

  private void allocate(int bytes) {
    buffer = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    address = Native.addressOf(buffer);
  }

  /** Room for so many bytes; what was in the buffer is gone. */
  void ensure(long bytes) {
    if (bytes <= buffer.capacity()) {
      return;
    }
    if (bytes > LARGEST) {
      throw new DBException("keys and values of " + bytes
          + " bytes together are more than one call of the Java binding can move (" + LARGEST + ")");
    }
    allocate((int) Math.min(LARGEST, Math.max(bytes, Math.min(2L * buffer.capacity(), KEPT))));
  }

  /** Gives a large buffer back. */
  void settle() {
    if (buffer.capacity() > KEPT) {
      allocate(SMALL);
    }
  }

  void load(byte[] first) {
    ensure(first.length);
    buffer.put(0, first);
  }

  /** What the native side is told of an array; -1: it is null. */
  static int sizeOf(byte[] bytes) {
    return bytes == null ? -1 : bytes.length;
  }

  private int append(int at, byte[] bytes) {
    if (bytes == null) {
      return at;
    }
    buffer.put(at, bytes);
    return at + bytes.length;
  }

  /** Nothing for an array that is null. */
  void load(byte[] first, byte[] second) {
    ensure((long) Math.max(0, sizeOf(first)) + Math.max(0, sizeOf(second)));
    append(append(0, first), second);
  }

  /** Nothing for an array that is null. */
  void load(byte[] first, byte[] second, byte[] third) {
    ensure((long) Math.max(0, sizeOf(first)) + Math.max(0, sizeOf(second))
        + Math.max(0, sizeOf(third)));
    append(append(append(0, first), second), third);
  }

  byte[] take(int at, int size) {
    byte[] bytes = new byte[size];
    buffer.get(at, bytes);
    return bytes;
  }

  long number(int at) {
    return buffer.getLong(at);
  }

  int size(int at) {
    return buffer.getInt(at);
  }

  boolean uses(Handle handle) {
    return using == handle || usingToo == handle || holding == handle;
  }

  /** Waits until no thread is in a call with `handle`, which is closed: none begins another. */
  static void awaitUnused(Handle handle) {
    for (Iterator<WeakReference<Scratch>> it = ALL.iterator(); it.hasNext();) {
      Scratch scratch = it.next().get();
      if (scratch == null) {
        it.remove(); // its thread has ended
        continue;
      }
      while (scratch.uses(handle)) {
        LockSupport.parkNanos(20_000);
      }
    }
  }
}
