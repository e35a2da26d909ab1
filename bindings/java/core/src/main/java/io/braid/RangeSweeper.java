package io.braid;

import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Deletes ranges of keys in the background, one after the other, in steps: what nobody reads any
 * more, however much it is. It ends soon when it is closed, and what is left then is left: ask again
 * after the next open. It has a thread only while it has work. Any thread; close it before the
 * database.
 */
public final class RangeSweeper implements AutoCloseable {
  /** Says how far one step goes. */
  public interface Steps {
    /** The key before which a step from `begin` on ends; null: all that is left is one step. */
    byte[] end(BraidDB db, byte[] begin, byte[] end);
  }

  private static final int ENTRIES = 4096;
  private static final long IDLE_SECONDS = 10;

  private final BraidDB db;
  private final Consumer<RuntimeException> failed;
  private final ScheduledThreadPoolExecutor worker;
  private volatile boolean stopping;

  /**
   * @param db is not closed by this
   * @param name of the thread
   * @param failed is told what a deletion or a visit threw, by the thread; the next work goes on
   */
  public RangeSweeper(BraidDB db, String name, Consumer<RuntimeException> failed) {
    this.db = Objects.requireNonNull(db, "db");
    this.failed = Objects.requireNonNull(failed, "failed");
    worker = new ScheduledThreadPoolExecutor(1, work -> {
      Thread thread = new Thread(work, name);
      thread.setDaemon(true);
      return thread;
    });
    worker.setKeepAliveTime(IDLE_SECONDS, TimeUnit.SECONDS);
    worker.allowCoreThreadTimeOut(true);
    worker.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    worker.setRejectedExecutionHandler((work, executor) -> {}); // it is closed
  }

  /** Deletes from `begin` to before `end` (null: to the last), 4,096 entries a step, which are read. */
  public void delete(byte[] begin, byte[] end) {
    delete(begin, end, RangeSweeper::afterEntries, () -> {});
  }

  /** The same in steps of the caller's; `done` (by the thread) follows once all of it is gone. */
  public void delete(byte[] begin, byte[] end, Steps steps, Runnable done) {
    Objects.requireNonNull(begin, "begin");
    worker.execute(() -> guarded(() -> {
      if (remove(begin, end, steps)) {
        done.run();
      }
    }));
  }

  /** From now on calls `visit` so often, by the thread, until the close. */
  public void every(Duration interval, Runnable visit) {
    long millis = interval.toMillis();
    worker.scheduleWithFixedDelay(() -> guarded(visit), millis, millis, TimeUnit.MILLISECONDS);
  }

  private void guarded(Runnable work) {
    if (stopping) {
      return;
    }
    try {
      work.run();
    } catch (RuntimeException e) {
      failed.accept(e);
    }
  }

  /** Before the entry that follows the first 4,096. */
  public static byte[] afterEntries(BraidDB db, byte[] begin, byte[] end) {
    try (BraidScan scan = db.scan(begin, end, true)) {
      for (int i = 0; i < ENTRIES && scan.hasNext(); ++i) {
        scan.next();
      }
      return scan.hasNext() ? scan.peekKey() : null;
    }
  }

  /** Whether all of it is gone. */
  private boolean remove(byte[] begin, byte[] end, Steps steps) {
    byte[] from = begin;
    while (!stopping) {
      byte[] next = steps.end(db, from, end);
      if (next == null || end != null && Arrays.compareUnsigned(next, end) >= 0) {
        db.deleteRange(from, end);
        return true;
      }
      db.deleteRange(from, next);
      from = next;
    }
    return false;
  }

  /** Ends after the step at hand, and waits for it. */
  @Override
  public void close() {
    stopping = true;
    worker.shutdown(); // and no interrupt: that would end a file operation
    boolean interrupted = false;
    while (!worker.isTerminated()) {
      try {
        worker.awaitTermination(1, TimeUnit.MINUTES);
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
