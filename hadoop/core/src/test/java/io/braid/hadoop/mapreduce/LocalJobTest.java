package io.braid.hadoop.mapreduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.input.CoalescingCounters;
import io.braid.hadoop.testing.SampleFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.TaskCounter;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whole jobs in the local job runner: what mappers and the framework see of a coalesced split. */
class LocalJobTest {
  /** Each line with the file that the split says it is of. */
  public static final class FileAndLine extends Mapper<LongWritable, Text, Text, NullWritable> {
    @Override
    protected void map(LongWritable offset, Text line, Context context)
        throws IOException, InterruptedException {
      Path path = ((FileSplit) context.getInputSplit()).getPath();
      context.write(new Text(path.getName() + " " + offset + " " + line), NullWritable.get());
    }
  }

  /** Each line alone, since which file it is of can't be told when several threads read ahead. */
  public static final class Line extends Mapper<LongWritable, Text, Text, NullWritable> {
    @Override
    protected void map(LongWritable offset, Text line, Context context)
        throws IOException, InterruptedException {
      context.write(line, NullWritable.get());
    }
  }

  @TempDir java.nio.file.Path temporary;

  private Path at(String name) {
    return new Path(temporary.toUri().toString(), name);
  }

  private Job run(
      String name,
      boolean isCoalesced,
      Class<? extends Mapper<LongWritable, Text, Text, NullWritable>> mapper,
      int threads)
      throws Exception {
    Configuration conf = new Configuration();
    LocalJobs.configure(conf, temporary, 2_000, 3);
    conf.set(Keys.MIX_CURRENT_FILE.name(), "true"); // the mapper asks at each record
    Job job = LocalJobs.of(conf, isCoalesced, mapper, threads);
    job.setMapOutputKeyClass(Text.class);
    job.setMapOutputValueClass(NullWritable.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(NullWritable.class);
    FileInputFormat.addInputPath(job, at("in"));
    FileOutputFormat.setOutputPath(job, at(name));
    assertTrue(job.waitForCompletion(false));
    return job;
  }

  private List<String> output(String name) throws IOException {
    return Files.readAllLines(temporary.resolve(name).resolve("part-r-00000"));
  }

  private static long counter(Job job, Enum<?> name) throws IOException {
    return job.getCounters().findCounter(name).getValue();
  }

  @Test
  void mappersSeeTheFileAndTheFrameworkCountsBytes() throws Exception {
    SampleFiles.writeTexts(at("in"), new Configuration(), 21);
    Job plain = run("plain", false, FileAndLine.class, 1);
    Job coalesced = run("coalesced", true, FileAndLine.class, 1);
    assertEquals(output("plain"), output("coalesced"));
    assertEquals(
        counter(plain, TaskCounter.MAP_INPUT_RECORDS),
        counter(coalesced, TaskCounter.MAP_INPUT_RECORDS));
    assertEquals(
        counter(plain, FileInputFormatCounter.BYTES_READ),
        counter(coalesced, FileInputFormatCounter.BYTES_READ));
    Map<String, Long> ours = new TreeMap<>();
    coalesced
        .getCounters()
        .getGroup(CoalescingCounters.GROUP)
        .forEach(counter -> ours.put(counter.getName(), counter.getValue()));
    assertEquals(3, ours.get(CoalescingCounters.SPLITS_AFTER));
    assertTrue(ours.get(CoalescingCounters.SPLITS_BEFORE) > 3, ours.toString());
    assertEquals(
        ours.get(CoalescingCounters.SPLITS_BEFORE), ours.get(CoalescingCounters.CHILD_SPLITS));
    // Local files say "localhost" of all their blocks, which is no host of the three nodes.
    assertTrue(ours.get(CoalescingCounters.REMOTE_BYTES) > 0, ours.toString());
    assertNull(ours.get(CoalescingCounters.LOCAL_BYTES));
  }

  @Test
  void threadsMayReadTogether() throws Exception {
    SampleFiles.writeTexts(at("in"), new Configuration(), 22);
    run("plain", false, Line.class, 1);
    run("threads", true, Line.class, 4);
    assertEquals(output("plain"), output("threads"));
  }
}
