package io.braid.hadoop.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.Partition;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.internal.SQLConf;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Spark's scans with the extension and without: the same rows, from partitions whose files are on
 * the host that they prefer, as even and no larger.
 */
@Tag("night")
class HostScanTest {
  private static final int FILES = 48;
  private static final int ROWS = 9_000;
  private static final long MOST = 60_000;
  private static final long OPEN = 1_000;

  @TempDir static Path folder;
  private static SparkSession spark;

  @BeforeAll
  static void start() {
    spark =
        SparkSession.builder()
            .master("local[2]")
            .appName("braid")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.hadoop.fs.hosted.impl", HostedFileSystem.class.getName())
            .config("spark.sql.extensions", HostScanExtension.class.getName())
            .config("spark.sql.warehouse.dir", place("warehouse"))
            .config("spark.sql.shuffle.partitions", "3")
            .config("spark.sql.files.maxPartitionBytes", MOST)
            .config("spark.sql.files.openCostInBytes", OPEN)
            .config(HostScanExtension.HOSTS, "blocks")
            .getOrCreate();
    Dataset<Row> rows =
        spark
            .range(ROWS)
            .selectExpr(
                "id", "id % 7 as day", "cast(id * 37 % 1000 as string) as word", "id * 1.5 as x");
    for (String format : List.of("parquet", "orc", "csv", "json")) {
      rows.repartition(FILES).write().format(format).option("header", "true").save(place(format));
    }
    rows.repartition(9).write().partitionBy("day").parquet(place("days"));
    rows.repartition(FILES).write().bucketBy(3, "id").sortBy("id").saveAsTable("buckets");
    for (String format : List.of("parquet", "orc", "csv", "json")) {
      Dataset<Row> read =
          spark
              .read()
              .schema(rows.schema())
              .option("header", "true")
              .format(format)
              .load(place(format));
      read.createOrReplaceTempView("t_" + format);
    }
    spark.read().parquet(place("days")).createOrReplaceTempView("t_days");
  }

  @AfterAll
  static void stop() {
    if (spark != null) {
      spark.stop();
    }
  }

  private static String place(String name) {
    return HostedFileSystem.SCHEME + "://" + folder.resolve(name);
  }

  @AfterEach
  void withTheExtension() {
    spark.conf().set(HostScanExtension.ENABLED, "true");
    spark.conf().set(HostScanExtension.HOSTS, "blocks");
    spark.conf().set("spark.sql.adaptive.enabled", "true");
  }

  /** The rows in an order of their own. */
  private static List<String> rows(String query) {
    return sorted(spark.sql(query));
  }

  private static List<String> sorted(Dataset<Row> rows) {
    return rows.collectAsList().stream()
        .map(Row::toString)
        .sorted()
        .collect(Collectors.toList());
  }

  private static QueryExecution execution(Dataset<Row> rows) {
    try {
      // Its place in the tree of classes is another one in Spark 4.
      return (QueryExecution) rows.getClass().getMethod("queryExecution").invoke(rows);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  /** What opens the files of a query without a shuffle. */
  private static RDD<?> reader(String query) {
    RDD<?> rdd = execution(spark.sql(query)).toRdd();
    while (!rdd.dependencies().isEmpty()) {
      rdd = rdd.dependencies().head().rdd();
    }
    return rdd;
  }

  private static PartitionedFile[] files(Partition partition) {
    return ((FilePartition) partition).files();
  }

  /** Of all bytes, those on the host that their partition prefers most, by the file system. */
  private static double localShare(RDD<?> reader) {
    double all = 0;
    double local = 0;
    for (Partition partition : reader.partitions()) {
      var preferred = reader.preferredLocations(partition);
      for (PartitionedFile file : files(partition)) {
        long end = file.start() + file.length();
        for (long at = file.start(), next; at < end; at = next) {
          long block = at / HostedFileSystem.BLOCK;
          next = Math.min(end, (block + 1) * HostedFileSystem.BLOCK);
          Set<String> hosts = Set.of(HostedFileSystem.hosts(file.toPath(), block));
          all += next - at;
          local += !preferred.isEmpty() && hosts.contains(preferred.head()) ? next - at : 0;
        }
      }
    }
    return local / all;
  }

  /** As Spark counts against maxPartitionBytes, the largest first. */
  private static long[] weights(RDD<?> reader) {
    return Arrays.stream(reader.partitions())
        .mapToLong(
            p -> Arrays.stream(files(p)).mapToLong(f -> f.length() + OPEN).sum() - OPEN)
        .map(w -> -w)
        .sorted()
        .map(w -> -w)
        .toArray();
  }

  @ParameterizedTest
  @ValueSource(strings = {"parquet", "orc", "csv", "json"})
  void partitionsAreOfOneHostEvenAndNoLarger(String format) {
    String query = "SELECT * FROM t_" + format;
    RDD<?> ours = reader(query);
    spark.conf().set(HostScanExtension.ENABLED, "false");
    RDD<?> sparks = reader(query);
    assertSame(FileScanRDD.class, sparks.getClass());
    assertSame(HostPartitions.class, ours.getClass());
    double before = localShare(sparks);
    assertTrue(before < 0.85, "Spark's own share: " + before);
    assertEquals(1, localShare(ours), 1e-9);
    long[] weights = weights(ours);
    assertTrue(weights[0] <= Math.min(MOST, weights(sparks)[0]), Arrays.toString(weights));
    assertTrue(2 * weights[weights.length - 1] >= weights[0], Arrays.toString(weights));
    int more = ours.getNumPartitions() - sparks.getNumPartitions();
    assertTrue(more <= HostedFileSystem.HOSTS, more + " partitions more");
    System.out.printf(
        "%s: %.0f %% of the bytes on the preferred host in %d partitions, 100 %% in %d%n",
        format, 100 * before, sparks.getNumPartitions(), ours.getNumPartitions());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT * FROM %s",
        "SELECT COUNT(*), SUM(id), MAX(word) FROM %s WHERE id %% 3 = 0",
        "SELECT input_file_name(), COUNT(*), SUM(x) FROM %s GROUP BY 1",
        "SELECT a.word, COUNT(*) FROM %1$s a JOIN %1$s b ON a.id = b.id + 1 GROUP BY a.word",
        "SELECT day, COUNT(*) FROM %s WHERE day IN (2, 3) AND x > (SELECT AVG(x) FROM %1$s)"
            + " GROUP BY day"
      })
  void rowsAreTheSame(String query) {
    for (String table : List.of("t_parquet", "t_orc", "t_csv", "t_days")) {
      boolean isAdaptive = table.length() % 2 == query.length() % 2;
      spark.conf().set("spark.sql.adaptive.enabled", Boolean.toString(isAdaptive));
      spark.conf().set(HostScanExtension.ENABLED, "false");
      List<String> expected = rows(String.format(query, table));
      assertFalse(expected.isEmpty());
      spark.conf().set(HostScanExtension.ENABLED, "true");
      assertEquals(expected, rows(String.format(query, table)), table + ": " + query);
    }
  }

  @Test
  void rowsKnowTheirFile() {
    Dataset<Row> rows =
        spark.read().parquet(place("parquet")).selectExpr("_metadata.file_name", "id");
    List<String> ours = sorted(rows);
    spark.conf().set(HostScanExtension.ENABLED, "false");
    assertEquals(sorted(rows.select("*")), ours);
    assertEquals(ROWS, ours.size());
  }

  @Test
  void eachFileIsInOnePartition() {
    Map<String, Integer> times = new HashMap<>();
    for (Partition partition : reader("SELECT * FROM t_orc").partitions()) {
      for (PartitionedFile file : files(partition)) {
        times.merge(file.filePath() + " " + file.start(), 1, Integer::sum);
      }
    }
    assertEquals(FILES, times.size());
    assertEquals(Set.of(1), new HashSet<>(times.values()));
  }

  /** What is shuffled twice is scanned once, as without the extension. */
  @Test
  void sparkReusesWhatItReusedBefore() {
    String query =
        "SELECT a.word, a.n, b.n FROM (SELECT word, COUNT(*) n FROM t_orc GROUP BY word) a"
            + " JOIN (SELECT word, COUNT(*) n FROM t_orc GROUP BY word) b ON a.n = b.n + 1";
    spark.conf().set("spark.sql.adaptive.enabled", "false");
    String ours = execution(spark.sql(query)).executedPlan().toString();
    spark.conf().set(HostScanExtension.ENABLED, "false");
    String sparks = execution(spark.sql(query)).executedPlan().toString();
    assertTrue(ours.contains("PartitionsByHost"), ours);
    assertFalse(sparks.contains("PartitionsByHost"), sparks);
    assertTrue(sparks.contains("ReusedExchange"), sparks);
    assertTrue(ours.contains("ReusedExchange"), ours);
  }

  @Test
  void bucketsStayTogether() {
    spark.conf().set("spark.sql.adaptive.enabled", "false");
    spark.conf().set("spark.sql.autoBroadcastJoinThreshold", "-1");
    String plan =
        execution(spark.sql("SELECT a.id FROM buckets a JOIN buckets b ON a.id = b.id"))
            .executedPlan()
            .toString();
    assertTrue(plan.contains("Bucketed: true"), plan);
    assertFalse(plan.contains("PartitionsByHost"), plan);
    assertFalse(plan.contains("Exchange"), plan);
  }

  /** Fewer partitions than hosts: Spark's own are then larger than maxPartitionBytes. */
  @Test
  void noMorePartitionsThanSparkMayMake() {
    spark.conf().set("spark.sql.files.maxPartitionNum", "2");
    try {
      RDD<?> reader = reader("SELECT * FROM t_csv");
      assertSame(FileScanRDD.class, reader.getClass());
      assertTrue(reader.getNumPartitions() <= 3, reader.getNumPartitions() + " partitions");
      spark.conf().set("spark.sql.files.maxPartitionNum", "7");
      int most = reader("SELECT * FROM t_csv").getNumPartitions();
      assertTrue(most <= 7, most + " partitions");
    } finally {
      spark.conf().unset("spark.sql.files.maxPartitionNum");
    }
  }

  /** Executors that hold nothing, and files without hosts: nothing to gain. */
  @Test
  void whereNoHostIsBetterSparksOwnPartitionsStay() {
    spark.conf().set(HostScanExtension.HOSTS, "executors");
    assertSame(FileScanRDD.class, reader("SELECT * FROM t_csv").getClass());
    spark.conf().set(HostScanExtension.HOSTS, "auto");
    assertSame(FileScanRDD.class, reader("SELECT * FROM t_csv").getClass());
    spark.conf().set(HostScanExtension.HOSTS, "blocks");
    spark.read().orc("file://" + folder.resolve("orc")).createOrReplaceTempView("t_local");
    assertSame(FileScanRDD.class, reader("SELECT * FROM t_local").getClass());
    assertEquals(ROWS, spark.table("t_local").count());
  }

  @Test
  void anotherReaderIsLeftAlone() {
    RDD<InternalRow> other = execution(spark.range(3).toDF()).toRdd();
    assertSame(other, Regrouping.of(other, InternalRow.class, ScanSettings.of(SQLConf.get())));
  }

  @Test
  void aWordThatThereIsNotIsRefused() {
    spark.conf().set(HostScanExtension.HOSTS, "some");
    Exception e = assertThrows(IllegalArgumentException.class, () -> rows("SELECT * FROM t_csv"));
    assertTrue(e.getMessage().contains("auto, executors or blocks"), e.getMessage());
  }

  @Test
  void whatIsCachedIsReadOnce() {
    Dataset<Row> cached = spark.table("t_parquet").cache();
    List<Long> counts = new ArrayList<>();
    for (int i = 0; i < 2; ++i) {
      counts.add(cached.count());
    }
    cached.unpersist();
    assertEquals(List.of((long) ROWS, (long) ROWS), counts);
  }
}
