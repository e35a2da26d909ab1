package io.braid.hadoop.mapreduce;

import io.braid.hadoop.input.CoalescingCounters;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;

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
  public void progress() {
    context.progress();
  }
}
