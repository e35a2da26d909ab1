package io.braid;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import org.iq80.leveldb.DBComparator;
import org.iq80.leveldb.Logger;

/**
 * The native half. Handles are addresses, 0 when there was no memory; whoever passes one keeps it
 * open meanwhile (Handle). Bytes pass through the calling thread's Scratch. Failures are
 * DBExceptions. Any thread may call.
 */
final class Native {
  /** Of every read without a snapshot, and of writes without and with sync; never freed. */
  static final long NEWEST;

  static final long NO_SYNC;
  static final long SYNC;

  static {
    load();
    NEWEST = Handle.made(createReadOptions(0));
    NO_SYNC = Handle.made(createWriteOptions(false));
    SYNC = Handle.made(createWriteOptions(true));
  }

  private Native() {}

  private static void load() {
    String named = System.getProperty("braid.native.path");
    if (named != null) {
      System.load(named);
      return;
    }
    String place = "native/" + System.getProperty("os.name").toLowerCase(Locale.ROOT) + "-"
        + (System.getProperty("os.arch").equals("amd64") ? "x86_64" : System.getProperty("os.arch"))
        + "/libbraid_jni.so";
    try (InputStream library = Native.class.getResourceAsStream(place)) {
      if (library == null) {
        throw new UnsatisfiedLinkError("this jar of braid has no " + place
            + ": build one for this machine (make java), or name one with -Dbraid.native.path=FILE");
      }
      Path copy = Files.createTempFile("libbraid_jni-", ".so");
      try {
        Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
        System.load(copy.toString());
      } finally {
        Files.delete(copy); // what is loaded stays
      }
    } catch (IOException e) {
      throw new UnsatisfiedLinkError("the native library of braid can't be unpacked into "
          + System.getProperty("java.io.tmpdir") + " (java.io.tmpdir): " + e);
    }
  }

  /** Called by the store's threads. */
  @SuppressWarnings("unused")
  private static void log(Object logger, byte[] line) {
    ((Logger) logger).log(new String(line, StandardCharsets.UTF_8));
  }

  /** Called by whoever calls the store, and by its threads; what it throws ends that call. */
  @SuppressWarnings("unused")
  private static int compare(Object comparator, byte[] a, byte[] b) {
    return Integer.signum(((DBComparator) comparator).compare(a, b));
  }

  /** Called by the store's threads, and by those that write. */
  @SuppressWarnings("unused")
  private static void event(Object listener, int kind, long a, long b, long c, long d) {
    BraidEventListener told = (BraidEventListener) listener;
    switch (kind) {
      case 0 -> told.onFlush(a, b);
      case 1 -> told.onMerge(a, b, c);
      case 2 -> told.onStall(a);
      default -> told.onRecovery(a != 0, b, c, d != 0);
    }
  }

  @SuppressWarnings("unused")
  private static void backgroundError(Object listener, byte[] error) {
    ((BraidEventListener) listener).onBackgroundError(new String(error, StandardCharsets.UTF_8));
  }

  // ---- jni_events.c
  static native void setListener(long options, BraidEventListener listener);

  // ---- jni_transactions.c
  static native long ingest(long db, boolean sorted, RecordFeed feed);

  static native long beginTransaction(long db);

  static native void destroyTransaction(long transaction);

  static native long transactionGet(
      long transaction, boolean forUpdate, long buffer, int keySize, long capacity);

  static native void transactionPut(long transaction, long buffer, int keySize, int valueSize);

  static native void transactionDelete(long transaction, long buffer, int keySize);

  static native void transactionDeleteRange(
      long transaction, long buffer, int beginSize, int endSize);

  static native boolean transactionCommit(long transaction, long options);

  static native void transactionRollback(long transaction);

  // ---- braid_jni.c
  static native long addressOf(ByteBuffer buffer);

  static native void put(long db, long options, long buffer, int keySize, int valueSize);

  static native void delete(long db, long options, long buffer, int keySize);

  static native long get(long db, long options, long buffer, int keySize, long capacity);

  static native boolean putIfAbsent(long db, long options, long buffer, int keySize, int valueSize);

  static native boolean compareAndSwap(
      long db, long options, long buffer, int keySize, int expectedSize, int desiredSize);

  static native long deleteRange(long db, long options, long buffer, int beginSize, int endSize);

  static native void write(long db, long options, long batch);

  static native void batchPut(long batch, long buffer, int keySize, int valueSize);

  static native void batchDelete(long batch, long buffer, int keySize);

  static native void batchDeleteRange(long batch, long buffer, int beginSize, int endSize);

  static native long iteratorMove(long iterator, int how, long buffer, int keySize, long capacity);

  static native long scanNext(
      long iterator, boolean forward, int most, long buffer, long capacity);

  // ---- jni_handles.c
  static native long createOptions(boolean createIfMissing, boolean errorIfExists,
      boolean paranoidChecks, long writeBufferSize, long cacheSize, Object logger);

  static native void setOption(long options, byte[] name, byte[] value);

  static native void setComparator(long options, byte[] name, Object comparator);

  static native void setDesign(long options, byte[] name);

  static native void setResources(long options, long resources);

  static native void destroyOptions(long options);

  static native long createResources(long memoryBudget, int backgroundThreads);

  static native void destroyResources(long resources);

  static native long resourcesUsage(long resources, int which);

  static native long createWriteOptions(boolean sync);

  static native long createReadOptions(long snapshot);

  static native void destroyReadOptions(long options);

  static native long open(long options, byte[] path);

  static native void close(long db);

  static native void flush(long db);

  static native void verify(long db);

  static native void backgroundStatus(long db);

  static native void resume(long db);

  static native void compact(
      long db, long buffer, int beginSize, int endSize, CompactionProgress progress);

  static native void setBackgroundLimit(long db, long bytesPerSecond);

  static native void refresh(long iterator);

  static native void publishStatistics(long db, boolean on);

  static native void checkpoint(long db, byte[] target);

  static native void destroy(long options, byte[] path);

  /** `newTier`: empty where the new pool has none. */
  static native void repair(long options, byte[] path, byte[] newTier);

  static native void restore(long options, byte[] checkpoint, byte[] target);

  static native String inspect(byte[] path);

  static native String property(long db, byte[] name);

  static native String statistics(long db);

  static native long approximateSize(long db, long buffer, int beginSize, int endSize);

  static native byte[][] multiGet(long db, long options, byte[][] keys);

  static native long createSnapshot(long db);

  static native void releaseSnapshot(long snapshot);

  static native long createIterator(
      long db, long snapshot, long buffer, int beginSize, int endSize);

  static native void destroyIterator(long iterator);

  static native long createBatch();

  static native void destroyBatch(long batch);
}
