package io.braid.hadoop.sim;

import static io.braid.hadoop.sim.Runs.say;

import io.braid.hadoop.sim.Sweep.Case;
import io.braid.hadoop.sim.Sweep.Told;
import io.braid.hadoop.sim.Sweep.Verdict;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/**
 * The goal of the automatic policy: within 1.05 of the best of all families at the median and 1.15
 * at the worst, over a grid of inputs and skews that also has points where starting containers
 * costs little. Not thread safe.
 */
final class GoalSweep {
  private static final double GOAL_MEDIAN = 1.05;
  private static final double GOAL_WORST = 1.15;

  /** Where few runs say that a point is over this, so many times as many decide. */
  private static final double NEAR = 1.05;

  private static final int CLOSER = 4;

  private static final Told[] TOLD = {Told.TRUTH, Told.ASSUMED};

  private final Sweep sweep;

  /** Each point's times are means over so many seeds, four times as many on the small cluster. */
  GoalSweep(int seeds) {
    sweep = new Sweep(seeds);
  }

  /** All points, in an order that is always the same and in which any first part is a sample. */
  static List<Case> grid() {
    List<Case> all = new ArrayList<>();
    for (int[] shape : new int[][] {{4, 2}, {32, 8}}) {
      for (int count : new int[] {100, 1000}) {
        for (int size : new int[] {16, 64, 256}) {
          for (double start : new double[] {1, 6.58, 20}) {
            for (Skew skew : skews()) {
              all.add(new Case(shape[0], shape[1], count, size, start, skew));
            }
          }
        }
      }
    }
    Collections.shuffle(all, new Random(1));
    return all;
  }

  private static List<Skew> skews() {
    List<Skew> skews = new ArrayList<>();
    for (double block : new double[] {0, 0.5, 1}) {
      for (double container : new double[] {0, 0.5, 1}) {
        skews.add(new Skew("", block, container, 0));
      }
    }
    skews.add(Skew.nodes(0.3));
    skews.add(Skew.nodes(0.6));
    skews.add(new Skew("", 0.5, 0.25, 0.3));
    return skews;
  }

  Verdict judge(Case point) {
    Verdict verdict = sweep.judge(point, TOLD);
    return verdict.ratio(Told.TRUTH) > NEAR ? sweep.judgeAgain(verdict, CLOSER, TOLD) : verdict;
  }

  /** Judges the points; each is told to {@code progress} when it is done. */
  Report run(List<Case> points, Consumer<String> progress) {
    List<Verdict> verdicts = new ArrayList<>();
    for (Case point : points) {
      Verdict verdict = judge(point);
      verdicts.add(verdict);
      progress.accept(
          say(
              "%.3f told the truth, %.3f told nothing: %s",
              verdict.ratio(Told.TRUTH), verdict.ratio(Told.ASSUMED), point.label()));
    }
    Report report = new Report("The automatic policy against the best of all families");
    report.fact("points", say("%d of %d", points.size(), grid().size()));
    Report.Table table =
        report.table(
            "auto over the best", "told", "median", "p90", "worst", "over_1.05", "over_1.15");
    for (Told told : TOLD) {
      double[] sorted = sorted(verdicts, told);
      table.row(
          told.label,
          Runs.median(sorted),
          sorted[(int) (0.9 * (sorted.length - 1))],
          sorted[sorted.length - 1],
          over(sorted, GOAL_MEDIAN),
          over(sorted, GOAL_WORST));
    }
    farthest(report, verdicts, Told.TRUTH);
    farthest(report, verdicts, Told.ASSUMED);
    double[] truth = sorted(verdicts, Told.TRUTH);
    report.claim(
        "told the truth, auto is within 1.05 of the best of all families at the median, and within"
            + " 1.15 at the worst",
        "all of the grid's",
        say("%.3f at the median, %.3f at the worst", Runs.median(truth), truth[truth.length - 1]),
        Runs.median(truth) <= GOAL_MEDIAN && truth[truth.length - 1] <= GOAL_WORST);
    return report;
  }

  private static double[] sorted(List<Verdict> verdicts, Told told) {
    return verdicts.stream().mapToDouble(v -> v.ratio(told)).sorted().toArray();
  }

  private static int over(double[] ratios, double limit) {
    return (int) Arrays.stream(ratios).filter(r -> r > limit).count();
  }

  private static void farthest(Report report, List<Verdict> verdicts, Told told) {
    Report.Table table =
        report.table("the farthest, told " + told.label, "ratio", "best", "point", "chosen");
    verdicts.stream()
        .sorted((a, b) -> Double.compare(b.ratio(told), a.ratio(told)))
        .limit(10)
        .forEach(
            v ->
                table.row(
                    v.ratio(told),
                    Sweep.FIXED.get(v.best).label,
                    v.point.label(),
                    told == Told.TRUTH ? v.chosen : ""));
  }
}
