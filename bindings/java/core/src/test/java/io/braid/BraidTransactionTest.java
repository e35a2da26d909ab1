package io.braid;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.WriteOptions;
import org.junit.jupiter.api.Test;

class BraidTransactionTest extends TempPools {
  @Test
  void allOfItIsWrittenAtOnce() throws Exception {
    try (BraidDB db = open(pool())) {
      db.put(bytes("a"), bytes("1"));
      db.put(bytes("c1"), bytes("x"));
      db.put(bytes("d"), bytes("y"));
      try (BraidTransaction transaction = db.beginTransaction()) {
        assertEquals("1", text(transaction.get(bytes("a"))));
        assertNull(transaction.getForUpdate(bytes("b")));
        transaction.put(bytes("b"), bytes("2"));
        transaction.put(bytes("empty"), new byte[0]);
        transaction.delete(bytes("a"));
        transaction.deleteRange(bytes("c"), bytes("d"));
        assertEquals("2", text(transaction.get(bytes("b"))));
        assertEquals("", text(transaction.get(bytes("empty"))));
        assertNull(transaction.get(bytes("a")));
        assertNull(transaction.get(bytes("c1")));
        assertEquals("1", text(db.get(bytes("a"))));
        assertNull(db.get(bytes("b")));
        assertTrue(transaction.commit(new WriteOptions().sync(true)));
        assertThrows(DBException.class, () -> transaction.put(bytes("b"), bytes("3")));
        assertThrows(DBException.class, transaction::commit);
      }
      assertNull(db.get(bytes("a")));
      assertEquals("2", text(db.get(bytes("b"))));
      assertEquals("", text(db.get(bytes("empty"))));
      assertNull(db.get(bytes("c1")));
      assertEquals("y", text(db.get(bytes("d"))));
      try (BraidTransaction transaction = db.beginTransaction()) {
        transaction.deleteRange(null, null);
        assertTrue(transaction.commit());
      }
      assertFalse(db.iterator().hasNext());
    }
  }

  @Test
  void whoComesSecondLoses() throws Exception {
    try (BraidDB db = open(pool())) {
      db.put(bytes("a"), bytes("1"));
      try (BraidTransaction transaction = db.beginTransaction()) {
        assertEquals("1", text(transaction.getForUpdate(bytes("a"))));
        transaction.put(bytes("sum"), bytes("1"));
        db.put(bytes("a"), bytes("2"));
        assertEquals("1", text(transaction.get(bytes("a"))));
        assertFalse(transaction.commit());
      }
      assertNull(db.get(bytes("sum")));
      try (BraidTransaction transaction = db.beginTransaction()) {
        assertEquals("2", text(transaction.get(bytes("a")))); // only looked at
        transaction.put(bytes("sum"), bytes("2"));
        db.put(bytes("a"), bytes("3"));
        assertTrue(transaction.commit());
      }
      assertEquals("2", text(db.get(bytes("sum"))));
    }
  }

  @Test
  void withoutACommitNothingIsThere() throws Exception {
    BraidTransaction over;
    BraidDB db = open(pool());
    try (db) {
      try (BraidTransaction transaction = db.beginTransaction()) {
        transaction.put(bytes("a"), bytes("1"));
        transaction.rollback();
        assertThrows(DBException.class, transaction::commit);
      }
      BraidTransaction left = db.beginTransaction();
      left.put(bytes("a"), bytes("1"));
      left.close();
      assertThrows(DBException.class, left::commit);
      assertNull(db.get(bytes("a")));
      over = db.beginTransaction();
      over.put(bytes("a"), bytes("1"));
    }
    assertThrows(DBException.class, over::commit);
    assertThrows(DBException.class, db::beginTransaction);
    over.close();
  }

  @Test
  void largeValuesPass() throws Exception {
    byte[] large = new byte[3 << 20];
    large[1 << 20] = 7;
    try (BraidDB db = open(pool()); BraidTransaction transaction = db.beginTransaction()) {
      transaction.put(bytes("large"), large);
      assertArrayEquals(large, transaction.get(bytes("large")));
      assertTrue(transaction.commit());
      assertArrayEquals(large, db.get(bytes("large")));
    }
  }

  @Test
  void aDesignWithoutTransactionsSaysSo() throws Exception {
    try (BraidDB db = BraidFactory.factory.open(pool(), new BraidOptions().design("blackhole"))) {
      assertThrows(DBException.class, db::beginTransaction);
    }
  }

  /** Transfers of four threads: no money comes or goes. */
  @Test
  void transfersBesideEachOtherKeepTheSum() throws Exception {
    int accounts = 8;
    int transfers = 500;
    try (BraidDB db = open(pool())) {
      for (int i = 0; i < accounts; ++i) {
        db.put(bytes("account" + i), bytes("100"));
      }
      List<Thread> threads = new ArrayList<>();
      List<Throwable> failures = java.util.Collections.synchronizedList(new ArrayList<>());
      for (int t = 0; t < 4; ++t) {
        int number = t;
        Thread thread = new Thread(() -> {
          java.util.Random random = new java.util.Random(number);
          for (int i = 0; i < transfers;) {
            byte[] from = bytes("account" + random.nextInt(accounts));
            byte[] to = bytes("account" + random.nextInt(accounts));
            try (BraidTransaction transaction = db.beginTransaction()) {
              int left = Integer.parseInt(text(transaction.getForUpdate(from))) - 1;
              transaction.put(from, bytes(Integer.toString(left)));
              int right = Integer.parseInt(text(transaction.getForUpdate(to))) + 1;
              transaction.put(to, bytes(Integer.toString(right)));
              i += transaction.commit() ? 1 : 0;
            }
          }
        });
        thread.setUncaughtExceptionHandler((dead, failure) -> failures.add(failure));
        thread.start();
        threads.add(thread);
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertTrue(failures.isEmpty(), failures::toString);
      int sum = 0;
      for (int i = 0; i < accounts; ++i) {
        sum += Integer.parseInt(text(db.get(bytes("account" + i))));
      }
      assertEquals(100 * accounts, sum);
    }
  }
}
