package io.braid.hadoop.mapred;

import io.braid.hadoop.input.CoalescingCounters;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter;

/** Counts in a task's reporter; a null one, which some callers pass, counts nothing. */
final class TaskOfReporter implements CoalescingCounters.Task {
  private final Reporter reporter;

  TaskOfReporter(Reporter reporter) {
    this.reporter = reporter != null ? reporter : Reporter.NULL;
  }

  @Override
  public void count(String name, long amount) {
    reporter.incrCounter(CoalescingCounters.GROUP, name, amount);
  }

  @Override
  public void countBytesRead(long amount) {
    if (amount > 0) {
      reporter.incrCounter(FileInputFormatCounter.BYTES_READ, amount);
    }
  }

  @Override
  public void progress() {
    reporter.progress();
  }
}
