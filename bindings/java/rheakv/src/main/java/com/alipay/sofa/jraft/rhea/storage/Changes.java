package com.alipay.sofa.jraft.rhea.storage;

import io.braid.BraidDB;
import io.braid.BraidWriteBatch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;

/**
 * What operations that are applied together have written so far: each sees what those before it
 * wrote, and all of it becomes one atomic batch. One thread.
 */
final class Changes {
  /** An operation that can't be done on any replica: it changes nothing, and its client is told. */
  static final class Refused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Refused(String message) {
      super(message, null, false, false);
    }
  }

  private record Range(byte[] begin, byte[] end) {
    boolean holds(byte[] key) {
      return Arrays.compareUnsigned(begin, key) <= 0 && Arrays.compareUnsigned(key, end) < 0;
    }
  }

  private static final byte[] DELETED = new byte[0]; // by identity

  private final BraidDB db;
  private final TreeMap<byte[], byte[]> newer = new TreeMap<>(Arrays::compareUnsigned);
  private final List<Range> deleted = new ArrayList<>(); // before all of `newer`

  Changes(BraidDB db) {
    this.db = db;
  }

  byte[] get(byte[] key) {
    byte[] value = newer.get(key);
    if (value != null) {
      return value == DELETED ? null : value;
    }
    for (Range range : deleted) {
      if (range.holds(key)) {
        return null;
      }
    }
    return db.get(key);
  }

  void put(byte[] key, byte[] value) {
    newer.put(key, value == DELETED ? new byte[0] : value);
  }

  void delete(byte[] key) {
    newer.put(key, DELETED);
  }

  /** From `begin` to before `end`. */
  void deleteRange(byte[] begin, byte[] end) {
    if (Arrays.compareUnsigned(begin, end) >= 0) {
      return;
    }
    newer.subMap(begin, end).clear();
    deleted.add(new Range(begin, end));
  }

  void commit() {
    if (deleted.isEmpty() && newer.size() <= 1) {
      newer.forEach((key, value) -> {
        if (value == DELETED) {
          db.delete(key);
        } else {
          db.put(key, value);
        }
      });
      return;
    }
    try (BraidWriteBatch batch = db.createWriteBatch()) {
      deleted.forEach(range -> batch.deleteRange(range.begin(), range.end()));
      newer.forEach((key, value) -> {
        if (value == DELETED) {
          batch.delete(key);
        } else {
          batch.put(key, value);
        }
      });
      db.write(batch);
    }
  }
}
