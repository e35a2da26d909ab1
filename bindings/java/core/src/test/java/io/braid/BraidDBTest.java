package io.braid;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.iq80.leveldb.DBComparator;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.Range;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.iq80.leveldb.WriteBatch;
import org.iq80.leveldb.WriteOptions;
import org.junit.jupiter.api.Test;

/** Each call, with what it gives and what it refuses. */
class BraidDBTest extends TempPools {
  @Test
  void whatWasPutIsThereAfterAReopen() throws IOException {
    File path = pool();
    try (BraidDB db = open(path)) {
      db.put(bytes("a"), bytes("1"));
      db.put(bytes("empty"), new byte[0]);
      db.put(bytes("b"), bytes("2"), new WriteOptions().sync(true));
      db.delete(bytes("a"));
    }
    try (BraidDB db = open(path)) {
      assertNull(db.get(bytes("a")));
      assertEquals("2", text(db.get(bytes("b"))));
      assertArrayEquals(new byte[0], db.get(bytes("empty")));
      db.verify();
    }
  }

  @Test
  void largeValuesPassAndTheBufferIsGivenBack() throws IOException {
    byte[] large = new byte[5 << 20];
    Arrays.fill(large, (byte) 7);
    try (BraidDB db = open(pool())) {
      db.put(bytes("large"), large);
      assertArrayEquals(large, db.get(bytes("large")));
      assertTrue(Scratch.mine().capacity() < large.length);
      try (DBIterator it = db.iterator()) {
        assertArrayEquals(large, it.next().getValue());
        assertTrue(it.hasPrev());
      }
    }
  }

  @Test
  void aBatchIsAppliedAsAWholeAndInOrder() throws IOException {
    try (BraidDB db = open(pool()); WriteBatch batch = db.createWriteBatch()) {
      db.put(bytes("gone"), bytes("x"));
      batch.put(bytes("k"), bytes("1")).put(bytes("k"), bytes("2")).delete(bytes("gone"));
      assertNull(db.get(bytes("k")));
      db.write(batch);
      assertEquals("2", text(db.get(bytes("k"))));
      assertNull(db.get(bytes("gone")));
    }
  }

  @Test
  void iteratorsGoBothWays() throws IOException {
    try (BraidDB db = open(pool())) {
      for (String key : List.of("a", "b", "c")) {
        db.put(bytes(key), bytes("v" + key));
      }
      try (DBIterator it = db.iterator()) {
        List<String> keys = new ArrayList<>();
        while (it.hasNext()) {
          keys.add(text(it.next().getKey()));
        }
        assertEquals(List.of("a", "b", "c"), keys);
        assertFalse(it.hasNext());
        assertThrows(NoSuchElementException.class, it::next);
        assertEquals("c", text(it.peekPrev().getKey()));
        assertEquals("vc", text(it.prev().getValue()));
        assertEquals("c", text(it.peekNext().getKey()));
        assertEquals("b", text(it.prev().getKey()));
        assertEquals("a", text(it.prev().getKey()));
        assertFalse(it.hasPrev());
        assertThrows(NoSuchElementException.class, it::prev);
        assertThrows(NoSuchElementException.class, it::peekPrev);
        assertEquals("a", text(it.next().getKey()));
        it.seek(bytes("bb"));
        assertEquals("b", text(it.peekPrev().getKey()));
        assertEquals("c", text(it.next().getKey()));
        it.seekToLast();
        assertEquals("c", text(it.next().getKey()));
        it.seekToFirst();
        assertEquals("a", text(it.peekNext().getKey()));
        assertThrows(UnsupportedOperationException.class, it::remove);
      }
      int seen = 0;
      for (Map.Entry<byte[], byte[]> entry : db) {
        assertEquals("v" + text(entry.getKey()), text(entry.getValue()));
        ++seen;
      }
      assertEquals(3, seen);
    }
  }

  @Test
  void anEmptyDatabaseHasNoEntries() throws IOException {
    try (BraidDB db = open(pool()); DBIterator it = db.iterator()) {
      assertFalse(it.hasNext());
      assertFalse(it.hasPrev());
    }
  }

  @Test
  void snapshotsStayAsTheyAre() throws IOException {
    try (BraidDB db = open(pool()); BraidDB other = open(pool())) {
      db.put(bytes("k"), bytes("old"));
      try (Snapshot snapshot = db.getSnapshot()) {
        db.put(bytes("k"), bytes("new"));
        ReadOptions at = new ReadOptions().snapshot(snapshot);
        assertEquals("old", text(db.get(bytes("k"), at)));
        assertEquals("old", text(db.multiGet(List.of(bytes("k")), at)[0]));
        try (DBIterator it = db.iterator(at)) {
          assertEquals("old", text(it.next().getValue()));
        }
        assertEquals("new", text(db.get(bytes("k"))));
        assertThrows(IllegalArgumentException.class, () -> other.get(bytes("k"), at));
      }
      Snapshot made = db.put(bytes("k"), bytes("newer"), new WriteOptions().snapshot(true));
      assertNotNull(made);
      made.close();
      assertThrows(DBException.class,
          () -> db.get(bytes("k"), new ReadOptions().snapshot(made)));
    }
  }

  @Test
  void manyKeysAtOnce() throws IOException {
    try (BraidDB db = open(pool())) {
      List<byte[]> keys = new ArrayList<>();
      for (int i = 0; i < 100; ++i) {
        keys.add(bytes("key" + i));
        if (i % 2 == 0) {
          db.put(bytes("key" + i), bytes("value" + i));
        }
      }
      byte[][] values = db.multiGet(keys);
      for (int i = 0; i < 100; ++i) {
        assertEquals(i % 2 == 0 ? "value" + i : null, text(values[i]));
      }
      assertEquals(0, db.multiGet(Collections.emptyList()).length);
    }
  }

  @Test
  void conditionalWritesAndRanges() throws IOException {
    try (BraidDB db = open(pool())) {
      assertTrue(db.putIfAbsent(bytes("k"), bytes("1")));
      assertFalse(db.putIfAbsent(bytes("k"), bytes("2")));
      assertFalse(db.compareAndSwap(bytes("k"), bytes("2"), bytes("3")));
      assertTrue(db.compareAndSwap(bytes("k"), bytes("1"), bytes("")));
      assertTrue(db.compareAndSwap(bytes("k"), bytes(""), bytes("3")));
      assertTrue(db.compareAndSwap(bytes("new"), null, bytes("n")));
      assertFalse(db.compareAndSwap(bytes("new"), null, bytes("m")));
      assertEquals("3", text(db.get(bytes("k"))));
      assertEquals(1, db.deleteRange(bytes("k"), bytes("l")));
      assertEquals(1, db.deleteRange(bytes(""), null));
      assertNull(db.get(bytes("new")));
    }
  }

  @Test
  void aBatchDeletesARangeInItsOrder() throws IOException {
    try (BraidDB db = open(pool())) {
      for (String key : new String[] {"a", "b", "c", "d"}) db.put(bytes(key), bytes("old"));
      try (BraidWriteBatch batch = db.createWriteBatch()) {
        batch.put(bytes("b1"), bytes("gone"));
        batch.deleteRange(bytes("b"), bytes("d"));
        batch.put(bytes("c"), bytes("new"));
        db.write(batch);
      }
      assertNull(db.get(bytes("b")));
      assertNull(db.get(bytes("b1")));
      assertEquals("new", text(db.get(bytes("c"))));
      assertEquals("old", text(db.get(bytes("d"))));
      try (BraidWriteBatch batch = db.createWriteBatch()) {
        db.write(batch.deleteRange(null, bytes("c")).deleteRange(bytes("d"), null));
      }
      assertNull(db.get(bytes("a")));
      assertEquals("new", text(db.get(bytes("c"))));
      assertNull(db.get(bytes("d")));
    }
  }

  @Test
  void propertiesSizesAndMaintenance() throws IOException {
    File copy = pool();
    try (BraidDB db = open(pool())) {
      for (int i = 0; i < 1000; ++i) {
        db.put(bytes(String.format("key%04d", i)), new byte[100]);
      }
      long[] sizes = db.getApproximateSizes(
          new Range(bytes("key0000"), bytes("key0500")), new Range(bytes("x"), bytes("y")));
      assertEquals(500 * 107, sizes[0]);
      assertEquals(0, sizes[1]);
      assertEquals("braid", db.getProperty("braid.design"));
      assertNull(db.getProperty("no.such"));
      assertTrue(db.statistics().contains("\"puts\":1000"), db.statistics());
      assertTrue(db.statistics().contains("\"latency_batch_p99_nanos\":"), db.statistics());
      assertTrue(db.statistics().contains("\"pool_free_bytes\":"), db.statistics());
      double[] last = {-1};
      db.compactRange(bytes("a"), null, share -> {
        assertTrue(share >= last[0]);
        last[0] = share;
        return true;
      });
      assertEquals(1, last[0]);
      assertThrows(DBException.class, () -> db.compactRange(null, null, share -> false));
      assertThrows(IllegalStateException.class, () -> db.compactRange(null, null, share -> {
        throw new IllegalStateException("enough");
      }));
      db.setBackgroundLimit(1 << 20);
      db.setBackgroundLimit(0);
      db.publishStatistics(true);
      db.publishStatistics(false);
      for (long time = 0; time < 10; ++time) {
        db.put(BraidDB.timeKey(bytes("cpu."), time, null), bytes("1"));
      }
      assertEquals(4, db.expireBefore(bytes("cpu."), 4));
      assertArrayEquals(bytes("cpu/"), BraidDB.prefixUpperBound(bytes("cpu.")));
      try (BraidIterator it = db.iterator()) {
        byte[] late = BraidDB.timeKey(bytes("cpu."), 99, bytes("x"));
        db.put(late, bytes("2"));
        it.seek(late);
        assertTrue(!it.hasNext() || !Arrays.equals(late, it.peekNext().getKey()));
        it.refresh();
        it.seek(late);
        assertArrayEquals(late, it.next().getKey());
      }
      File place = pool();
      BraidFactory.factory.open(place, new Options()).close();
      String facts = BraidFactory.factory.inspect(place);
      assertTrue(facts.contains("\"power_loss\":"), facts);
      assertTrue(facts.contains("\"in_use\":false"), facts);
      db.flush();
      db.compactRange(null, null);
      db.checkpoint(copy);
      assertThrows(DBException.class, () -> db.checkpoint(copy));
      assertThrows(UnsupportedOperationException.class, db::suspendCompactions);
      db.resumeCompactions();
    }
    try (BraidDB db = open(copy)) {
      assertEquals(100, db.get(bytes("key0007")).length);
    }
    BraidFactory.factory.repair(copy, new Options());
    IOException unbounded = assertThrows(IOException.class,
        () -> BraidFactory.factory.repair(copy, pool(), new Options()));
    assertTrue(unbounded.getMessage().contains("pool.max_bytes"), unbounded.getMessage());
    try (BraidDB db = open(copy)) {
      assertEquals(100, db.get(bytes("key0007")).length);
    }
    BraidFactory.factory.destroy(copy, new Options());
    assertFalse(copy.exists());
    BraidFactory.factory.destroy(copy, new Options());
  }

  @Test
  void aCheckpointBecomesAPoolAgain() throws IOException {
    File copy = pool();
    File restored = pool();
    try (BraidDB db = open(pool())) {
      db.put(bytes("kept"), bytes("1"));
      db.checkpoint(copy);
      db.put(bytes("kept"), bytes("2"));
      db.put(bytes("later"), bytes("2"));
    }
    BraidFactory.factory.restore(copy, restored, new Options());
    IOException taken = assertThrows(IOException.class,
        () -> BraidFactory.factory.restore(copy, restored, new Options()));
    assertTrue(taken.getMessage().contains(restored.getPath()), taken.getMessage());
    try (BraidDB db = open(restored)) {
      assertEquals("1", text(db.get(bytes("kept"))));
      assertNull(db.get(bytes("later")));
      db.put(bytes("kept"), bytes("3"));
    }
    try (BraidDB db = open(copy)) { // was only read
      assertEquals("1", text(db.get(bytes("kept"))));
      File other = pool();
      assertThrows(IOException.class,
          () -> BraidFactory.factory.restore(copy, other, new Options())); // it is open
      assertFalse(other.exists());
    }
    File nothing = pool();
    assertThrows(IOException.class,
        () -> BraidFactory.factory.restore(nothing, pool(), new Options()));
  }

  @Test
  void opensThatAreRefusedSayWhy() throws IOException {
    File path = pool();
    IOException missing = assertThrows(IOException.class,
        () -> BraidFactory.factory.open(path, new Options().createIfMissing(false)));
    assertTrue(missing.getMessage().contains(path.getPath()), missing.getMessage());
    try (BraidDB db = open(path)) {
      assertThrows(IOException.class, () -> open(path));
      assertTrue(db.toString().contains(path.getPath()));
    }
    assertThrows(IOException.class,
        () -> BraidFactory.factory.open(path, new Options().errorIfExists(true)));
    IOException option = assertThrows(IOException.class,
        () -> BraidFactory.factory.open(path, new BraidOptions().set("no.such", "1")));
    assertTrue(option.getMessage().contains("no.such"), option.getMessage());
    IOException design = assertThrows(IOException.class,
        () -> BraidFactory.factory.open(path, new BraidOptions().design("no-such")));
    assertTrue(design.getMessage().contains("no-such"), design.getMessage());
  }

  /** Refuses the key "bad". */
  private static final class Reverse implements DBComparator {
    private final String name;

    Reverse(String name) {
      this.name = name;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public byte[] findShortestSeparator(byte[] start, byte[] limit) {
      return start;
    }

    @Override
    public byte[] findShortSuccessor(byte[] key) {
      return key;
    }

    @Override
    public int compare(byte[] a, byte[] b) {
      if (text(a).equals("bad") || text(b).equals("bad")) {
        throw new IllegalStateException("no key");
      }
      return Arrays.compare(b, a);
    }
  }

  @Test
  void aComparatorOrdersKeys() throws IOException {
    File path = pool();
    Options options = new Options().comparator(new Reverse("a name of more than 23 characters"));
    try (BraidDB db = BraidFactory.factory.open(path, options)) {
      for (String key : new String[] {"b", "a", "c"}) db.put(bytes(key), bytes(key));
      try (BraidIterator keys = db.iterator()) {
        keys.seekToFirst();
        StringBuilder found = new StringBuilder();
        while (keys.hasNext()) found.append(text(keys.next().getKey()));
        assertEquals("cba", found.toString());
        keys.seek(bytes("bb"));
        assertEquals("b", text(keys.next().getKey()));
      }
      DBException thrown =
          assertThrows(DBException.class, () -> db.put(bytes("bad"), bytes("v")));
      assertTrue(thrown.getMessage().contains("no key"), thrown.getMessage());
      db.put(bytes("d"), bytes("v"));
      assertEquals(2, db.deleteRange(bytes("d"), bytes("b")));
      assertNull(db.get(bytes("c")));
      assertEquals("b", text(db.get(bytes("b"))));
    }
    IOException other = assertThrows(IOException.class, () -> BraidFactory.factory.open(path,
        new Options().comparator(new Reverse("a name of more than 23 letters"))));
    assertTrue(other.getMessage().contains("a name of"), other.getMessage());
    assertThrows(IOException.class, () -> BraidFactory.factory.open(path, new Options()));
    BraidFactory.factory.repair(path, options);
    try (BraidDB db = BraidFactory.factory.open(path, options)) {
      assertEquals("a", text(db.get(bytes("a"))));
    }
  }

  @Test
  void wrongArgumentsAreNamed() throws IOException {
    try (BraidDB db = open(pool()); WriteBatch batch = db.createWriteBatch()) {
      assertThrows(NullPointerException.class, () -> db.get(null));
      assertThrows(NullPointerException.class, () -> db.put(bytes("k"), null));
      assertThrows(NullPointerException.class, () -> batch.put(null, bytes("v")));
      DBException tooLong =
          assertThrows(DBException.class, () -> db.put(new byte[1 << 20], bytes("v")));
      assertTrue(tooLong.getMessage().contains("key"), tooLong.getMessage());
    }
  }

  @Test
  void aDesignWithoutSnapshotsSaysSo() throws IOException {
    try (BraidDB db = BraidFactory.factory.open(pool(), small().design("nvskiplist"))) {
      db.put(bytes("k"), bytes("v"));
      DBException none = assertThrows(DBException.class, db::getSnapshot);
      assertTrue(none.getMessage().contains("no snapshots"), none.getMessage());
      assertThrows(DBException.class,
          () -> db.put(bytes("k"), bytes("w"), new WriteOptions().snapshot(true)));
      assertEquals("w", text(db.get(bytes("k"))));
    }
  }

  @Test
  void threadsOfTheStoreThatCalledTheLoggerEndForJavaToo() throws IOException {
    Thread test = Thread.currentThread();
    Set<Thread> threads = ConcurrentHashMap.newKeySet();
    BraidOptions options = small().set("memory_budget_bytes", "1M");
    options.logger(line -> threads.add(Thread.currentThread()));
    try (BraidDB db = BraidFactory.factory.open(pool(), options)) {
      // More than an index of all keys has room for, of which the merge thread tells.
      for (int i = 0; i < 100; ++i) {
        try (WriteBatch batch = db.createWriteBatch()) {
          for (int k = 0; k < 1000; ++k) {
            batch.put(bytes(String.format("key%08d", i * 1000 + k)), bytes("value"));
          }
          db.write(batch);
        }
      }
      db.compactRange(null, null);
    }
    threads.remove(test);
    assertFalse(threads.isEmpty(), "a thread of the store has called the logger");
    for (Thread thread : threads) {
      assertFalse(thread.isAlive(), thread + " has ended with the database");
    }
  }

  @Test
  void theLoggerHearsOfARecovery() throws IOException {
    File path = pool();
    List<String> lines = Collections.synchronizedList(new ArrayList<>());
    Options options = small().logger(lines::add);
    BraidFactory.factory.open(path, options).close();
    // What an option of the pool is ignored for is told, and so is anything else worth a line: a
    // pool that was abandoned with entries in its log says that it has recovered them.
    ProcessBuilder child = new ProcessBuilder(
        ProcessHandle.current().info().command().orElseThrow(), "-cp",
        System.getProperty("java.class.path"), AbandonedWriter.class.getName(), path.getPath());
    Process process = child.inheritIO().start();
    try {
      assertEquals(17, process.waitFor());
    } catch (InterruptedException e) {
      throw new IOException(e);
    }
    try (BraidDB db = BraidFactory.factory.open(path, options)) {
      assertEquals("acknowledged", text(db.get(bytes("k"))));
    }
    assertTrue(lines.stream().anyMatch(line -> line.contains("recovered")), lines.toString());
  }
}
