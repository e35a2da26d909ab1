package io.braid.hadoop.hive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.tez.HiveTaperedSlots;
import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.DriverFactory;
import org.apache.hadoop.hive.ql.IDriver;
import org.apache.hadoop.hive.ql.session.SessionState;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Hive on Tez, in Tez's local mode: what queries give, and what each task of theirs reads. */
class HiveOnTezTest {
  private static final File FOLDER = new File("hive-tez").getAbsoluteFile();
  private static final int PARTITIONS = 2;
  private static final int ROWS = 6000;
  private static final int SPLIT = 4_000;

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
            "hive.jar.directory",
            "hive.user.install.directory",
            "tez.staging-dir",
            "hadoop.tmp.dir")) {
      first.set(place, new File(FOLDER, place).toString());
    }
    first.set("fs.defaultFS", "file:///");
    // Without Tez at first: it would open its session beside the metastore's first steps.
    first.set("mapreduce.framework.name", "local");
    first.set("hive.execution.engine", "mr");
    first.setBoolean("tez.local.mode", true);
    first.setBoolean("tez.local.mode.without.network", true);
    first.setBoolean("tez.ignore.lib.uris", true);
    first.setBoolean("tez.runtime.optimize.local.fetch", true);
    first.setInt("hive.tez.container.size", 256);
    first.set("hive.fetch.task.conversion", "none");
    first.set("hive.compute.query.using.stats", "false");
    first.set("hive.stats.autogather", "false");
    first.set("hive.support.concurrency", "false");
    first.setInt("fs.local.block.size", SPLIT);
    first.setInt("mapreduce.input.fileinputformat.split.maxsize", SPLIT);
    first.setInt("tez.grouping.min-size", SPLIT);
    SessionState.start(first);
    conf = SessionState.get().getConf();
    fill();
    conf.set("hive.execution.engine", "tez");
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
        "CREATE TABLE pairs (n INT, w STRING) PARTITIONED BY (p INT)"
            + " ROW FORMAT DELIMITED FIELDS TERMINATED BY ' ' STORED AS TEXTFILE");
    Random random = new Random(3);
    for (int p = 0; p < PARTITIONS; ++p) {
      StringBuilder text = new StringBuilder();
      for (int i = 0; i < ROWS; ++i) {
        text.append(random.nextInt(100)).append(" word").append(random.nextInt(900)).append('\n');
      }
      File file = new File(FOLDER, "text" + p);
      Files.writeString(file.toPath(), text);
      run("LOAD DATA LOCAL INPATH '" + file + "' INTO TABLE pairs PARTITION (p=" + p + ")");
    }
  }

  /** The lines that a statement gives. */
  private static List<String> run(String statement) throws Exception {
    try (IDriver driver = DriverFactory.newDriver(conf)) {
      driver.run(statement);
      driver.setMaxRows(1000);
      List<String> lines = new ArrayList<>();
      driver.getResults(lines);
      lines.sort(null);
      return lines;
    }
  }

  private static void group(boolean isTapered) {
    conf.set(
        "hive.splits.available.slots.calculator.class.name",
        isTapered
            ? HiveTaperedSlots.class.getName()
            : "org.apache.hadoop.hive.ql.exec.tez.TezAvailableSlotsCalculator");
  }

  /** Rows that each task of a query without a shuffle writes, the most first. */
  private static long[] rowsByTask(boolean isTapered) throws Exception {
    group(isTapered);
    File out = new File(FOLDER, "out-" + isTapered);
    run("INSERT OVERWRITE DIRECTORY '" + out + "' SELECT n, w, p FROM pairs");
    List<Long> rows = new ArrayList<>();
    for (File file : out.listFiles((folder, name) -> !name.startsWith("."))) {
      rows.add((long) Files.readAllLines(file.toPath()).size());
    }
    return rows.stream().mapToLong(n -> -n).sorted().map(n -> -n).toArray();
  }

  @Test
  void tasksReadGroupsOfFallingSizes() throws Exception {
    long[] ours = rowsByTask(true);
    long[] theirs = rowsByTask(false);
    System.out.println("ours: " + Arrays.toString(ours));
    System.out.println("Hive's own: " + Arrays.toString(theirs));
    assertEquals(PARTITIONS * ROWS, Arrays.stream(ours).sum());
    assertEquals(PARTITIONS * ROWS, Arrays.stream(theirs).sum());
    assertTrue(ours[0] >= 3 * ours[ours.length - 1], Arrays.toString(ours));
    assertTrue(theirs[0] < 3 * theirs[theirs.length / 2], Arrays.toString(theirs));
  }

  @Test
  void queriesGiveTheSame() throws Exception {
    for (String query :
        List.of(
            "SELECT p, COUNT(*), SUM(n), MIN(w) FROM pairs GROUP BY p",
            "SELECT INPUT__FILE__NAME, COUNT(*), MAX(BLOCK__OFFSET__INSIDE__FILE) FROM pairs"
                + " GROUP BY INPUT__FILE__NAME",
            "SELECT a.p, COUNT(*) FROM pairs a JOIN pairs b ON a.w = b.w AND a.p = b.p"
                + " WHERE a.n < 5 GROUP BY a.p")) {
      group(false);
      List<String> expected = run(query);
      assertEquals(PARTITIONS, expected.size(), query);
      group(true);
      assertEquals(expected, run(query), query);
    }
  }
}
