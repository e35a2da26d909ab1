package io.braid.hadoop.history;

import java.util.ArrayList;
import java.util.List;

/**
 * When a map task that succeeded ran, where, and what it read. Times in milliseconds. Immutable.
 */
public final class MapTime {
  /** Parts of the progress that show the pace of the work. */
  private static final int FEWEST_PARTS = 3;

  private final String id;
  private final String host;
  private final long scheduled;
  private final long launched;
  private final long began;
  private final long finished;
  private final long bytes;
  private final long blocks;
  private final int[] clockSplits;
  private final double openSeconds;

  /**
   * @param scheduled when the task was there to be run
   * @param launched when a node had started its container
   * @param began when it began to read; 0 when that is not recorded
   * @param bytes read; 0 when the counters do not tell
   * @param blocks that the task read: the delegate's splits in a coalesced one
   * @param clockSplits milliseconds for each equal part of the progress; empty when not recorded
   * @param openSeconds in which the blocks' readers were made; below 0 when that is not recorded
   */
  public MapTime(
      String id,
      String host,
      long scheduled,
      long launched,
      long began,
      long finished,
      long bytes,
      long blocks,
      int[] clockSplits,
      double openSeconds) {
    this.openSeconds = openSeconds;
    this.id = id;
    this.host = host;
    this.scheduled = scheduled;
    this.launched = launched;
    this.began = began;
    this.finished = finished;
    this.bytes = bytes;
    this.blocks = Math.max(1, blocks);
    this.clockSplits = clockSplits.clone();
  }

  public String id() {
    return id;
  }

  public String host() {
    return host;
  }

  public long scheduled() {
    return scheduled;
  }

  public long launched() {
    return launched;
  }

  public long finished() {
    return finished;
  }

  public long bytes() {
    return bytes;
  }

  public long blocks() {
    return blocks;
  }

  /** Seconds in which the blocks' readers were made; below 0 when that is not recorded. */
  double openSeconds() {
    return openSeconds;
  }

  /** Seconds from the launch of the container to the task's end. */
  public double seconds() {
    return (finished - launched) / 1e3;
  }

  /** Seconds before the task began to read; below 0 when that is not recorded. */
  double startSeconds() {
    // The tasks' clock says when it began, the application master's when it was launched.
    return began <= 0 ? -1 : Math.min(Math.max(0, (began - launched) / 1e3), seconds());
  }

  /**
   * Seconds before the work began, from how the time is spread over the progress; below 0 when that
   * does not show. A task reports its progress but every few seconds, and Hadoop draws a straight
   * line between two reports: so the first parts of the progress, up to the first report, share the
   * start-up, and the last ones, from the last report on, the sort. What lies between has the pace
   * of the work; followed back to no progress, it leaves the start-up. A short map has nothing
   * between.
   */
  double startByProgress() {
    int first = 0;
    while (first < clockSplits.length && isAlike(clockSplits[first], clockSplits[0])) {
      ++first;
    }
    // The first report is within this part.
    ++first;
    int last = clockSplits.length;
    while (last > 0 && isAlike(clockSplits[last - 1], clockSplits[clockSplits.length - 1])) {
      --last;
    }
    --last;
    if (last - first < FEWEST_PARTS) {
      return -1;
    }
    double before = 0;
    List<Double> paces = new ArrayList<>();
    for (int i = 0; i < last; ++i) {
      if (i < first) {
        before += clockSplits[i];
      } else {
        paces.add((double) clockSplits[i]);
      }
    }
    return Math.max(0, before - first * Numbers.median(paces)) / 1e3;
  }

  /** Parts of one straight line differ by what their milliseconds are rounded. */
  private static boolean isAlike(int one, int other) {
    return Math.abs(one - other) <= 1;
  }
}
