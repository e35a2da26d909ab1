package io.braid.hadoop.hive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.DriverFactory;
import org.apache.hadoop.hive.ql.IDriver;
import org.apache.hadoop.hive.ql.MapRedStats;
import org.apache.hadoop.hive.ql.processors.CommandProcessorException;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.apache.hadoop.mapred.Counters;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The recipe of hadoop/docs/hive.md: queries of Hive on MapReduce, in local mode with a metastore
 * in this process, give what they give without us, from fewer splits.
 */
class HiveTest {
  private static final File FOLDER = new File("hive").getAbsoluteFile();
  private static final int PARTITIONS = 3;
  private static final int ROWS = 5000;
  private static final int SPLIT = 10_000;
  private static final int SLOTS = 2;
  private static final String SUMS = "SELECT p, COUNT(*), SUM(n), MIN(w) FROM %s GROUP BY p";

  private static HiveConf conf;

  @BeforeAll
  static void start() throws Exception {
    FileUtil.fullyDelete(FOLDER);
    HiveConf first = new HiveConf();
    first.set("datanucleus.schema.autoCreateAll", "true");
    first.set("metastore.schema.verification", "false");
    for (String place :
        List.of(
            "hive.metastore.warehouse.dir",
            "hive.metastore.warehouse.external.dir",
            "hive.exec.scratchdir",
            "hive.exec.local.scratchdir",
            "hive.downloaded.resources.dir",
            "hive.querylog.location",
            "hadoop.tmp.dir",
            "mapreduce.cluster.local.dir",
            "mapreduce.jobtracker.staging.root.dir")) {
      first.set(place, new File(FOLDER, place).toString());
    }
    first.set("fs.defaultFS", "file:///");
    first.set("mapreduce.framework.name", "local");
    first.set("hive.execution.engine", "mr");
    // Queries as small as these would do without a job.
    first.set("hive.fetch.task.conversion", "none");
    first.set("hive.compute.query.using.stats", "false");
    first.set("hive.stats.autogather", "false");
    first.set("hive.support.concurrency", "false");
    first.setInt("fs.local.block.size", SPLIT);
    SessionState.start(first);
    conf = SessionState.get().getConf();
    fill();
  }

  @AfterAll
  static void stop() throws Exception {
    if (SessionState.get() != null) {
      SessionState.get().close();
    }
    FileUtil.fullyDelete(FOLDER);
  }

  private static void fill() throws Exception {
    run(
        "CREATE TABLE words (n INT, w STRING) PARTITIONED BY (p INT)"
            + " ROW FORMAT DELIMITED FIELDS TERMINATED BY ' ' STORED AS TEXTFILE");
    Random random = new Random(3);
    for (int p = 0; p < PARTITIONS; ++p) {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < ROWS; ++i) {
        text.append(random.nextInt(100)).append(" word").append(random.nextInt(900)).append('\n');
      }
      File file = new File(FOLDER, "text" + p);
      Files.writeString(file.toPath(), text);
      run("LOAD DATA LOCAL INPATH '" + file + "' INTO TABLE words PARTITION (p=" + p + ")");
    }
    run("CREATE TABLE orcs (n INT, w STRING, p INT) STORED AS ORC");
    run("CREATE TABLE orcs2 STORED AS ORC AS SELECT w, p, n, n * 2 AS m, p + 1 AS q FROM words");
    run("CREATE TABLE parquets (n INT, w STRING, p INT) STORED AS PARQUET");
    run(
        "CREATE TABLE parquets2 STORED AS PARQUET AS SELECT w, p, n, n * 2 AS m, p + 1 AS q"
            + " FROM words");
    for (int p = 0; p < PARTITIONS; ++p) {
      run("INSERT INTO orcs SELECT n, w, p FROM words WHERE p = " + p);
      run("INSERT INTO parquets SELECT n, w, p FROM words WHERE p = " + p);
    }
  }

  /** The lines that a statement gives. */
  private static List<String> run(String statement) throws Exception {
    SessionState.get().setMapRedStats(new HashMap<>());
    try (IDriver driver = DriverFactory.newDriver(conf)) {
      driver.run(statement);
      driver.setMaxRows(1000);
      List<String> lines = new ArrayList<>();
      driver.getResults(lines);
      lines.sort(null);
      return lines;
    }
  }

  /** Of the last statement's job. */
  private static long counter(String name) {
    Map<String, MapRedStats> stages = SessionState.get().getMapRedStats();
    assertEquals(1, stages.size());
    Counters counters = stages.values().iterator().next().getCounters();
    return counters.findCounter("Input coalescing", name).getValue();
  }

  @BeforeEach
  void hiveAsItIs() {
    conf.set("hive.input.format", "org.apache.hadoop.hive.ql.io.CombineHiveInputFormat");
  }

  private static void coalesce(String policy) {
    conf.set("hive.input.format", "io.braid.hadoop.mapred.CoalescingInputFormat");
    conf.set("braid.input.delegate", "org.apache.hadoop.hive.ql.io.HiveInputFormat");
    conf.set("braid.input.policy", policy);
    conf.setInt("braid.input.slots.nodes", 1);
    conf.setInt("braid.input.slots.per-node", SLOTS);
  }

  @ParameterizedTest
  @ValueSource(strings = {"none", "maximum", "assorted-strict", "assorted-balanced", "auto"})
  void sumsAreThoseOfHive(String policy) throws Exception {
    List<String> expected = run(String.format(SUMS, "words"));
    assertEquals(PARTITIONS, expected.size());
    assertTrue(expected.get(0).startsWith("0\t" + ROWS + "\t"), expected.get(0));
    coalesce(policy);
    assertEquals(expected, run(String.format(SUMS, "words")));
    assertTrue(counter("SPLITS_BEFORE") > 2 * PARTITIONS, "before: " + counter("SPLITS_BEFORE"));
    if (policy.equals("maximum")) {
      assertEquals(SLOTS, counter("SPLITS_AFTER"));
      assertEquals(counter("SPLITS_BEFORE"), counter("CHILD_SPLITS"));
    }
  }

  @Test
  void rowsKnowTheirFileAndPlace() throws Exception {
    String query =
        "SELECT INPUT__FILE__NAME, COUNT(*), MIN(BLOCK__OFFSET__INSIDE__FILE),"
            + " MAX(BLOCK__OFFSET__INSIDE__FILE) FROM words GROUP BY INPUT__FILE__NAME";
    List<String> expected = run(query);
    assertEquals(PARTITIONS, expected.size());
    coalesce("maximum");
    assertEquals(expected, run(query));
    assertEquals(SLOTS, counter("SPLITS_AFTER"));
  }

  @Test
  void orcIsReadToo() throws Exception {
    List<String> expected = run(String.format(SUMS, "orcs"));
    assertEquals(PARTITIONS, expected.size());
    coalesce("maximum");
    assertEquals(expected, run(String.format(SUMS, "orcs")));
    assertEquals(SLOTS, counter("SPLITS_AFTER"));
    assertTrue(counter("SPLITS_BEFORE") >= PARTITIONS, "before: " + counter("SPLITS_BEFORE"));
  }

  /** One job reads both tables: splits of different formats must not come together. */
  @ParameterizedTest
  @ValueSource(strings = {"words a JOIN orcs b", "orcs a JOIN parquets b", "orcs a JOIN orcs2 b"})
  void tablesAreJoined(String tables) throws Exception {
    List<String> expected = joined(tables);
    assertEquals(PARTITIONS, expected.size());
    coalesce("maximum");
    assertEquals(expected, joined(tables));
  }

  /** Hive's Parquet reader wants a row of its own table; hadoop/docs/hive.md says what to do. */
  @Test
  void parquetTablesOfOtherColumnsAreJoinedWithoutUs() throws Exception {
    List<String> expected = joined("parquets a JOIN parquets2 b");
    coalesce("none");
    assertEquals(expected, joined("parquets a JOIN parquets2 b"));
    coalesce("maximum");
    assertThrows(CommandProcessorException.class, () -> joined("parquets a JOIN parquets2 b"));
  }

  private static List<String> joined(String tables) throws Exception {
    conf.set("hive.auto.convert.join", "false");
    return run(
        "SELECT a.p, COUNT(*), SUM(b.n) FROM "
            + tables
            + " ON a.w = b.w AND a.p = b.p WHERE a.n < 5 GROUP BY a.p");
  }

  @Test
  void aPolicyThatThereIsNotIsRefused() {
    coalesce("greatest");
    assertThrows(CommandProcessorException.class, () -> run(String.format(SUMS, "words")));
  }
}
