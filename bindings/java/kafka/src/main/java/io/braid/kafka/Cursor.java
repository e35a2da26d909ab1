package io.braid.kafka;

import java.util.Iterator;
import java.util.Map.Entry;

/** Goes once over entries, whose keys are those of the pool. One thread at a time; to be closed. */
interface Cursor extends Iterator<Entry<byte[], byte[]>>, AutoCloseable {
  /** The key of the entry that next() gives. */
  byte[] peekKey();

  @Override
  void close();
}
