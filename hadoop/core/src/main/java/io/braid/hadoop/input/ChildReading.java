package io.braid.hadoop.input;

import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.net.NetUtils;

/**
 * How far the reading of a coalesced split has come: moves from child to child, tells the mapper
 * which it is, counts, and says how much is done. What the readers of both APIs share. For one
 * thread.
 */
public final class ChildReading<S> {
  private final ChildSplits<S> splits;
  private final Configuration conf;
  private final CoalescingCounters.Task task;
  private final Set<String> here;
  private final boolean isFileShown;
  private final BytesRead bytesRead = new BytesRead();
  private final long begun = System.nanoTime();
  private boolean isTimed;
  private int index = -1;
  private long doneBytes;
  private float reported;
  private long opening;

  /**
   * Starts before the first child; {@code conf} is the one that the mapper sees.
   *
   * @param isFileShown whether the split is a FileSplit, and so the mapper told the file
   */
  public ChildReading(
      ChildSplits<S> splits,
      boolean isFileShown,
      Configuration conf,
      CoalescingCounters.Task task) {
    this(splits, isFileShown, conf, task, namesOfThisHost());
  }

  ChildReading(
      ChildSplits<S> splits,
      boolean isFileShown,
      Configuration conf,
      CoalescingCounters.Task task,
      Set<String> here) {
    this.splits = splits;
    this.isFileShown = isFileShown;
    this.conf = conf;
    this.task = task;
    this.here = here;
    task.count(CoalescingCounters.SPLITS_BEFORE, splits.size());
    task.count(CoalescingCounters.SPLITS_AFTER, 1);
    task.count(CoalescingCounters.STARTING_MS, ManagementFactory.getRuntimeMXBean().getUptime());
  }

  /** Moves to the next child; null when there is none. */
  public S next() {
    if (index + 1 >= splits.size()) {
      countTime();
      return null;
    }
    ++index;
    splits.moveTo(index);
    S child = splits.child(index);
    FileRange range = FileRange.of(child);
    FileRange.publish(isFileShown ? range : null, conf);
    if (!isFileShown && range != null) {
      bytesRead.begin(range.path(), conf);
    }
    task.progress();
    opening = System.nanoTime();
    return child;
  }

  /** The child's reader is there. */
  public void opened() {
    task.count(CoalescingCounters.OPENING_US, (System.nanoTime() - opening) / 1000);
  }

  /** The child was read to its end. */
  public void finish() {
    long length = splits.length(index);
    doneBytes += length;
    task.countBytesRead(bytesRead.end());
    task.count(CoalescingCounters.CHILD_SPLITS, 1);
    task.count(
        isHere(splits.hosts(index))
            ? CoalescingCounters.LOCAL_BYTES
            : CoalescingCounters.REMOTE_BYTES,
        length);
  }

  /** Nothing is read any more: the split describes the whole again. */
  public void stop() {
    countTime();
    task.countBytesRead(bytesRead.end());
    splits.stop();
  }

  private void countTime() {
    if (!isTimed) {
      isTimed = true;
      task.count(CoalescingCounters.READING_MS, (System.nanoTime() - begun) / 1_000_000);
    }
  }

  /** From 0 to 1 and never less than before, whatever the child's reader says of itself. */
  public float progress(float ofChild, boolean isFinished) {
    if (isFinished) {
      reported = 1;
      return reported;
    }
    float part = ofChild > 0 ? Math.min(1, ofChild) : 0; // NaN counts as nothing
    int at = Math.max(0, index);
    float sum;
    if (splits.totalLength() > 0) {
      sum = (float) ((doneBytes + (double) part * splits.length(at)) / splits.totalLength());
    } else {
      sum = (at + part) / splits.size();
    }
    reported = Math.max(reported, Math.min(1, sum));
    return reported;
  }

  /** Bytes of the children that are done, and of the present one as far as its reader says. */
  public long position(float ofChild) {
    float part = ofChild > 0 ? Math.min(1, ofChild) : 0;
    return doneBytes + (long) ((double) part * splits.length(Math.max(0, index)));
  }

  private boolean isHere(List<String> hosts) {
    for (String host : hosts) {
      if (here.contains(host.toLowerCase(Locale.ROOT))) {
        return true;
      }
    }
    return false;
  }

  /** The names by which a block's hosts may mean this machine. */
  private static Set<String> namesOfThisHost() {
    Set<String> names = new TreeSet<>(List.of("localhost", "127.0.0.1"));
    // The NodeManager says by which name the scheduler knows this node.
    String node = System.getenv("NM_HOST");
    names.add((node != null ? node : NetUtils.getLocalHostname()).toLowerCase(Locale.ROOT));
    return names;
  }
}
