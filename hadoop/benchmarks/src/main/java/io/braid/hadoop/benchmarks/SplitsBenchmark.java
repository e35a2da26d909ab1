package io.braid.hadoop.benchmarks;

import io.braid.hadoop.mapreduce.CoalescingInputFormat;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.lib.input.CombineTextInputFormat;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A job's getSplits as a client calls it, on files whose status and block locations are in memory:
 * Hadoop's own formats next to the coalescing one, which includes the delegate's work.
 * CombineTextInputFormat has the size of split that fills the slots once, set by hand.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 1)
@Measurement(iterations = 3)
@Fork(value = 1, jvmArgsAppend = "-Xmx4g")
public class SplitsBenchmark {
  private static final int BLOCKS_A_FILE = 1000;

  // The formats ask their listStatus for files without saying for which benchmark.
  private static List<FileStatus> files = List.of();

  @Param({"100000", "1000000"})
  private int blocks;

  @Param({"true", "false"})
  private boolean hosts;

  @Param({"text", "combine-text", "maximum", "assorted-balanced", "auto"})
  private String splits;

  private Job job;
  private InputFormat<?, ?> format;

  /** TextInputFormat over the files in memory. */
  public static final class Text extends TextInputFormat {
    @Override
    protected List<FileStatus> listStatus(JobContext context) {
      return files;
    }
  }

  /** CombineTextInputFormat over the files in memory. */
  public static final class CombineText extends CombineTextInputFormat {
    @Override
    protected List<FileStatus> listStatus(JobContext context) {
      return files;
    }
  }

  /** The files, the same each time, and the job. */
  @Setup
  public void prepare() throws IOException {
    RandomBlocks placement = new RandomBlocks(hosts);
    files = new ArrayList<>();
    for (int f = 0; f < blocks / BLOCKS_A_FILE; ++f) {
      BlockLocation[] locations = new BlockLocation[BLOCKS_A_FILE];
      for (int i = 0; i < locations.length; ++i) {
        String[] names = placement.next();
        locations[i] =
            new BlockLocation(
                names,
                names,
                RandomBlocks.topology(names),
                i * RandomBlocks.BLOCK_BYTES,
                RandomBlocks.BLOCK_BYTES);
      }
      files.add(
          new LocatedFileStatus(
              new FileStatus(
                  BLOCKS_A_FILE * RandomBlocks.BLOCK_BYTES,
                  false,
                  RandomBlocks.REPLICAS,
                  RandomBlocks.BLOCK_BYTES,
                  0,
                  new Path("hdfs://cluster:8020/input/file" + f)),
              locations));
    }
    Configuration conf = new Configuration(false);
    job = Job.getInstance(conf);
    conf = job.getConfiguration();
    long slots = (long) RandomBlocks.NODES * RandomBlocks.SLOTS;
    long perSlot = (blocks + slots - 1) / slots * RandomBlocks.BLOCK_BYTES;
    conf.setLong(
        "mapreduce.input.fileinputformat.split.maxsize",
        splits.equals("combine-text") ? perSlot : Long.MAX_VALUE);
    conf.set("braid.input.delegate", Text.class.getName());
    conf.set("braid.input.policy", splits.contains("text") ? "none" : splits);
    StringBuilder list = new StringBuilder();
    for (int n = 0; n < RandomBlocks.NODES; ++n) {
      list.append(n == 0 ? "" : ",").append(RandomBlocks.name(n)).append('=').append(RandomBlocks.SLOTS);
    }
    conf.set("braid.input.slots.hosts", list.toString());
    format =
        splits.equals("text")
            ? new Text()
            : splits.equals("combine-text")
                ? new CombineText()
                : new CoalescingInputFormat<Object, Object>();
  }

  @Benchmark
  public List<InputSplit> splits() throws IOException, InterruptedException {
    return format.getSplits(job);
  }
}
