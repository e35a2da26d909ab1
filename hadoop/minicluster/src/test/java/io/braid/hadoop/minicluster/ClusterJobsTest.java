package io.braid.hadoop.minicluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.history.CostsFromHistory;
import io.braid.hadoop.input.CoalescingCounters;
import io.braid.hadoop.mapreduce.CoalescingInputFormat;
import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.slots.SlotSource;
import io.braid.hadoop.slots.Slots;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IOUtils;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RunningJob;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobCounter;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.streaming.StreamJob;
import org.apache.hadoop.util.ToolRunner;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Whole jobs on HDFS and YARN: containers, outputs, counters, streaming, the old API. */
class ClusterJobsTest {
  private static final int SLOTS = SmallCluster.NODES * SmallCluster.CONTAINERS_PER_NODE - 1;
  private static final int FILES = 2;
  private static final int BLOCKS_PER_FILE = 6;
  private static final int BLOCKS = FILES * BLOCKS_PER_FILE;
  private static final Path IN = new Path("/in");

  private static SmallCluster cluster;
  private static long inputBytes;
  private static List<String> expected;

  @BeforeAll
  static void start() throws Exception {
    cluster = new SmallCluster(new File("target/cluster").getAbsoluteFile());
    Random random = new Random(7);
    for (int i = 0; i < FILES; ++i) {
      byte[] text = lines(random, BLOCKS_PER_FILE * SmallCluster.BLOCK - 1000);
      inputBytes += text.length;
      try (OutputStream out = cluster.fileSystem().create(new Path(IN, "file" + i))) {
        out.write(text);
      }
    }
    Job plain = job("plain", cluster.conf());
    plain.setInputFormatClass(TextInputFormat.class);
    assertTrue(plain.waitForCompletion(false));
    assertEquals(BLOCKS, containers(plain.getCounters()));
    expected = output("plain");
    assertFalse(expected.isEmpty());
  }

  @AfterAll
  static void stop() throws Exception {
    if (cluster != null) {
      cluster.close();
    }
  }

  private static byte[] lines(Random random, int bytes) {
    StringBuilder text = new StringBuilder();
    while (text.length() < bytes) {
      text.append("word").append(random.nextInt(3000));
      text.append(random.nextInt(4) == 0 ? "\r\n" : "\n");
    }
    return text.toString().getBytes(StandardCharsets.US_ASCII);
  }

  private static Job job(String name, Configuration conf) throws IOException {
    Job job = Job.getInstance(conf, name);
    job.getConfiguration().set("braid.input.mix.current-file", "true"); // asked at each record
    job.setInputFormatClass(CoalescingInputFormat.class);
    job.setMapperClass(Lines.LineMapper.class);
    job.setReducerClass(Lines.Sum.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(LongWritable.class);
    FileInputFormat.addInputPath(job, IN);
    FileOutputFormat.setOutputPath(job, new Path("/out", name));
    return job;
  }

  private static long containers(Counters counters) {
    return counters.findCounter(JobCounter.TOTAL_LAUNCHED_MAPS).getValue();
  }

  private static long ours(Counters counters, String name) {
    return counters.findCounter(CoalescingCounters.GROUP, name).getValue();
  }

  private static List<String> output(String name) throws IOException {
    FileSystem fs = cluster.fileSystem();
    List<String> lines = new ArrayList<>();
    for (FileStatus file : fs.globStatus(new Path("/out/" + name + "/part-*"))) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      try (InputStream in = fs.open(file.getPath())) {
        IOUtils.copyBytes(in, bytes, 4096);
      }
      Collections.addAll(lines, bytes.toString(StandardCharsets.US_ASCII).split("\n"));
    }
    return lines;
  }

  private static Counters run(String policy) throws Exception {
    Configuration conf = cluster.conf();
    conf.set("braid.input.policy", policy);
    Job job = job(policy, conf);
    assertTrue(job.waitForCompletion(false), policy);
    Counters counters = job.getCounters();
    assertEquals(expected, output(policy), policy);
    assertEquals(BLOCKS, ours(counters, CoalescingCounters.SPLITS_BEFORE), policy);
    assertEquals(containers(counters), ours(counters, CoalescingCounters.SPLITS_AFTER), policy);
    return counters;
  }

  private static void assertCounted(Counters counters) {
    assertEquals(BLOCKS, ours(counters, CoalescingCounters.CHILD_SPLITS));
    // All nodes are localhost.
    assertEquals(inputBytes, ours(counters, CoalescingCounters.LOCAL_BYTES));
    assertEquals(0, ours(counters, CoalescingCounters.REMOTE_BYTES));
    long read = counters.findCounter(FileInputFormatCounter.BYTES_READ).getValue();
    assertTrue(read >= inputBytes, "the framework counted " + read + " of " + inputBytes);
  }

  @Test
  void theResourceManagerTellsTheSlots() throws Exception {
    Slots slots = SlotSource.of(cluster.conf()).slots(List.of());
    assertEquals(SLOTS, slots.total());
    assertTrue(slots.origin().startsWith("YARN"), slots.origin());
  }

  @Tag("night")
  @Test
  void noneRunsAContainerABlock() throws Exception {
    assertEquals(BLOCKS, containers(run("none")));
  }

  @Tag("share-0")
  @Test
  void maximumRunsAContainerASlot() throws Exception {
    Counters counters = run("maximum");
    assertEquals(SLOTS, containers(counters));
    assertCounted(counters);
  }

  @Tag("night")
  @Test
  void assortedRunsFewerThanBlocks() throws Exception {
    Counters counters = run("assorted-balanced");
    assertTrue(containers(counters) < BLOCKS, "containers: " + containers(counters));
    assertCounted(counters);
  }

  @Tag("night")
  @Test
  void autoRunsNoMoreThanBlocks() throws Exception {
    Counters counters = run("auto");
    assertTrue(containers(counters) <= BLOCKS, "containers: " + containers(counters));
  }

  @Tag("night")
  @Test
  void withoutSlotsTheJobRunsAsEver() throws Exception {
    Configuration conf = cluster.conf();
    conf.setInt("braid.input.slots.timeout-ms", 1);
    conf.set("braid.input.policy", "maximum");
    Job job = job("fallback", conf);
    assertTrue(job.waitForCompletion(false));
    assertEquals(BLOCKS, containers(job.getCounters()));
    assertEquals(expected, output("fallback"));
  }

  @Tag("night")
  @Test
  void theOldApiRunsAContainerASlot() throws Exception {
    JobConf job = new JobConf(cluster.conf());
    job.setJobName("old");
    job.set("braid.input.mix.current-file", "true");
    job.set("braid.input.policy", "maximum");
    job.setInputFormat(io.braid.hadoop.mapred.CoalescingInputFormat.class);
    job.setMapperClass(Lines.OldMapper.class);
    job.setReducerClass(Lines.OldSum.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(LongWritable.class);
    job.setNumMapTasks(BLOCKS);
    org.apache.hadoop.mapred.FileInputFormat.setInputPaths(job, IN);
    org.apache.hadoop.mapred.FileOutputFormat.setOutputPath(job, new Path("/out/old"));
    RunningJob run = JobClient.runJob(job);
    assertTrue(run.isSuccessful());
    Counters counters = new JobClient(job).getClusterHandle().getJob(run.getID()).getCounters();
    assertEquals(SLOTS, containers(counters));
    assertCounted(counters);
    assertEquals(expected, output("old"));
  }

  @Tag("night")
  @Test
  void streamingGivesTheSameAsWithoutUs() throws Exception {
    assertEquals(0, stream("stream-plain", "org.apache.hadoop.mapred.TextInputFormat"));
    assertEquals(0, stream("stream", "io.braid.hadoop.mapred.CoalescingInputFormat"));
    List<String> lines = output("stream");
    assertEquals(output("stream-plain"), lines);
    assertTrue(lines.get(0).startsWith("word"), lines.get(0));
  }

  /** A command learns the file's name once: its task's records must be of that file alone. */
  @Tag("share-1")
  @Test
  void streamingKnowsTheFileOfItsRecords() throws Exception {
    String mapper = "awk '{ n++ } END { print ENVIRON[\"mapreduce_map_input_file\"] \"\\t\" n }'";
    String reducer = "awk '{ n[$1] += $2 } END { for (f in n) print f \"\\t\" n[f] }'";
    assertEquals(
        0, stream("by-file-plain", "org.apache.hadoop.mapred.TextInputFormat", mapper, reducer));
    assertEquals(
        0, stream("by-file", "io.braid.hadoop.mapred.CoalescingInputFormat", mapper, reducer));
    List<String> lines = output("by-file");
    assertEquals(FILES, lines.size());
    assertEquals(output("by-file-plain"), lines);
  }

  /** With the user's own rights, of the ResourceManager and the JobHistoryServer. */
  @Tag("share-2")
  @Test
  void ownJobsTellTheirCosts() throws Exception {
    Configuration conf = cluster.conf();
    conf.set("braid.input.policy", "maximum");
    Job job = job("own", conf);
    assertTrue(job.waitForCompletion(false));
    Costs costs = CostsFromHistory.ofOwnJobs(cluster.conf(), "own").costs();
    assertTrue(costs.startSeconds() > 0.1, costs.toString());
    assertTrue(costs.openSeconds() > 0, costs.toString());
    assertFalse(costs.areTimesAssumed());
    assertNull(CostsFromHistory.ofOwnJobs(cluster.conf(), "nobody's"));
    Configuration next = cluster.conf();
    next.setInt("braid.input.cost.history.timeout-ms", 60_000);
    Job again = job("own", next);
    new CoalescingInputFormat<>().getSplits(again);
    String told = again.getConfiguration().get("braid.plan.costs.1");
    assertTrue(told.contains("(as told)"), told);
  }

  private static int stream(String name, String format) throws Exception {
    return stream(name, format, "/bin/cat", "/bin/cat");
  }

  private static int stream(String name, String format, String mapper, String reducer)
      throws Exception {
    Configuration conf = cluster.conf();
    conf.set("braid.input.policy", "maximum");
    return ToolRunner.run(
        conf,
        new StreamJob(),
        new String[] {
          "-inputformat",
          format,
          "-input",
          IN.toString(),
          "-output",
          "/out/" + name,
          "-mapper",
          mapper,
          "-reducer",
          reducer
        });
  }
}
