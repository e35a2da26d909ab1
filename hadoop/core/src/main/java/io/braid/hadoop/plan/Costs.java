package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Consumer;

/**
 * What is known of a job's times, measured (job history) or assumed; seconds and bytes a second.
 * The spreads are coefficients of variation of the time a byte takes. Immutable.
 */
public final class Costs implements Cloneable {
  /** What opening a file takes, if nothing else is known: reading so much. */
  private static final double ASSUMED_OPEN_BYTES = 4 << 20;

  /**
   * The figures of chapter III's cluster: 6.58 s to start a container, Grep at 3.85 s a block of
   * 128 MiB.
   */
  public static final Costs ASSUMED =
      new Costs(6.58, 128 * 1048576 / 3.85, 0.1, 0.0)
          .withOpen(ASSUMED_OPEN_BYTES / (128 * 1048576 / 3.85))
          .assumed(true, true);

  /** Seconds that a scheduler may let free slots pass, where that is not known. */
  private static final double USUAL_WAIT = 3;

  /** Spreads by container and by node that may be there where none is known. */
  private static final double SOME_SKEW = 0.5;

  private static final double MUCH_SKEW = 1;
  private static final double SLOW_NODES = 0.15;

  private final double startSeconds;
  private final double bytesPerSecond;
  private final double blockSpread;
  private final double containerSpread;
  private final double nodeSpread;
  private double localityWaitSeconds;
  private double openSeconds;
  private boolean timesAssumed;
  private boolean spreadsAssumed;

  /** As the constructor with five arguments, with nodes that are alike. */
  public Costs(
      double startSeconds, double bytesPerSecond, double blockSpread, double containerSpread) {
    this(startSeconds, bytesPerSecond, blockSpread, containerSpread, 0);
  }

  /**
   * @param startSeconds from a container's allocation until its task reads
   * @param bytesPerSecond of one task while it works
   * @param blockSpread what is independent from block to block
   * @param containerSpread what all blocks of a container share, and no other container's (skewed
   *     data, a noisy moment)
   * @param nodeSpread what all containers of a node share (slow nodes)
   */
  public Costs(
      double startSeconds,
      double bytesPerSecond,
      double blockSpread,
      double containerSpread,
      double nodeSpread) {
    this.startSeconds = atLeastZero("container start-up", startSeconds);
    this.bytesPerSecond = atLeastZero("bytes a second", bytesPerSecond);
    if (bytesPerSecond == 0) {
      throw new IllegalArgumentException("bytes a second must be above 0");
    }
    this.blockSpread = atLeastZero("spread by block", blockSpread);
    this.containerSpread = atLeastZero("spread by container", containerSpread);
    this.nodeSpread = atLeastZero("spread by node", nodeSpread);
  }

  private Costs with(Consumer<Costs> change) {
    try {
      Costs copy = (Costs) clone();
      change.accept(copy);
      return copy;
    } catch (CloneNotSupportedException e) {
      throw new AssertionError(e);
    }
  }

  /**
   * These costs on a cluster whose scheduler lets a free slot pass for so many seconds before it
   * gives it to a container that asks for other hosts; the constructors say 0, as YARN's fair
   * scheduler does by default.
   */
  public Costs withLocalityWait(double seconds) {
    atLeastZero("wait for locality", seconds);
    return with(copy -> copy.localityWaitSeconds = seconds);
  }

  /** These costs where a container needs so many seconds to open each block; 0 otherwise. */
  public Costs withOpen(double seconds) {
    atLeastZero("opening of a block", seconds);
    return with(copy -> copy.openSeconds = seconds);
  }

  /**
   * The same numbers, of which start-up and speed, or the spreads, are but assumed: a plan should
   * then be good enough also if they are others.
   */
  public Costs assumed(boolean times, boolean spreads) {
    return with(
        copy -> {
          copy.timesAssumed = times;
          copy.spreadsAssumed = spreads;
        });
  }

  private Costs withSpreads(double container, double node, double start) {
    return new Costs(
            startSeconds * start,
            bytesPerSecond,
            blockSpread,
            Math.max(container, containerSpread),
            Math.max(node, nodeSpread))
        .withLocalityWait(localityWaitSeconds)
        .withOpen(openSeconds)
        .assumed(timesAssumed, spreadsAssumed);
  }

  /**
   * The costs that a plan is to be good under: these alone if they are known; if they are assumed,
   * little and much skew by container, some by node, quicker and slower starts under a scheduler
   * that waits for locality, as well. They count alike. Of the sets that were tried, in which the
   * large skew mattered most, this one comes as close as any to the best plan that there is for an
   * input whose costs are not known (hadoop/docs/simulator.md).
   */
  List<Costs> possible() {
    List<Costs> all = new ArrayList<>();
    all.add(this);
    if (spreadsAssumed) {
      all.add(withSpreads(SOME_SKEW, SLOW_NODES, 1));
      all.add(withSpreads(MUCH_SKEW, SLOW_NODES, 1));
    }
    if (timesAssumed) {
      for (double start : new double[] {1 / 3.0, 3}) {
        all.add(withSpreads(0, 0, start).withUsualWait());
        if (spreadsAssumed) {
          all.add(withSpreads(MUCH_SKEW, SLOW_NODES, start).withUsualWait());
        }
      }
    }
    return all;
  }

  private Costs withUsualWait() {
    return localityWaitSeconds == 0 ? withLocalityWait(USUAL_WAIT) : this;
  }

  private static double atLeastZero(String what, double value) {
    if (!(value >= 0) || Double.isInfinite(value)) {
      throw new IllegalArgumentException(
          "the " + what + " must be a number of at least 0, not " + value);
    }
    return value;
  }

  public double startSeconds() {
    return startSeconds;
  }

  public double bytesPerSecond() {
    return bytesPerSecond;
  }

  public double blockSpread() {
    return blockSpread;
  }

  public double containerSpread() {
    return containerSpread;
  }

  public double nodeSpread() {
    return nodeSpread;
  }

  /** How long the scheduler lets a slot pass that is not on a host a container asks for. */
  public double localityWaitSeconds() {
    return localityWaitSeconds;
  }

  /** What a container needs to open a block, whatever its length. */
  public double openSeconds() {
    return openSeconds;
  }

  /** Bytes that could be read in the time that opening a block takes. */
  public double openBytes() {
    return openSeconds * bytesPerSecond;
  }

  /** Whether start-up and speed are a guess. */
  public boolean areTimesAssumed() {
    return timesAssumed;
  }

  /** Whether the spreads are a guess. */
  public boolean areSpreadsAssumed() {
    return spreadsAssumed;
  }

  /** In one line, for people. */
  @Override
  public String toString() {
    String wait =
        localityWaitSeconds == 0
            ? ""
            : String.format(Locale.ROOT, ", %.2f s of wait for locality", localityWaitSeconds);
    return String.format(
        Locale.ROOT,
        "%.2f s to start a container, %s/s a task, %.2f s to open a block, spreads %.2f by"
            + " block, %.2f by container, %.2f by node%s (%s)",
        startSeconds,
        bytes(bytesPerSecond),
        openSeconds,
        blockSpread,
        containerSpread,
        nodeSpread,
        wait,
        certainty());
  }

  private static String bytes(double number) {
    String[] units = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    double scaled = number;
    for (; scaled >= 1024 && unit < units.length - 1; ++unit) {
      scaled /= 1024;
    }
    return String.format(Locale.ROOT, unit == 0 ? "%.0f %s" : "%.1f %s", scaled, units[unit]);
  }

  /** Whether these are as told, or which of them are but assumed, in two words. */
  public String certainty() {
    if (timesAssumed) {
      return spreadsAssumed ? "costs assumed" : "times assumed";
    }
    return spreadsAssumed ? "spreads assumed" : "as told";
  }
}
