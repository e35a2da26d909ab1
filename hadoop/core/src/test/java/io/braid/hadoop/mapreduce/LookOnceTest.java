package io.braid.hadoop.mapreduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.input.CoalescingCounters;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.lib.reduce.LongSumReducer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Mappers that look at their split once, in setup(), as the usual reduce-side join does: they count
 * right, or the job fails, but they never count for another file.
 */
class LookOnceTest {
  private static final Map<String, Integer> LINES =
      Map.of("clicks", 100, "items", 400, "orders", 300, "users", 200);

  /** A one for each line under the name of the file, which it asks for once. */
  public static class ByFile extends Mapper<LongWritable, Text, Text, LongWritable> {
    private static final LongWritable ONE = new LongWritable(1);
    Text name;

    @Override
    protected void setup(Context context) {
      name = new Text(((FileSplit) context.getInputSplit()).getPath().getName());
    }

    @Override
    protected void map(LongWritable offset, Text line, Context context)
        throws IOException, InterruptedException {
      context.write(name, ONE);
    }
  }

  /** Asks for it at each record. */
  public static final class ByFileOfRecord extends ByFile {
    @Override
    protected void setup(Context context) {}

    @Override
    protected void map(LongWritable offset, Text line, Context context)
        throws IOException, InterruptedException {
      super.setup(context);
      super.map(offset, line, context);
    }
  }

  /** Only remembers what the configuration says of the file. */
  public static final class ByConfiguration extends ByFile {
    @Override
    protected void setup(Context context) {
      name = new Text("file " + context.getConfiguration().get(MRJobConfig.MAP_INPUT_FILE));
    }
  }

  @TempDir java.nio.file.Path temporary;
  private final Configuration conf = new Configuration();
  private final List<String> inputs = new ArrayList<>();
  private int runs;
  private Job job;

  @BeforeEach
  void local() {
    LocalJobs.configure(conf, temporary, 300, 2);
  }

  private void write(String folder) throws IOException {
    Files.createDirectories(temporary.resolve(folder));
    for (Map.Entry<String, Integer> file : LINES.entrySet()) {
      Files.writeString(
          temporary.resolve(folder).resolve(file.getKey()), "a line\n".repeat(file.getValue()));
    }
  }

  private boolean run(boolean isCoalesced, Class<? extends ByFile> mapper, int threads)
      throws Exception {
    job = LocalJobs.of(conf, isCoalesced, mapper, threads);
    job.setReducerClass(LongSumReducer.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(LongWritable.class);
    for (String input : inputs) {
      FileInputFormat.addInputPath(job, new Path(temporary.resolve(input).toUri()));
    }
    FileOutputFormat.setOutputPath(job, new Path(temporary.resolve("out" + ++runs).toUri()));
    return job.waitForCompletion(false);
  }

  private Map<String, Integer> output() throws IOException {
    Map<String, Integer> counts = new TreeMap<>();
    for (String line : Files.readAllLines(temporary.resolve("out" + runs + "/part-r-00000"))) {
      counts.put(line.split("\t")[0], Integer.parseInt(line.split("\t")[1]));
    }
    return counts;
  }

  private long ours(String counter) throws IOException {
    return job.getCounters().findCounter(CoalescingCounters.GROUP, counter).getValue();
  }

  @Tag("share-2")
  @ParameterizedTest
  @ValueSource(ints = {1, 4})
  void severalPathsMeanOneFileASplit(int threads) throws Exception {
    write("in");
    LINES.keySet().forEach(name -> inputs.add("in/" + name));
    assertTrue(run(true, ByFile.class, threads));
    assertEquals(LINES, output());
    assertEquals(4, ours(CoalescingCounters.SPLITS_AFTER));
    assertTrue(ours(CoalescingCounters.SPLITS_BEFORE) > 20);
  }

  @Test
  void aPatternMayMeanSeveralPaths() throws Exception {
    write("in");
    inputs.add("in/*");
    assertTrue(run(true, ByFile.class, 1));
    assertEquals(LINES, output());
  }

  @Tag("share-1")
  @ParameterizedTest
  @ValueSource(ints = {1, 4})
  void whereFilesAreMixedTheCastFails(int threads) throws Exception {
    write("in");
    inputs.add("in");
    assertFalse(run(true, ByFile.class, threads));
    conf.set(Keys.MIX.name(), "nothing");
    assertTrue(run(true, ByFile.class, threads));
    assertEquals(LINES, output());
  }

  @Test
  void whereFilesAreMixedTheConfigurationNamesNone() throws Exception {
    write("in");
    inputs.add("in");
    assertTrue(run(true, ByConfiguration.class, 1));
    assertEquals(Map.of("file null", 1000), output());
    assertNull(job.getConfiguration().get(MRJobConfig.MAP_INPUT_FILE));
  }

  @Tag("share-2")
  @Test
  void whoAsksAtEachRecordMayOptIn() throws Exception {
    write("in");
    inputs.add("in");
    assertFalse(run(true, ByFileOfRecord.class, 1));
    conf.set(Keys.MIX_CURRENT_FILE.name(), "true");
    assertTrue(run(true, ByFileOfRecord.class, 1));
    assertEquals(LINES, output());
    assertEquals(2, ours(CoalescingCounters.SPLITS_AFTER));
  }

  @Tag("share-0")
  @Test
  void bytesOfMixedFilesAreCountedToo() throws Exception {
    write("in");
    inputs.add("in");
    assertTrue(run(false, ByConfiguration.class, 1));
    long plain = job.getCounters().findCounter(FileInputFormatCounter.BYTES_READ).getValue();
    assertTrue(run(true, ByConfiguration.class, 1));
    assertEquals(2, ours(CoalescingCounters.SPLITS_AFTER));
    assertEquals(
        plain, job.getCounters().findCounter(FileInputFormatCounter.BYTES_READ).getValue());
  }

  @Test
  void directoriesStayApart() throws Exception {
    write("in/a");
    write("in/b");
    inputs.add("in");
    conf.set(FileInputFormat.INPUT_DIR_RECURSIVE, "true");
    conf.set(Keys.MIX.name(), "directories");
    conf.set(Keys.MIX_CURRENT_FILE.name(), "true");
    conf.setInt(Keys.SLOT_NODES.name(), 5);
    assertTrue(run(true, ByDirectory.class, 1));
    assertEquals(Map.of("a", 1000, "b", 1000), output());
    assertEquals(5, ours(CoalescingCounters.SPLITS_AFTER));
  }

  /** Partitions are directories: this may be asked for once. */
  public static final class ByDirectory extends ByFile {
    @Override
    protected void setup(Context context) {
      name = new Text(((FileSplit) context.getInputSplit()).getPath().getParent().getName());
    }
  }
}
