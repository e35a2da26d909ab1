package io.braid;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map.Entry;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.TreeMap;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.junit.jupiter.api.Test;

/** Scans, against a map; and what the store says of its background. */
class ScanTest extends TempPools {
  private static List<String> all(BraidScan scan) {
    List<String> found = new ArrayList<>();
    try (scan) {
      while (scan.hasNext()) {
        String key = text(scan.peekKey());
        Entry<byte[], byte[]> entry = scan.next();
        assertEquals(key, text(entry.getKey()));
        found.add(key + "=" + text(entry.getValue()));
      }
    }
    return found;
  }

  @Test
  void iteratorsAndScansStayWithinTheirBoundsAtTheirSnapshot() throws IOException {
    try (BraidDB db = open(pool())) {
      for (int i = 0; i < 300; ++i) {
        db.put(bytes("key" + (100 + i)), bytes("old"));
      }
      BraidIterator it;
      BraidScan scan;
      try (Snapshot snapshot = db.getSnapshot()) {
        ReadOptions options = new ReadOptions().snapshot(snapshot);
        db.put(bytes("key150"), bytes("new"));
        db.put(bytes("key150a"), bytes("new"));
        it = db.iterator(options, bytes("key150"), bytes("key160"));
        scan = db.scan(options, bytes("key150"), bytes("key160"), false);
      }
      // What they show stays when the snapshot is gone.
      List<String> backward = all(scan);
      Collections.reverse(backward);
      List<String> seen = new ArrayList<>();
      try (it) {
        while (it.hasNext()) {
          Entry<byte[], byte[]> entry = it.next();
          seen.add(text(entry.getKey()) + "=" + text(entry.getValue()));
        }
        assertEquals(10, seen.size());
        assertEquals("key150=old", seen.get(0));
        assertEquals(backward, seen);
        assertEquals("key159", text(it.prev().getKey()));
        it.seek(bytes("a"));
        assertFalse(it.hasPrev());
        assertEquals("key150", text(it.peekNext().getKey()));
        it.seek(bytes("key160"));
        assertFalse(it.hasNext());
        it.refresh();
        assertEquals("new", text(it.next().getValue()));
        assertEquals("key150a", text(it.next().getKey()));
      }
      try (BraidIterator none = db.iterator(new ReadOptions(), bytes("key2"), bytes("key1"))) {
        assertFalse(none.hasNext());
        assertFalse(none.hasPrev());
      }
      Snapshot closed = db.getSnapshot();
      closed.close();
      assertThrows(DBException.class,
          () -> db.iterator(new ReadOptions().snapshot(closed), null, null));
    }
  }

  @Test
  void aScanGivesWhatAMapGives() throws IOException {
    long seed = seed();
    Random random = new Random(seed);
    TreeMap<String, String> model = new TreeMap<>();
    try (BraidDB db = open(pool())) {
      for (int i = 0; i < 2000; ++i) {
        String key = "key" + random.nextInt(1500);
        if (random.nextInt(4) == 0) {
          model.remove(key);
          db.delete(bytes(key));
        } else {
          String value = "v".repeat(random.nextInt(40)) + i;
          model.put(key, value);
          db.put(bytes(key), bytes(value));
        }
      }
      for (int i = 0; i < 300; ++i) {
        String begin = random.nextInt(4) == 0 ? null : "key" + random.nextInt(1600);
        String end = random.nextInt(4) == 0 ? null : "key" + random.nextInt(1600);
        boolean forward = random.nextBoolean();
        List<String> expected = new ArrayList<>();
        model.forEach((key, value) -> {
          if ((begin == null || key.compareTo(begin) >= 0)
              && (end == null || key.compareTo(end) < 0)) {
            expected.add(key + "=" + value);
          }
        });
        if (!forward) {
          Collections.reverse(expected);
        }
        assertEquals(expected, all(db.scan(begin == null ? null : bytes(begin),
            end == null ? null : bytes(end), forward)), "seed " + seed);
      }
    }
  }

  @Test
  void entriesLargerThanTheBufferPass() throws IOException {
    byte[] large = new byte[3 << 20];
    Arrays.fill(large, (byte) 5);
    try (BraidDB db = open(pool())) {
      db.put(bytes("a"), bytes("small"));
      db.put(bytes("b"), large);
      db.put(bytes("c"), new byte[0]);
      try (BraidScan scan = db.scan(null, null, true)) {
        assertEquals("small", text(scan.next().getValue()));
        assertArrayEquals(large, scan.next().getValue());
        assertEquals("c", text(scan.peekKey()));
        assertEquals(0, scan.next().getValue().length);
        assertFalse(scan.hasNext());
        assertFalse(scan.hasNext());
        assertThrows(NoSuchElementException.class, scan::next);
      }
      assertTrue(Scratch.mine().capacity() < large.length);
    }
  }

  @Test
  void itShowsTheStateOfWhenItWasMade() throws IOException {
    try (BraidDB db = open(pool())) {
      for (int i = 0; i < 500; ++i) {
        db.put(bytes(String.format("%03d", i)), bytes("old"));
      }
      try (BraidScan scan = db.scan(null, null, true)) {
        for (int i = 0; i < 500; ++i) {
          db.put(bytes(String.format("%03d", i)), bytes("new"));
        }
        db.put(bytes("more"), bytes("new"));
        for (int i = 0; i < 500; ++i) {
          assertEquals("old", text(scan.next().getValue()));
        }
        assertFalse(scan.hasNext());
      }
    }
  }

  @Test
  void useAfterCloseIsAnError() throws IOException {
    BraidDB db = open(pool());
    for (int i = 0; i < 100; ++i) {
      db.put(bytes("key" + i), bytes("v"));
    }
    BraidScan closed = db.scan(null, null, true);
    closed.close();
    closed.close();
    assertThrows(DBException.class, closed::hasNext);
    BraidScan left = db.scan(null, null, false);
    assertTrue(left.hasNext());
    db.close();
    assertThrows(DBException.class, () -> {
      while (left.hasNext()) {
        left.next();
      }
    });
    left.close();
    assertThrows(DBException.class, () -> db.scan(null, null, true));
  }

  @Test
  void theBackgroundStatusNamesWhatKeepsWritesFromGoingOn() throws IOException {
    BraidOptions options = small();
    options.set("pool.max_bytes", "16M");
    try (BraidDB db = BraidFactory.factory.open(pool(), options)) {
      db.backgroundStatus();
      db.resume();
      byte[] value = new byte[64 << 10];
      DBException full = assertThrows(DBException.class, () -> {
        for (int i = 0; i < 1000; ++i) {
          db.put(bytes("key" + i), value);
        }
      });
      assertTrue(full.getMessage().contains("space"), full.getMessage());
      assertEquals(0, db.get(bytes("key0"))[0]);
    }
  }
}
