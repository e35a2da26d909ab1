package io.braid.hadoop.sim;

import java.util.Arrays;

/** What a simulated job has done. Written by the simulation's thread; read-only afterwards. */
public final class JobResult {
  final String name;
  final int number;
  final double submitted;
  String policy = "";
  String reason = "";
  int maps;
  int reducers;
  int localMaps;
  int rackMaps;
  long blocksRead;
  long localBytes;
  long remoteBytes;
  double firstLaunch = -1;
  double mapsDone;
  double finished = -1;
  double startSum;
  double workSum;
  private double workSquares;

  // A row a container: node, launched, working (of a map), ended.
  private float[] tasks = new float[64];
  private int rows;
  private int mapRows;

  JobResult(JobSpec spec, int number) {
    name = spec.name;
    this.number = number;
    submitted = spec.submitSeconds;
    reducers = spec.reducers;
  }

  void launched(double now) {
    if (firstLaunch < 0) {
      firstLaunch = now;
    }
  }

  void mapDone(int node, double launched, double working, double ended) {
    ++mapRows;
    startSum += working - launched;
    workSum += ended - working;
    workSquares += (ended - working) * (ended - working);
    row(node, launched, working, ended);
  }

  void reduceDone(int node, double launched, double ended) {
    row(node, launched, -1, ended);
  }

  private void row(int node, double launched, double working, double ended) {
    if (4 * rows == tasks.length) {
      tasks = Arrays.copyOf(tasks, 2 * tasks.length);
    }
    tasks[4 * rows] = node;
    tasks[4 * rows + 1] = (float) launched;
    tasks[4 * rows + 2] = (float) working;
    tasks[4 * rows + 3] = (float) ended;
    ++rows;
  }

  /** From submission to its end. */
  public double seconds() {
    return finished - submitted;
  }

  /** How many containers there were, maps and reducers. */
  public int containers() {
    return rows;
  }

  int finishedMaps() {
    return mapRows;
  }

  boolean isMap(int task) {
    return tasks[4 * task + 2] >= 0;
  }

  int node(int task) {
    return (int) tasks[4 * task];
  }

  double launched(int task) {
    return tasks[4 * task + 1];
  }

  double ended(int task) {
    return tasks[4 * task + 3];
  }

  /** Share of the input's bytes that was read from the reader's own disk; 1 for an empty input. */
  public double localShare() {
    long all = localBytes + remoteBytes;
    return all == 0 ? 1 : (double) localBytes / all;
  }

  /** Mean seconds from a map container's allocation until it reads. */
  public double meanStartSeconds() {
    return mapRows == 0 ? 0 : startSum / mapRows;
  }

  /** Mean seconds that a map container works. */
  public double meanWorkSeconds() {
    return mapRows == 0 ? 0 : workSum / mapRows;
  }

  /** Bytes that a map reads in a second of its work. */
  double bytesPerWorkSecond() {
    return (localBytes + remoteBytes) / workSum;
  }

  /** Coefficient of variation of the maps' work. */
  double workSpread() {
    double mean = meanWorkSeconds();
    return mean == 0 ? 0 : Math.sqrt(Math.max(0, workSquares / mapRows / mean / mean - 1));
  }
}
