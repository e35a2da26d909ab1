package io.braid.hadoop.mapreduce;

import io.braid.hadoop.input.CoalescingCounters;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter;

/** Counts in a task attempt's context. */
final class TaskOfContext implements CoalescingCounters.Task {
  private final TaskAttemptContext context;

  TaskOfContext(TaskAttemptContext context) {
    this.context = context;
  }

  @Override
  public void count(String name, long amount) {
    Counter counter = context.getCounter(CoalescingCounters.GROUP, name);
    if (counter != null) {
      counter.increment(amount);
    }
  }

  @Override
  public void countBytesRead(long amount) {
    Counter counter = context.getCounter(FileInputFormatCounter.BYTES_READ);
    if (counter != null && amount > 0) {
      counter.increment(amount);
    }
  }

  @Override
  public void progress() {
    context.progress();
  }
}
