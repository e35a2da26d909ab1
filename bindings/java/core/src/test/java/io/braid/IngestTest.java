package io.braid;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.iq80.leveldb.DBException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IngestTest extends TempPools {
  private static Map.Entry<byte[], byte[]> record(String key, String value) {
    return Map.entry(bytes(key), bytes(value));
  }

  private static Iterator<Map.Entry<byte[], byte[]>> ascending(int count) {
    return IntStream.range(0, count).mapToObj(
        i -> record(String.format("key%08d", i), "value" + i)).iterator();
  }

  /** Random records, some larger than the buffer they pass through, over some that are there. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void recordsAreThereAfterAReopen(boolean sorted) throws Exception {
    long number = seed();
    Random random = new Random(number);
    TreeMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);
    java.io.File pool = pool();
    try (BraidDB db = open(pool)) {
      for (int i = 0; i < 1000; ++i) {
        db.put(bytes("old" + i), bytes("old"));
        model.put(bytes("old" + i), bytes("old"));
      }
      TreeMap<byte[], byte[]> loaded = new TreeMap<>(Arrays::compareUnsigned);
      for (int i = 0; i < 20_000; ++i) {
        byte[] value = new byte[random.nextInt(4000) == 0 ? 600_000 : random.nextInt(30)];
        random.nextBytes(value);
        loaded.put(bytes((random.nextBoolean() ? "new" : "old") + random.nextInt(100_000)), value);
      }
      model.putAll(loaded);
      List<Map.Entry<byte[], byte[]>> records = new java.util.ArrayList<>(loaded.entrySet());
      if (!sorted) {
        Collections.shuffle(records, random);
      }
      assertEquals(loaded.size(), db.ingest(records.iterator(), sorted));
      assertEquals(0, db.ingest(Collections.emptyIterator(), sorted));
      db.verify();
    }
    try (BraidDB db = open(pool); BraidScan scan = db.scan(null, null, true)) {
      for (Map.Entry<byte[], byte[]> expected : model.entrySet()) {
        assertTrue(scan.hasNext(), "seed " + number);
        Map.Entry<byte[], byte[]> found = scan.next();
        assertArrayEquals(expected.getKey(), found.getKey(), "seed " + number);
        assertArrayEquals(expected.getValue(), found.getValue(), "seed " + number);
      }
      assertTrue(!scan.hasNext(), "seed " + number);
    }
  }

  @Test
  void whatTheSourceThrowsIsThrownAndNothingIsThere() throws Exception {
    try (BraidDB db = open(pool())) {
      IllegalStateException failure = new IllegalStateException("the source");
      Iterator<Map.Entry<byte[], byte[]>> source = ascending(100_000);
      int[] given = new int[1];
      assertSame(failure, assertThrows(IllegalStateException.class, () -> db.ingest(
          new Iterator<Map.Entry<byte[], byte[]>>() {
            @Override
            public boolean hasNext() {
              return true;
            }

            @Override
            public Map.Entry<byte[], byte[]> next() {
              if (++given[0] == 50_000) {
                throw failure;
              }
              return source.next();
            }
          }, true)));
      DBException order = assertThrows(DBException.class, () -> db.ingest(
          List.of(record("b", "1"), record("a", "2")).iterator(), true));
      assertTrue(order.getMessage().contains("sort the records"), order.getMessage());
      assertThrows(NullPointerException.class, () -> db.ingest(
          List.<Map.Entry<byte[], byte[]>>of(new java.util.AbstractMap.SimpleEntry<>(
              bytes("a"), null)).iterator(), true));
      assertThrows(NullPointerException.class, () -> db.ingest(null, true));
      try (BraidScan all = db.scan(null, null, true)) {
        assertTrue(!all.hasNext());
      }
      assertEquals(10, db.ingest(ascending(10), true)); // as if nothing had been
    }
  }

  /** The source may use another database, and not this one, which it can't close either. */
  @Test
  void theSourceDoesNotCallBack() throws Exception {
    try (BraidDB db = open(pool()); BraidDB other = open(pool())) {
      other.put(bytes("a"), bytes("1"));
      Iterator<Map.Entry<byte[], byte[]>> three = ascending(3);
      assertEquals(3, db.ingest(new Iterator<Map.Entry<byte[], byte[]>>() {
        @Override
        public boolean hasNext() {
          return three.hasNext();
        }

        @Override
        public Map.Entry<byte[], byte[]> next() {
          assertEquals("1", text(other.get(bytes("a"))));
          assertThrows(IllegalStateException.class, () -> db.get(bytes("a")));
          assertThrows(IllegalStateException.class, () -> db.put(bytes("a"), bytes("1")));
          assertThrows(IllegalStateException.class, db::close);
          assertThrows(IllegalStateException.class, () -> other.ingest(ascending(1), true));
          return three.next();
        }
      }, true));
      try (BraidScan from = db.scan(null, null, true)) {
        assertEquals(3, other.ingest(from, true));
      }
      assertNull(db.get(bytes("a")));
      assertEquals("value2", text(db.get(bytes("key00000002"))));
    }
  }

  /** A close waits for a load that another thread has begun. */
  @Test
  void aCloseWaitsForTheLoad() throws Exception {
    java.io.File pool = pool();
    BraidDB db = open(pool);
    java.util.concurrent.CountDownLatch begun = new java.util.concurrent.CountDownLatch(1);
    Iterator<Map.Entry<byte[], byte[]>> records = ascending(200_000);
    Thread loader = new Thread(() -> db.ingest(new Iterator<Map.Entry<byte[], byte[]>>() {
      @Override
      public boolean hasNext() {
        begun.countDown();
        return records.hasNext();
      }

      @Override
      public Map.Entry<byte[], byte[]> next() {
        return records.next();
      }
    }, true));
    loader.start();
    begun.await();
    db.close();
    assertThrows(DBException.class, () -> db.ingest(ascending(1), true));
    loader.join();
    try (BraidDB again = open(pool)) {
      assertEquals("value199999", text(again.get(bytes("key00199999"))));
    }
  }
}
