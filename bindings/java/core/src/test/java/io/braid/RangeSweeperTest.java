package io.braid;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.iq80.leveldb.DBException;
import org.junit.jupiter.api.Test;

class RangeSweeperTest extends TempPools {
  private final List<RuntimeException> failures = Collections.synchronizedList(new ArrayList<>());

  private static byte[] key(int number) {
    return ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
  }

  private static void fill(BraidDB db, int count) {
    try (BraidWriteBatch batch = db.createWriteBatch()) {
      for (int i = 0; i < count; ++i) {
        batch.put(key(i), bytes("value"));
      }
      db.write(batch);
    }
  }

  private static List<Integer> keys(BraidDB db) {
    List<Integer> found = new ArrayList<>();
    try (BraidScan scan = db.scan(null, null, true)) {
      while (scan.hasNext()) {
        found.add(ByteBuffer.wrap(scan.next().getKey()).getInt());
      }
    }
    return found;
  }

  private static void await(CountDownLatch latch) throws InterruptedException {
    assertTrue(latch.await(60, TimeUnit.SECONDS));
  }

  /** Several steps and the end of the store; what follows comes once the range is gone. */
  @Test
  void rangesGo() throws Exception {
    try (BraidDB db = open(pool());
        RangeSweeper sweeper = new RangeSweeper(db, "sweeper", failures::add)) {
      fill(db, 10_000);
      List<List<Integer>> left = Collections.synchronizedList(new ArrayList<>());
      CountDownLatch done = new CountDownLatch(2);
      sweeper.delete(key(3), key(9_000), RangeSweeper::afterEntries, () -> {
        left.add(keys(db).subList(0, 4));
        done.countDown();
      });
      sweeper.delete(key(9_001), null, RangeSweeper::afterEntries, () -> {
        left.add(keys(db));
        done.countDown();
      });
      await(done);
      assertEquals(List.of(List.of(0, 1, 2, 9_000), List.of(0, 1, 2, 9_000)), left);
      assertTrue(failures.isEmpty(), failures.toString());
    }
  }

  /** A close waits for the step at hand and no longer, and what follows does not come. */
  @Test
  void aCloseEndsAfterTheStepAtHand() throws Exception {
    try (BraidDB db = open(pool())) {
      fill(db, 10);
      RangeSweeper sweeper = new RangeSweeper(db, "sweeper", failures::add);
      CountDownLatch begun = new CountDownLatch(1);
      CountDownLatch closing = new CountDownLatch(1);
      List<String> done = Collections.synchronizedList(new ArrayList<>());
      sweeper.delete(key(0), key(10), (store, begin, end) -> {
        begun.countDown();
        try {
          await(closing);
        } catch (InterruptedException e) {
          throw new IllegalStateException("a close must not interrupt", e);
        }
        return key(ByteBuffer.wrap(begin).getInt() + 1);
      }, () -> done.add("first"));
      sweeper.delete(key(5), null, RangeSweeper::afterEntries, () -> done.add("second"));
      await(begun);
      Thread closer = new Thread(sweeper::close);
      closer.start();
      long end = System.nanoTime() + 60_000_000_000L;
      while (closer.getState() != Thread.State.TIMED_WAITING) {
        assertTrue(System.nanoTime() < end);
        Thread.sleep(1);
      }
      closing.countDown();
      closer.join(60_000);
      assertEquals(List.of(1, 2, 3, 4, 5, 6, 7, 8, 9), keys(db));
      sweeper.delete(key(0), null); // nothing: it is closed
      sweeper.close();
      assertEquals(9, keys(db).size());
      assertEquals(List.of(), done);
      assertTrue(failures.isEmpty(), failures.toString());
    }
  }

  /** Who is told; and the thread goes on with what comes next. */
  @Test
  void failuresAreTold() throws Exception {
    try (BraidDB db = open(pool());
        RangeSweeper sweeper = new RangeSweeper(db, "sweeper", failures::add)) {
      fill(db, 3);
      CountDownLatch visits = new CountDownLatch(3);
      sweeper.every(Duration.ofMillis(1), () -> {
        visits.countDown();
        throw new DBException("a visit");
      });
      await(visits);
      CountDownLatch done = new CountDownLatch(1);
      sweeper.delete(key(0), key(1), RangeSweeper::afterEntries, done::countDown);
      await(done);
      assertNull(db.get(key(0)));
      assertEquals("a visit", failures.get(0).getMessage());
    }
  }
}
