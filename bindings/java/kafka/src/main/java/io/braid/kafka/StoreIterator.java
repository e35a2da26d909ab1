package io.braid.kafka;

import java.util.Map.Entry;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.WindowStoreIterator;

/** A cursor as Kafka Streams' iterator, with keys as the store's users know them. */
class StoreIterator<K> implements KeyValueIterator<K, byte[]> {
  private final String store;
  private final Cursor cursor;
  private final Function<byte[], K> key;
  private Runnable onClose = () -> {};
  private boolean endsWhenClosed;
  private volatile boolean closed;

  /** `key` makes of the pool's key the user's. */
  StoreIterator(String store, Cursor cursor, Function<byte[], K> key) {
    this.store = store;
    this.cursor = cursor;
    this.key = key;
  }

  /** Over the times of the windows of one key. */
  static final class Times extends StoreIterator<Long> implements WindowStoreIterator<byte[]> {
    Times(String store, Cursor cursor, Function<byte[], Long> key) {
      super(store, cursor, key);
    }
  }

  /** Over nothing. */
  static <K> StoreIterator<K> empty(String store) {
    return new StoreIterator<>(store, Space.emptyCursor(), key -> null);
  }

  /** Closed, it has no more entries, as iterators of windows and sessions; others say that they are. */
  StoreIterator<K> endsWhenClosed() {
    endsWhenClosed = true;
    return this;
  }

  void onClose(Runnable work) {
    onClose = work;
  }

  @Override
  public synchronized boolean hasNext() {
    if (closed && endsWhenClosed) {
      return false;
    }
    if (closed) {
      throw new InvalidStateStoreException("the iterator of the store " + store + " is closed");
    }
    return cursor.hasNext();
  }

  @Override
  public synchronized K peekNextKey() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return key.apply(cursor.peekKey());
  }

  @Override
  public synchronized KeyValue<K, byte[]> next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    Entry<byte[], byte[]> entry = cursor.next();
    return new KeyValue<>(key.apply(entry.getKey()), entry.getValue());
  }

  @Override
  public synchronized void close() {
    if (!closed) {
      closed = true;
      onClose.run();
      cursor.close();
    }
  }
}
