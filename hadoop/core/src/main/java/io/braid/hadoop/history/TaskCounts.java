package io.braid.hadoop.history;

import io.braid.hadoop.input.CoalescingCounters;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.Counters;

/** What a map task's counters tell. Stateless. */
final class TaskCounts {
  private static final String READ_GROUP =
      "org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter";
  private static final String FILE_SYSTEMS = "org.apache.hadoop.mapreduce.FileSystemCounter";

  private TaskCounts() {}

  /** One of ours; 0 when it is not there. */
  static long of(Counters counters, String name) {
    return of(counters, CoalescingCounters.GROUP, name);
  }

  /** Bytes of its input. */
  static long bytes(Counters counters) {
    long bytes = of(counters, READ_GROUP, "BYTES_READ");
    return bytes != 0 ? bytes : of(counters, FILE_SYSTEMS, "HDFS_BYTES_READ");
  }

  /** Below 0 when it did not count them. */
  static double openSeconds(Counters counters) {
    boolean isCounted = of(counters, CoalescingCounters.CHILD_SPLITS) > 0;
    return isCounted ? of(counters, CoalescingCounters.OPENING_US) / 1e6 : -1;
  }

  private static long of(Counters counters, String group, String name) {
    Counter counter = counters == null ? null : counters.findCounter(group, name);
    return counter == null ? 0 : counter.getValue();
  }
}
