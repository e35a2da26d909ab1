package io.braid;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;
import org.iq80.leveldb.WriteBatch;
import org.junit.jupiter.api.Test;

/** Handles may be closed in any order, twice, never, and under the feet of other threads. */
class CloseTest extends TempPools {
  @Test
  void useAfterCloseIsAnError() throws IOException {
    BraidDB db = open(pool());
    db.put(bytes("k"), bytes("v"));
    DBIterator it = db.iterator();
    Snapshot snapshot = db.getSnapshot();
    WriteBatch batch = db.createWriteBatch();
    it.seekToFirst();
    db.close();
    db.close();
    DBException closed = assertThrows(DBException.class, () -> db.get(bytes("k")));
    assertTrue(closed.getMessage().contains("closed"), closed.getMessage());
    assertThrows(DBException.class, db::iterator);
    assertThrows(DBException.class, db::getSnapshot);
    assertThrows(DBException.class, db::verify);
    assertThrows(DBException.class, it::seekToFirst);
    assertThrows(DBException.class, () -> db.write(batch.put(bytes("a"), bytes("b"))));
    batch.close();
    assertThrows(DBException.class, () -> batch.put(bytes("a"), bytes("b")));
    snapshot.close();
    it.close();
    it.close();
    assertThrows(DBException.class, it::hasNext);
  }

  @Test
  void tenThousandOrdersOfClosing() throws IOException {
    long seed = seed();
    Random random = new Random(seed);
    for (int i = 0; i < 100; ++i) {
      oneHundredOrders(random, "seed " + seed);
    }
  }

  private void oneHundredOrders(Random random, String seed) throws IOException {
    BraidDB db = open(pool());
    for (int i = 0; i < 10; ++i) {
      db.put(bytes("key" + i), bytes("value" + i));
    }
    for (int order = 0; order < 100; ++order) {
      List<Closeable> open = new ArrayList<>();
      boolean last = order == 99;
      for (int step = 0; step < 12; ++step) {
        try {
          step(random, db, open, last && step == 6);
        } catch (DBException e) {
          assertTrue(e.getMessage().contains("closed"), seed + ": " + e.getMessage());
        }
      }
      // Some are left to the collector.
      while (!open.isEmpty() && random.nextInt(8) != 0) {
        open.remove(random.nextInt(open.size())).close();
      }
    }
    db.close();
  }

  private static void step(Random random, BraidDB db, List<Closeable> open, boolean closes)
      throws IOException {
    if (closes) {
      db.close();
    }
    switch (random.nextInt(7)) {
      case 0:
        open.add(db.iterator());
        break;
      case 1:
        open.add(db.getSnapshot());
        break;
      case 2:
        open.add(db.createWriteBatch());
        break;
      case 3:
        if (!open.isEmpty()) {
          open.get(random.nextInt(open.size())).close(); // and again later
        }
        break;
      default:
        use(random, db, open);
    }
  }

  private static void use(Random random, BraidDB db, List<Closeable> open) {
    if (open.isEmpty()) {
      db.get(bytes("key3"));
      return;
    }
    Closeable handle = open.get(random.nextInt(open.size()));
    if (handle instanceof DBIterator) {
      DBIterator it = (DBIterator) handle;
      it.seek(bytes("key5"));
      if (it.hasNext()) {
        it.next();
      }
    } else if (handle instanceof Snapshot) {
      db.get(bytes("key1"), new ReadOptions().snapshot((Snapshot) handle));
    } else {
      db.write(((WriteBatch) handle).put(bytes("key2"), bytes("v")));
    }
  }

  @Test
  void closingBesideCallsOfOtherThreads() throws Exception {
    for (int round = 0; round < 30; ++round) {
      BraidDB db = open(pool());
      AtomicReference<Throwable> failure = new AtomicReference<>();
      AtomicLong done = new AtomicLong();
      List<Thread> threads = new ArrayList<>();
      DBIterator shared = db.iterator();
      for (int i = 0; i < 4; ++i) {
        Random random = new Random(round * 31 + i);
        threads.add(new Thread(() -> {
          try {
            for (;;) {
              byte[] key = bytes("key" + random.nextInt(100));
              db.put(key, bytes("value"));
              db.get(key);
              shared.seek(key);
              if (shared.hasNext()) {
                shared.next();
              }
              done.incrementAndGet();
            }
          } catch (DBException e) {
            if (!e.getMessage().contains("closed")) {
              failure.set(e);
            }
          } catch (Throwable e) {
            failure.set(e);
          }
        }));
      }
      threads.forEach(Thread::start);
      while (done.get() < 100 && failure.get() == null) {
        Thread.onSpinWait();
      }
      if (round % 2 == 0) {
        shared.close();
      }
      db.close();
      for (Thread thread : threads) {
        thread.join(60_000);
        assertEquals(Thread.State.TERMINATED, thread.getState());
      }
      shared.close();
      assertEquals(null, failure.get());
    }
  }
}
