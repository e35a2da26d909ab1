package io.braid.hadoop.history;

import io.braid.hadoop.plan.Costs;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * What finished jobs say about start-up, speed and spreads, for {@code auto} to plan by. Immutable.
 */
public final class CostsFromHistory {
  /** A folder's jobs, newest first, of which any are looked at. */
  private static final int MOST_FILES = 50;

  /** Jobs that are taken into account. */
  private static final int MOST_JOBS = 5;

  private final Costs costs;
  private final String origin;

  private CostsFromHistory(Costs costs, String origin) {
    this.costs = costs;
    this.origin = origin;
  }

  public Costs costs() {
    return costs;
  }

  /** Which jobs they come from and how, in a few words. */
  public String origin() {
    return origin;
  }

  /**
   * From a history file, or from the newest jobs below a folder: those of that name if there are
   * any, else all. An IOException says why there is nothing to learn; the caller then keeps what it
   * has.
   *
   * @param jobName may be null
   * @param millis that reading may take; what was read by then counts
   */
  public static CostsFromHistory of(Configuration conf, Path path, String jobName, long millis)
      throws IOException {
    long deadline = System.nanoTime() + millis * 1_000_000;
    List<JobTimes> named = new ArrayList<>();
    List<JobTimes> others = new ArrayList<>();
    IOException unreadable = null;
    for (Path file : HistoryReader.find(conf, path, MOST_FILES, deadline)) {
      boolean isAny = !named.isEmpty() || !others.isEmpty();
      if (isAny && System.nanoTime() - deadline > 0) {
        break;
      }
      try {
        JobTimes job = HistoryReader.read(conf, file);
        if (job.maps().size() >= StartUp.FEWEST) {
          (job.name().equals(jobName) ? named : others).add(job);
        }
      } catch (IOException e) {
        unreadable = e;
      }
      if (named.size() >= MOST_JOBS) {
        break;
      }
    }
    List<JobTimes> jobs = named.isEmpty() ? others : named;
    if (jobs.isEmpty()) {
      throw unreadable != null
          ? unreadable
          : new IOException(
              "there is no job with at least " + StartUp.FEWEST + " finished maps in " + path);
    }
    return of(jobs.subList(0, Math.min(MOST_JOBS, jobs.size())));
  }

  /**
   * From the user's own finished jobs of that name; null if there are none. IOException when
   * ResourceManager or JobHistoryServer can't be asked.
   */
  public static CostsFromHistory ofOwnJobs(Configuration conf, String jobName)
      throws IOException, InterruptedException {
    List<JobTimes> jobs = OwnJobs.find(conf, jobName, MOST_JOBS);
    return jobs.isEmpty() ? null : of(jobs);
  }

  /** The medians over jobs, of those alone whose start-up is known if there are such. */
  static CostsFromHistory of(List<JobTimes> jobs) {
    List<JobTimes> telling = new ArrayList<>(jobs);
    telling.removeIf(job -> StartUp.of(job.maps()).method == null);
    List<Costs> all = new ArrayList<>();
    String method = null;
    for (JobTimes job : telling.isEmpty() ? jobs : telling) {
      CostsFromHistory one = of(job);
      all.add(one.costs);
      method = one.origin;
    }
    if (all.size() == 1) {
      return new CostsFromHistory(all.get(0), method);
    }
    List<List<Double>> columns = new ArrayList<>();
    for (int k = 0; k < 6; ++k) {
      columns.add(new ArrayList<>());
    }
    for (Costs costs : all) {
      columns.get(0).add(costs.startSeconds());
      columns.get(1).add(costs.bytesPerSecond());
      columns.get(2).add(costs.blockSpread());
      columns.get(3).add(costs.containerSpread());
      columns.get(4).add(costs.nodeSpread());
      columns.get(5).add(costs.openSeconds());
    }
    return new CostsFromHistory(
        new Costs(
                Numbers.median(columns.get(0)),
                Numbers.median(columns.get(1)),
                Numbers.median(columns.get(2)),
                Numbers.median(columns.get(3)),
                Numbers.median(columns.get(4)))
            .withOpen(Numbers.median(columns.get(5))),
        "medians of " + all.size() + " jobs");
  }

  /** For each block; as assumed when the tasks did not count it. */
  private static double openSeconds(List<MapTime> maps) {
    double seconds = 0;
    long blocks = 0;
    for (MapTime map : maps) {
      if (map.openSeconds() >= 0) {
        seconds += map.openSeconds();
        blocks += map.blocks();
      }
    }
    return blocks == 0 ? Costs.ASSUMED.openSeconds() : seconds / blocks;
  }

  /** Of one job, with what can't be told taken from {@link Costs#ASSUMED}. */
  static CostsFromHistory of(JobTimes job) {
    StartUp start = StartUp.of(job.maps());
    if (start.method == null) {
      // All maps alike: at most half of the shortest can have been start-up.
      start =
          StartUp.assumed(
              Math.min(
                  Costs.ASSUMED.startSeconds(),
                  job.maps().stream().mapToDouble(MapTime::seconds).min().orElse(0) / 2));
    }
    List<MapTime> worked = new ArrayList<>();
    double bytes = 0;
    double seconds = 0;
    for (MapTime map : job.maps()) {
      if (map.bytes() > 0 && start.work(map) > 0) {
        worked.add(map);
        bytes += map.bytes();
        seconds += start.work(map);
      }
    }
    double rate = bytes > 0 && seconds > 0 ? bytes / seconds : Costs.ASSUMED.bytesPerSecond();
    Spreads spreads = Spreads.of(worked, start);
    Costs costs =
        new Costs(
                start.seconds + Numbers.median(job.gaps()),
                rate,
                spreads.block,
                spreads.container,
                spreads.node)
            .withOpen(openSeconds(job.maps()));
    return new CostsFromHistory(costs, job.id() + ", " + start.method);
  }
}
