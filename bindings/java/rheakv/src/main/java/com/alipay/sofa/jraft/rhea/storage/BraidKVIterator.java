package com.alipay.sofa.jraft.rhea.storage;

import io.braid.BraidIterator;
import java.util.Arrays;
import java.util.Map.Entry;
import java.util.NoSuchElementException;

/**
 * RheaKV's iterator over the data of this store, of all its regions, as of the moment when it was
 * made. One thread. After the store has loaded a snapshot, or was shut down, each move is a
 * DBException.
 */
final class BraidKVIterator implements KVIterator {
  private final BraidIterator iterator; // stands before `current`
  private Entry<byte[], byte[]> current;

  BraidKVIterator(BraidIterator iterator) {
    this.iterator = iterator;
  }

  private void take() {
    current = iterator.hasNext() ? iterator.peekNext() : null;
  }

  private Entry<byte[], byte[]> entry() {
    if (current == null) {
      throw new NoSuchElementException("the iterator is not at an entry: ask isValid() first");
    }
    return current;
  }

  @Override
  public boolean isValid() {
    return current != null;
  }

  @Override
  public void seekToFirst() {
    iterator.seekToFirst();
    take();
  }

  @Override
  public void seekToLast() {
    iterator.seekToLast();
    take();
  }

  @Override
  public void seek(byte[] target) {
    iterator.seek(Keys.of(Keys.DATA, target));
    take();
  }

  /** The last entry whose key is at or before the target. */
  @Override
  public void seekForPrev(byte[] target) {
    seek(target);
    if (current == null || !Arrays.equals(key(), target)) {
      back();
    }
  }

  private void back() {
    current = iterator.hasPrev() ? iterator.prev() : null;
  }

  @Override
  public void next() {
    entry();
    iterator.next();
    take();
  }

  @Override
  public void prev() {
    entry();
    back();
  }

  @Override
  public byte[] key() {
    return Keys.rest(entry().getKey());
  }

  @Override
  public byte[] value() {
    return entry().getValue();
  }

  @Override
  public void close() {
    iterator.close();
  }
}
