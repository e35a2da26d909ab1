package io.braid.hadoop.tez;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.lib.output.TextOutputFormat;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.tez.client.TezClient;
import org.apache.tez.dag.api.DAG;
import org.apache.tez.dag.api.DataSourceDescriptor;
import org.apache.tez.dag.api.ProcessorDescriptor;
import org.apache.tez.dag.api.TezConfiguration;
import org.apache.tez.dag.api.Vertex;
import org.apache.tez.dag.api.client.DAGClient;
import org.apache.tez.dag.api.client.DAGStatus;
import org.apache.tez.mapreduce.input.MRInput;
import org.apache.tez.mapreduce.output.MROutput;
import org.apache.tez.mapreduce.processor.SimpleMRProcessor;
import org.apache.tez.runtime.api.ProcessorContext;
import org.apache.tez.runtime.library.api.KeyValueReader;
import org.apache.tez.runtime.library.api.KeyValueWriter;
import org.apache.tez.test.MiniTezCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A session of Tez on a small YARN cluster: what tasks read, and how much each of them, with our
 * groups beside Tez's own.
 */
@Tag("night")
class TezSessionTest {
  private static final File FOLDER = new File("tez").getAbsoluteFile();
  private static final int FILES = 4;
  private static final int LINES = 3000;
  private static final int SPLIT = 4_000;
  private static final int TASK_MB = 512;

  private static MiniTezCluster cluster;
  private static TezClient session;
  private static final List<String> EXPECTED = new ArrayList<>();

  /** Writes each line behind the number of the task that read it. */
  public static final class Numbering extends SimpleMRProcessor {
    public Numbering(ProcessorContext context) {
      super(context);
    }

    @Override
    public void run() throws Exception {
      KeyValueReader reader = (KeyValueReader) getInputs().get("in").getReader();
      KeyValueWriter writer = (KeyValueWriter) getOutputs().get("out").getWriter();
      LongWritable task = new LongWritable(getContext().getTaskIndex());
      while (reader.next()) {
        writer.write(task, reader.getCurrentValue());
      }
    }
  }

  @BeforeAll
  static void start() throws Exception {
    FileUtil.fullyDelete(FOLDER);
    File in = new File(FOLDER, "in");
    assertTrue(in.mkdirs());
    Random random = new Random(8);
    for (int f = 0; f < FILES; ++f) {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < LINES; ++i) {
        String line = "line " + f + " " + random.nextInt();
        EXPECTED.add(line);
        text.append(line).append('\n');
      }
      Files.writeString(new File(in, "part-" + f).toPath(), text);
    }
    EXPECTED.sort(null);
    Configuration conf = new Configuration();
    conf.set("fs.defaultFS", "file:///");
    conf.setInt(YarnConfiguration.YARN_MINICLUSTER_NM_PMEM_MB, 3072);
    conf.setBoolean(YarnConfiguration.NM_PMEM_CHECK_ENABLED, false);
    conf.setBoolean(YarnConfiguration.NM_VMEM_CHECK_ENABLED, false);
    conf.setInt("yarn.scheduler.minimum-allocation-mb", TASK_MB);
    conf.setFloat(YarnConfiguration.NM_MAX_PER_DISK_UTILIZATION_PERCENTAGE, 100);
    cluster = new MiniTezCluster("braid", 1, 1, 1);
    cluster.init(conf);
    cluster.start();
    TezConfiguration tez = new TezConfiguration(cluster.getConfig());
    tez.set(TezConfiguration.TEZ_AM_STAGING_DIR, new File(FOLDER, "staging").toURI().toString());
    tez.setInt(TezConfiguration.TEZ_AM_RESOURCE_MEMORY_MB, TASK_MB);
    tez.setInt(TezConfiguration.TEZ_TASK_RESOURCE_MEMORY_MB, TASK_MB);
    tez.setBoolean(TezConfiguration.TEZ_AM_WEBSERVICE_ENABLE, false);
    String java17 =
        "-Xmx300m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
            + " --add-opens=java.base/java.lang=ALL-UNNAMED"
            + " --add-opens=java.base/java.util=ALL-UNNAMED";
    tez.set(TezConfiguration.TEZ_AM_LAUNCH_CMD_OPTS, java17);
    tez.set(TezConfiguration.TEZ_TASK_LAUNCH_CMD_OPTS, java17);
    session = TezClient.create("braid", tez, true);
    session.start();
    session.waitTillReady();
  }

  @AfterAll
  static void stop() throws Exception {
    if (session != null) {
      session.stop();
    }
    if (cluster != null) {
      cluster.stop();
    }
    FileUtil.fullyDelete(FOLDER);
  }

  /** The lines that each task read, by the task's number. */
  private static TreeMap<Integer, List<String>> read(boolean isTapered, Class<?> format)
      throws Exception {
    JobConf conf = new JobConf();
    conf.set("fs.defaultFS", "file:///");
    conf.setLong("mapreduce.input.fileinputformat.split.maxsize", SPLIT);
    conf.setLong("fs.local.block.size", SPLIT);
    conf.setLong("tez.grouping.min-size", SPLIT);
    File in = new File(FOLDER, "in");
    File out = new File(FOLDER, "out");
    FileUtil.fullyDelete(out);
    MRInput.MRInputConfigBuilder builder =
        MRInput.createConfigBuilder(conf, format, in.toURI().toString());
    if (isTapered) {
      builder.setCustomInitializerDescriptor(TaperedSplitGenerator.descriptor());
    }
    DataSourceDescriptor source = builder.build();
    Vertex vertex =
        Vertex.create(
                "lines",
                ProcessorDescriptor.create(Numbering.class.getName()),
                -1,
                Resource.newInstance(TASK_MB, 1))
            .addDataSource("in", source)
            .addDataSink(
                "out",
                MROutput.createConfigBuilder(
                        new JobConf(conf), TextOutputFormat.class, out.toURI().toString())
                    .build());
    DAGClient dag =
        session.submitDAG(DAG.create("lines " + System.nanoTime()).addVertex(vertex));
    DAGStatus status = dag.waitForCompletion();
    assertEquals(DAGStatus.State.SUCCEEDED, status.getState(), status.getDiagnostics().toString());
    TreeMap<Integer, List<String>> found = new TreeMap<>();
    for (File part : out.listFiles((folder, name) -> name.startsWith("part-"))) {
      for (String line : Files.readAllLines(part.toPath())) {
        String[] fields = line.split("\t", 2);
        found.computeIfAbsent(Integer.valueOf(fields[0]), t -> new ArrayList<>()).add(fields[1]);
      }
    }
    return found;
  }

  private static void checkLines(TreeMap<Integer, List<String>> byTask) {
    List<String> all = new ArrayList<>();
    byTask.values().forEach(all::addAll);
    all.sort(null);
    assertEquals(EXPECTED, all);
  }

  private static int[] counts(TreeMap<Integer, List<String>> byTask) {
    return byTask.values().stream().mapToInt(List::size).toArray();
  }

  @Test
  void tasksReadLessTheLaterTheyStart() throws Exception {
    TreeMap<Integer, List<String>> ours =
        read(true, org.apache.hadoop.mapreduce.lib.input.TextInputFormat.class);
    TreeMap<Integer, List<String>> tez =
        read(false, org.apache.hadoop.mapreduce.lib.input.TextInputFormat.class);
    checkLines(ours);
    checkLines(tez);
    int[] lines = counts(ours);
    System.out.println("ours: " + Arrays.toString(lines));
    System.out.println("Tez's own: " + Arrays.toString(counts(tez)));
    assertTrue(lines[0] >= 4 * lines[lines.length - 1], Arrays.toString(lines));
    for (int i = 1; i < lines.length; ++i) {
      // Splits are of bytes, their lines differ by one or so.
      assertTrue(lines[i] <= lines[i - 1] + 10, Arrays.toString(lines));
    }
    int[] alike = Arrays.stream(counts(tez)).sorted().toArray();
    assertTrue(alike[alike.length - 1] < 2 * alike[alike.length / 2], Arrays.toString(alike));
  }

  @Test
  void theOldApisFormatsAreReadToo() throws Exception {
    TreeMap<Integer, List<String>> ours =
        read(true, org.apache.hadoop.mapred.TextInputFormat.class);
    checkLines(ours);
    int[] lines = counts(ours);
    assertTrue(lines[0] >= 4 * lines[lines.length - 1], Arrays.toString(lines));
  }
}
