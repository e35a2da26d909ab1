package io.braid;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Iterator;
import java.util.Map;
import org.iq80.leveldb.DBException;

/**
 * Hands the records of an ingest to the native half, as many at a time as fit into a buffer, since a
 * call out of native code costs as much as storing a record. One thread.
 */
final class RecordFeed {
  private static final int USUAL = 256 << 10;
  private static final int HEAD = Integer.BYTES;
  private static final int SIZES = 2 * Integer.BYTES;

  private final Iterator<? extends Map.Entry<byte[], byte[]>> records;
  private ByteBuffer buffer = allocate(USUAL);
  private Map.Entry<byte[], byte[]> pending; // did not fit

  RecordFeed(Iterator<? extends Map.Entry<byte[], byte[]>> records) {
    this.records = records;
  }

  private static ByteBuffer allocate(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  /**
   * Called by the native half: the number of records, 0 at the end, then for each two sizes and the
   * bytes of key and value. The buffer is as it is until the next call.
   */
  @SuppressWarnings("unused")
  private ByteBuffer fill() {
    buffer.clear().position(HEAD);
    int count = 0;
    while (pending != null || records.hasNext()) {
      Map.Entry<byte[], byte[]> record = pending == null ? records.next() : pending;
      pending = null;
      byte[] key = record.getKey();
      byte[] value = record.getValue();
      if (key == null || value == null) {
        throw new NullPointerException("a record of the ingest has no " + (key == null ? "key"
            : "value") + ": an ingest stores records and deletes none");
      }
      long needed = (long) SIZES + key.length + value.length;
      if (needed > buffer.remaining()) {
        pending = record;
        if (count > 0) {
          break;
        }
        if (HEAD + needed > Integer.MAX_VALUE - 8) {
          throw new DBException("a record of " + needed
              + " bytes is more than one call of the Java binding can move");
        }
        buffer = allocate((int) (HEAD + needed)).position(HEAD);
        continue;
      }
      buffer.putInt(key.length).putInt(value.length).put(key).put(value);
      ++count;
    }
    buffer.putInt(0, count);
    return buffer;
  }
}
