package io.braid.hadoop.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.mapreduce.CoalescingInputFormat;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The input format under Spark: the lines of textFile, in as many partitions as are wanted. */
@Tag("night")
class SparkTest {
  private static final int SPLIT = 20_000;
  private static final int THREADS = 3;

  @TempDir static Path folder;
  private static JavaSparkContext spark;
  private static long files;

  @BeforeAll
  static void start() throws IOException {
    Random random = new Random(3);
    for (int i = 0; i < 4; ++i) {
      StringBuilder text = new StringBuilder();
      int lines = 1000 + random.nextInt(10_000);
      for (int k = 0; k < lines; ++k) {
        text.append("line ").append(random.nextInt()).append('\n');
      }
      Files.write(folder.resolve("part-" + i), text.toString().getBytes(StandardCharsets.US_ASCII));
      ++files;
    }
    spark =
        new JavaSparkContext(
            new SparkConf()
                .setMaster("local[" + THREADS + "]")
                .setAppName("braid")
                .set("spark.ui.enabled", "false")
                .set("spark.driver.bindAddress", "127.0.0.1")
                .set("spark.driver.host", "127.0.0.1"));
  }

  @AfterAll
  static void stop() {
    if (spark != null) {
      spark.stop();
    }
  }

  @SuppressWarnings("unchecked") // a class literal has no type arguments
  private static JavaRDD<String> lines(Configuration conf) {
    Class<CoalescingInputFormat<LongWritable, Text>> format =
        (Class<CoalescingInputFormat<LongWritable, Text>>) (Class<?>) CoalescingInputFormat.class;
    JavaPairRDD<LongWritable, Text> records =
        spark.newAPIHadoopFile(
            folder.toUri().toString(), format, LongWritable.class, Text.class, conf);
    return records.map(record -> record._2().toString());
  }

  private static Configuration conf(String... keysAndValues) {
    Configuration conf = new Configuration(spark.hadoopConfiguration());
    conf.setLong(FileInputFormat.SPLIT_MAXSIZE, SPLIT);
    for (int i = 0; i < keysAndValues.length; i += 2) {
      conf.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    return conf;
  }

  private static List<String> sorted(JavaRDD<String> lines) {
    List<String> all = new ArrayList<>(lines.collect());
    all.sort(null);
    return all;
  }

  @Test
  void theLinesAreThoseOfTextFile() {
    List<String> expected = sorted(spark.textFile(folder.toUri().toString()));
    assertFalse(expected.isEmpty());
    for (String policy : List.of("none", "maximum", "assorted-strict", "assorted", "auto")) {
      assertEquals(expected, sorted(lines(conf("braid.input.policy", policy))), policy);
    }
  }

  @Test
  void aPartitionASplitWithoutCoalescing() {
    int partitions = lines(conf("braid.input.policy", "none")).getNumPartitions();
    assertTrue(partitions > 2 * files, "partitions: " + partitions);
  }

  @Test
  void aPartitionASlotWithMaximum() {
    Configuration conf =
        conf(
            "braid.input.policy",
            "maximum",
            "braid.input.slots.nodes",
            "1",
            "braid.input.slots.per-node",
            Integer.toString(THREADS));
    assertEquals(THREADS, lines(conf).getNumPartitions());
  }

  @Test
  void theCoresAreTheSlotsInLocalMode() {
    int cores =
        Math.min(
            Runtime.getRuntime().availableProcessors(),
            lines(conf("braid.input.policy", "none")).getNumPartitions());
    assertEquals(cores, lines(conf("braid.input.policy", "maximum")).getNumPartitions());
  }
}
