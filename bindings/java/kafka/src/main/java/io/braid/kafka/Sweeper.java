package io.braid.kafka;

import io.braid.BraidDB;
import io.braid.BraidScan;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.iq80.leveldb.DBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Deletes in the background what no store can reach any more: namespaces without a marker, and
 * segments whose time is over. In steps, so that it ends soon when the pool closes; what is left is
 * found again by the next open. Now and then it looks for tasks that are gone.
 */
final class Sweeper {
  private static final Logger LOG = LoggerFactory.getLogger(Sweeper.class);
  private static final int STEP = 4096;
  private static final long LOOK_MINUTES = 10;

  private record Work(byte[] begin, byte[] end, byte[] done) {}

  private static final Work END = new Work(null, null, null);

  private final SharedPool pool;
  private final BraidDB db;
  private final LinkedBlockingQueue<Work> queue = new LinkedBlockingQueue<>();
  private final Thread thread;
  private volatile boolean stopping;

  Sweeper(SharedPool pool, BraidDB db) {
    this.pool = pool;
    this.db = db;
    thread = new Thread(this::run, "braid-sweeper");
    thread.setDaemon(true);
  }

  void start() {
    thread.start();
  }

  void removeNamespace(byte[] namespace) {
    queue.add(new Work(
        namespace, BraidDB.prefixUpperBound(namespace), SharedPool.removalKey(namespace)));
  }

  void removeRange(byte[] begin, byte[] end) {
    queue.add(new Work(begin, end, null));
  }

  private void run() {
    while (!stopping) {
      try {
        Work work = queue.poll(LOOK_MINUTES, TimeUnit.MINUTES);
        if (work == null) {
          pool.findOrphans().forEach(this::removeNamespace);
        } else if (work != END && remove(work) && work.done() != null) {
          db.delete(work.done());
        }
      } catch (InterruptedException e) {
        return; // nobody does; the thread is this object's own
      } catch (DBException e) {
        LOG.warn("what is obsolete in the pool {} could not be deleted: {}; the next open of the"
            + " pool tries again", pool.path(), e.getMessage());
      }
    }
  }

  /** Whether all of it is gone. */
  private boolean remove(Work work) {
    byte[] begin = work.begin();
    while (!stopping) {
      byte[] next = null;
      try (BraidScan scan = db.scan(begin, work.end(), true)) {
        for (int i = 0; i < STEP && scan.hasNext(); ++i) {
          scan.next();
        }
        if (scan.hasNext()) {
          next = scan.peekKey();
        }
      }
      db.deleteRange(begin, next == null ? work.end() : next);
      if (next == null) {
        return true;
      }
      begin = next;
    }
    return false;
  }

  /** Ends after the step at hand, and waits for it. */
  void stop() {
    stopping = true;
    queue.add(END); // and no interrupt: that would end a file operation
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
