package io.braid.kafka.suites;

import java.io.PrintStream;
import java.util.Map;
import java.util.function.LongSupplier;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;

/** Says what came of each class of tests as soon as it is done, and counts. */
final class Progress implements TestExecutionListener {
  private final PrintStream terminal;
  private final PrintStream log;
  private final LongSupplier stores;
  private TestPlan plan;
  private int classes;
  private int done;
  private Counts total = new Counts();
  private Counts current = new Counts();
  private long began;
  private long storesBefore;
  private volatile long lastNews = System.nanoTime();

  private static final class Counts {
    int passed;
    int failed;
    int skipped;

    void add(Counts more) {
      passed += more.passed;
      failed += more.failed;
      skipped += more.skipped;
    }

    @Override
    public String toString() {
      return passed + " passed, " + failed + " failed, " + skipped + " skipped";
    }
  }

  /** Failures go to the log in full; `stores`: how many were opened so far. */
  Progress(PrintStream terminal, PrintStream log, LongSupplier stores) {
    this.terminal = terminal;
    this.log = log;
    this.stores = stores;
  }

  int passed() {
    return total.passed;
  }

  int failed() {
    return total.failed;
  }

  int skipped() {
    return total.skipped;
  }

  /** When a test began or ended last, in System.nanoTime. */
  long lastNews() {
    return lastNews;
  }

  private boolean isClass(TestIdentifier what) {
    return plan.getParent(what).map(parent -> parent.getParentId().isEmpty()).orElse(false);
  }

  private String nameOf(TestIdentifier what) {
    return plan.getParent(what).filter(parent -> !isClass(what) && parent.getParentId().isPresent())
        .map(parent -> nameOf(parent) + ", ").orElse("") + what.getDisplayName();
  }

  @Override
  public void testPlanExecutionStarted(TestPlan testPlan) {
    plan = testPlan;
    for (TestIdentifier root : plan.getRoots()) {
      classes += plan.getChildren(root).size();
    }
  }

  @Override
  public void executionStarted(TestIdentifier what) {
    lastNews = System.nanoTime();
    if (isClass(what)) {
      current = new Counts();
      began = System.nanoTime();
      storesBefore = stores.getAsLong();
    }
    log.println("--- " + nameOf(what));
  }

  @Override
  public void executionSkipped(TestIdentifier what, String reason) {
    log.println("--- skipped: " + nameOf(what) + ": " + reason);
    int tests = (int) plan.getDescendants(what).stream().filter(TestIdentifier::isTest).count();
    Counts counts = isClass(what) ? total : current; // a class that is skipped does not end
    counts.skipped += Math.max(tests, 1);
    done += isClass(what) ? 1 : 0;
  }

  @Override
  public void executionFinished(TestIdentifier what, TestExecutionResult result) {
    lastNews = System.nanoTime();
    switch (result.getStatus()) {
      case SUCCESSFUL -> current.passed += what.isTest() ? 1 : 0;
      case ABORTED -> current.skipped += 1;
      case FAILED -> failed(what, result.getThrowable().orElse(null));
    }
    if (isClass(what)) {
      ++done;
      terminal.println(done + "/" + classes + " " + what.getDisplayName() + ": " + current + "; "
          + (stores.getAsLong() - storesBefore) + " stores of braid opened, "
          + (System.nanoTime() - began) / 1_000_000_000 + " s");
      total.add(current);
    }
  }

  private void failed(TestIdentifier what, Throwable why) {
    current.failed += 1;
    String first = String.valueOf(why).lines().limit(3).reduce("", (all, line) -> all + " " + line);
    terminal.println("FAILED " + nameOf(what) + ":" + first);
    log.println("--- FAILED: " + nameOf(what));
    if (why != null) {
      why.printStackTrace(log);
    }
  }

  /** Where all threads are, into the log. */
  void dumpThreads() {
    for (Map.Entry<Thread, StackTraceElement[]> thread : Thread.getAllStackTraces().entrySet()) {
      log.println(thread.getKey());
      for (StackTraceElement frame : thread.getValue()) {
        log.println("    at " + frame);
      }
    }
    log.flush();
  }
}
