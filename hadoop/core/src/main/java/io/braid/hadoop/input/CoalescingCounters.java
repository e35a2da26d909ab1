package io.braid.hadoop.input;

/** The counters of a coalesced job. They are counted by the tasks, so a job's sums are its own. */
public final class CoalescingCounters {
  /** The group's name in `mapred job -counter` and on the job's page. */
  public static final String GROUP = "Input coalescing";

  /** Splits that the delegate made. */
  public static final String SPLITS_BEFORE = "SPLITS_BEFORE";

  /** Splits that the job ran, each in a container. */
  public static final String SPLITS_AFTER = "SPLITS_AFTER";

  /** Children of coalesced splits that were read to their end. */
  public static final String CHILD_SPLITS = "CHILD_SPLITS";

  /** Bytes of those children that the task's own host holds. */
  public static final String LOCAL_BYTES = "LOCAL_BYTES";

  /** Bytes of those children that it does not hold, or of which no host is known. */
  public static final String REMOTE_BYTES = "REMOTE_BYTES";

  /**
   * Milliseconds from the opening of a coalesced split's first child until its last record was
   * mapped: what is left of a map's time, its sort aside, is start-up. No other record of a job
   * tells when a task begins to read.
   */
  public static final String READING_MS = "READING_MS";

  /** Microseconds in which the readers of the children were made: what opening files takes. */
  public static final String OPENING_US = "OPENING_US";

  /** Milliseconds from the start of the task's process to the first child. */
  public static final String STARTING_MS = "STARTING_MS";

  private CoalescingCounters() {}

  /** Where a task counts, and says that it is alive; each API has its own. */
  public interface Task {
    void count(String counter, long amount);

    /** Counts for the framework's own counter, which it keeps for FileSplits alone. */
    void countBytesRead(long amount);

    void progress();
  }

  /** Counts a split that was not coalesced: one before, one after. */
  public static void countSingle(Task task) {
    task.count(SPLITS_BEFORE, 1);
    task.count(SPLITS_AFTER, 1);
  }
}
