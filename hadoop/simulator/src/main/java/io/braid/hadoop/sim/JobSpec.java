package io.braid.hadoop.sim;

import static io.braid.hadoop.sim.ClusterSpec.MIB;
import static io.braid.hadoop.sim.ClusterSpec.require;

import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Policy;

/**
 * A job that is simulated: its input, what a byte costs it, how that varies, and how its input is
 * split. Setters change it and return it. Not thread safe; not to be changed during a run.
 */
public final class JobSpec {
  /**
   * Bytes whose time varies together when blocks vary independently: a larger block averages
   * several.
   */
  static final double SPREAD_UNIT = 128 * MIB;

  final String name;
  double submitSeconds;
  long inputBytes = 250L << 30;
  long blockBytes = 128L << 20;
  int replication = 3;
  Long placementSeed;
  Splitter splitter = Splitter.planned(PlanSettings.DEFAULTS.withPolicy(Policy.NONE));
  double mapSecondsPerByte;
  double blockSpread;
  double regionSpread;
  int regionBlocks = 64;
  double containerSpread;
  double mapOutputRatio;
  double spillFactor = 1;
  int reducers;
  double reduceSecondsPerByte;
  double outputRatio;
  int outputReplication = 3;

  /** A job that reads 250 GiB in blocks of 128 MiB and costs nothing. */
  public JobSpec(String name) {
    this.name = name;
  }

  /** Chapter III's Grep: 3.85 s a block of 128 MiB, almost no output. */
  public static JobSpec grep() {
    return new JobSpec("grep").map(3.85 / (128 * MIB), 1e-4, 1).reduce(1, 0, 1, 3);
  }

  /** WordCount with its combiner: 48 s a block (see hadoop/docs/simulator.md), little output. */
  public static JobSpec wordCount() {
    return new JobSpec("wordcount")
        .map(48 / (128 * MIB), 0.002, 1)
        .reduce(8, 10 / (128 * MIB), 1, 3);
  }

  /** Sort: little work a byte, all of it shuffled, sorted and written. */
  public static JobSpec sort() {
    return new JobSpec("sort").map(2 / (128 * MIB), 1, 2).reduce(128, 2 / (128 * MIB), 1, 1);
  }

  /** The profile of that name; throws IllegalArgumentException with the names that there are. */
  public static JobSpec of(String profile) {
    switch (profile) {
      case "grep":
        return grep();
      case "wordcount":
        return wordCount();
      case "sort":
        return sort();
      default:
        throw new IllegalArgumentException(
            "there is no job profile \""
                + profile
                + "\": use grep, wordcount or sort, and change its costs with --map-seconds and"
                + " others");
    }
  }

  /** When it is submitted. */
  public JobSpec submit(double seconds) {
    require(seconds >= 0, "time of submission", "0 or more", seconds);
    submitSeconds = seconds;
    return this;
  }

  /** The file: bytes, bytes of a block, copies of a block. */
  public JobSpec input(long bytes, long bytesOfBlock, int copies) {
    require(bytes >= 0, "input bytes", "0 or more", bytes);
    require(bytesOfBlock >= 1, "block size", "1 byte or more", bytesOfBlock);
    require(copies >= 1 && copies <= 100, "replication", "1 to 100", copies);
    require(
        (bytes + bytesOfBlock - 1) / bytesOfBlock <= 50_000_000,
        "blocks",
        "at most 50000000",
        (bytes + bytesOfBlock - 1) / bytesOfBlock);
    inputBytes = bytes;
    blockBytes = bytesOfBlock;
    replication = copies;
    return this;
  }

  /** Where blocks lie is drawn by a seed of its own, not by the simulation's. */
  public JobSpec placement(long seed) {
    placementSeed = seed;
    return this;
  }

  /** Splits the input by the planner. */
  public JobSpec plan(PlanSettings settings) {
    return split(Splitter.planned(settings));
  }

  /** Splits the input by a rule of one's own. */
  public JobSpec split(Splitter value) {
    splitter = value;
    return this;
  }

  /**
   * The maps.
   *
   * @param secondsPerByte of one core
   * @param outputRatio bytes that leave a map for each that it reads
   * @param passes how often these are written or read on its disk
   */
  public JobSpec map(double secondsPerByte, double outputRatio, double passes) {
    require(secondsPerByte >= 0, "seconds a byte", "0 or more", secondsPerByte);
    require(outputRatio >= 0 && passes >= 0, "output of maps", "0 or more", outputRatio);
    mapSecondsPerByte = secondsPerByte;
    mapOutputRatio = outputRatio;
    spillFactor = passes;
    return this;
  }

  /**
   * The reducers: how many, core seconds for a byte shuffled, bytes written for one, copies
   * written.
   */
  public JobSpec reduce(int count, double secondsPerByte, double written, int copies) {
    require(count >= 0 && count <= 100_000, "reducers", "0 to 100000", count);
    require(secondsPerByte >= 0 && written >= 0, "cost of reducers", "0 or more", secondsPerByte);
    require(copies >= 1, "replication of the output", "1 or more", copies);
    reducers = count;
    reduceSecondsPerByte = secondsPerByte;
    outputRatio = written;
    outputReplication = copies;
    return this;
  }

  /**
   * How the maps' time for a byte varies, as coefficients of variation of log-normal factors.
   *
   * @param block drawn for each block of up to 128 MiB by itself: independent
   * @param container drawn for each container and shared by its blocks: correlated
   */
  public JobSpec skew(double block, double container) {
    require(block >= 0 && container >= 0, "spread", "0 or more", Math.min(block, container));
    blockSpread = block;
    containerSpread = container;
    return this;
  }

  /** A spread that neighbouring blocks of the file share, in regions of so many blocks. */
  public JobSpec regions(double spread, int blocks) {
    require(spread >= 0, "spread", "0 or more", spread);
    require(blocks >= 1, "blocks of a region", "1 or more", blocks);
    regionSpread = spread;
    regionBlocks = blocks;
    return this;
  }

  int blocks() {
    return (int) ((inputBytes + blockBytes - 1) / blockBytes);
  }

  long lengthOf(int block) {
    return Math.min(blockBytes, inputBytes - block * blockBytes);
  }
}
