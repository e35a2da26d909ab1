package io.braid.hadoop.mapred;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.braid.hadoop.conf.Keys;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.FileOutputFormat;
import org.apache.hadoop.mapred.JobClient;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MapReduceBase;
import org.apache.hadoop.mapred.Mapper;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.lib.LongSumReducer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Mappers of the old API, and streaming's, learn the file's name once, in configure(). */
class LookOnceTest {
  private static final Map<String, Integer> LINES = Map.of("clicks", 100, "orders", 300);

  /** What streaming's mapper sees as the environment's mapreduce_map_input_file. */
  public static final class ByFile extends MapReduceBase
      implements Mapper<LongWritable, Text, Text, LongWritable> {
    private Text name;

    @Override
    public void configure(JobConf job) {
      name = new Text(new Path(job.get("mapreduce.map.input.file")).getName());
    }

    @Override
    public void map(
        LongWritable offset, Text line, OutputCollector<Text, LongWritable> out, Reporter reporter)
        throws IOException {
      out.collect(name, new LongWritable(1));
    }
  }

  @TempDir java.nio.file.Path temporary;

  private Map<String, Integer> run(List<String> inputs, String... keysAndValues)
      throws IOException {
    Files.createDirectories(temporary.resolve("in"));
    for (Map.Entry<String, Integer> file : LINES.entrySet()) {
      Files.writeString(
          temporary.resolve("in").resolve(file.getKey()), "a line\n".repeat(file.getValue()));
    }
    JobConf job = new JobConf();
    job.set("mapreduce.framework.name", "local");
    job.set("hadoop.tmp.dir", temporary + "/tmp");
    job.setInt("mapreduce.job.maps", 12);
    job.set(Keys.POLICY.name(), "maximum");
    job.setInt(Keys.SLOT_NODES.name(), 1);
    for (int i = 0; i < keysAndValues.length; i += 2) {
      job.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    CoalescingInputFormat.wrap(job);
    job.setMapperClass(ByFile.class);
    job.setReducerClass(LongSumReducer.class);
    job.setOutputKeyClass(Text.class);
    job.setOutputValueClass(LongWritable.class);
    for (String input : inputs) {
      FileInputFormat.addInputPath(job, new Path(temporary.resolve(input).toUri()));
    }
    FileOutputFormat.setOutputPath(job, new Path(temporary.resolve("out").toUri()));
    JobClient.runJob(job);
    Map<String, Integer> counts = new TreeMap<>();
    for (String line : Files.readAllLines(temporary.resolve("out/part-00000"))) {
      counts.put(line.split("\t")[0], Integer.parseInt(line.split("\t")[1]));
    }
    return counts;
  }

  @Test
  void severalPathsMeanOneFileASplit() throws Exception {
    assertEquals(LINES, run(List.of("in/clicks", "in/orders")));
  }

  @Test
  void onePathOfStreamingMeansOneFileASplit() throws Exception {
    assertEquals(LINES, run(List.of("in"), "stream.map.streamprocessor", "cat"));
  }

  @Test
  void onePathOfPipesMeansOneFileASplit() throws Exception {
    assertEquals(LINES, run(List.of("in"), "hadoop.pipes.executable", "/bin/map"));
  }

  @Test
  void whereFilesAreMixedThereIsNoNameToLearn() {
    assertThrows(IOException.class, () -> run(List.of("in")));
    assertThrows(
        IOException.class,
        () -> run(List.of("in"), "stream.map.streamprocessor", "cat", Keys.MIX.name(), "files"));
  }
}
