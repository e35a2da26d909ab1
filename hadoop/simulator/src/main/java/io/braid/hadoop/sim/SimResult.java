package io.braid.hadoop.sim;

import java.util.ArrayList;
import java.util.List;

/**
 * What a simulation has seen: its jobs, and the cluster's use over time. Read-only once it is made.
 */
public final class SimResult {
  /** The cluster's use at a moment; counts are from the start, over all nodes. */
  static final class Sample {
    double time;
    double coreSeconds;
    double diskBytes;
    double networkBytes;
    double shuffledBytes;
    int containers;
    int[] running;
    boolean[] waiting;
  }

  final List<JobResult> jobs = new ArrayList<>();
  final List<Sample> samples = new ArrayList<>();
  double finished;
  double coreSeconds;
  double diskBytes;
  double networkBytes;
  double shuffledBytes;
  int peakContainers;
  long events;

  /** The jobs, in the order they were given. */
  public List<JobResult> jobs() {
    return List.copyOf(jobs);
  }

  /** When the last job ended. */
  public double finishedSeconds() {
    return finished;
  }

  /** Core seconds used by all containers. */
  public double coreSeconds() {
    return coreSeconds;
  }

  double meanJobSeconds() {
    return jobs.stream().mapToDouble(JobResult::seconds).average().orElse(0);
  }

  int containers() {
    return jobs.stream().mapToInt(JobResult::containers).sum();
  }

  /**
   * Jain's index of the slots that jobs hold, over the moments when two or more jobs could use more
   * than they have or are served: 1 is an even share, 1 / jobs is one job that has all.
   */
  double fairness() {
    double sum = 0;
    int moments = 0;
    for (Sample sample : samples) {
      double total = 0;
      double squares = 0;
      int competing = 0;
      boolean anyWaits = false;
      for (int i = 0; i < sample.running.length; ++i) {
        if (sample.running[i] > 0 || sample.waiting[i]) {
          ++competing;
          anyWaits |= sample.waiting[i];
          total += sample.running[i];
          squares += (double) sample.running[i] * sample.running[i];
        }
      }
      if (competing >= 2 && anyWaits && total > 0) {
        sum += total * total / (competing * squares);
        ++moments;
      }
    }
    return moments == 0 ? 1 : sum / moments;
  }
}
