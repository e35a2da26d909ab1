package io.braid.hadoop.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.plan.Costs;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.jobhistory.HistoryFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Jobs whose times were made from known costs: reading their history must find these again. */
class CostsFromHistoryTest {
  private static final double START = 5;
  private static final double RATE = 30e6;
  private static final double GAP = 0.5;
  private static final int BLOCK = 32 << 20;

  @TempDir File folder;

  /**
   * Eight slots on four nodes; sizes in blocks; factors of slowness by block, container and node.
   */
  private File write(String name, int[] sizes, double block, double container, double node)
      throws IOException {
    Random random = new Random(1);
    File file = new File(folder, name + ".jhist");
    double[] free = new double[8];
    double[] slow = new double[4];
    for (int n = 0; n < slow.length; ++n) {
      slow[n] = Math.max(0.2, 1 + node * (n % 2 == 0 ? 1 : -1));
    }
    try (HistoryFile history = new HistoryFile(file, name)) {
      for (int size : sizes) {
        int slot = 0;
        for (int s = 1; s < free.length; ++s) {
          slot = free[s] < free[slot] ? s : slot;
        }
        double work = 0;
        for (int b = 0; b < size; ++b) {
          work += BLOCK / RATE * Math.max(0.1, 1 + block * random.nextGaussian());
        }
        work *= slow[slot / 2] * Math.max(0.1, 1 + container * random.nextGaussian());
        double launched = free[slot] + GAP;
        free[slot] = launched + START + work;
        history.map(
            "n" + slot / 2,
            Math.round(launched * 1e3),
            Math.round(free[slot] * 1e3),
            (long) size * BLOCK,
            size);
      }
    }
    return file;
  }

  private static int[] assorted(int count) {
    int[] sizes = new int[count];
    for (int i = 0; i < count; ++i) {
      sizes[i] = i < count / 4 ? 8 : i < count / 2 ? 4 : 1;
    }
    return sizes;
  }

  private static Costs learn(File file) throws IOException {
    return CostsFromHistory.of(new Configuration(false), new Path(file.toURI()), null, 60_000)
        .costs();
  }

  @Test
  void exactTimesGiveExactCosts() throws IOException {
    Costs costs = learn(write("exact", assorted(64), 0, 0, 0));
    assertEquals(START + GAP, costs.startSeconds(), 0.02);
    assertEquals(RATE, costs.bytesPerSecond(), RATE * 0.01);
    assertEquals(0, costs.blockSpread(), 0.02);
    assertEquals(0, costs.containerSpread(), 0.02);
    assertEquals(0, costs.nodeSpread(), 0.02);
  }

  @Test
  void noisyTimesGiveCostsNearby() throws IOException {
    Costs costs = learn(write("noisy", assorted(400), 0.3, 0, 0));
    assertEquals(START + GAP, costs.startSeconds(), 1);
    assertEquals(RATE, costs.bytesPerSecond(), RATE * 0.2);
  }

  @Test
  void theKindsOfSpreadAreTold() throws IOException {
    Costs block = learn(write("block", assorted(800), 0.3, 0, 0));
    Costs container = learn(write("container", assorted(800), 0, 0.3, 0));
    Costs node = learn(write("node", assorted(800), 0, 0, 0.3));
    assertTrue(block.blockSpread() > 2 * block.containerSpread(), "by block: " + print(block));
    assertTrue(container.containerSpread() > 0.2, "by container: " + print(container));
    assertTrue(
        node.nodeSpread() > 0.2 && node.nodeSpread() > node.containerSpread(),
        "by node: " + print(node));
  }

  private static String print(Costs costs) {
    return costs.blockSpread() + " " + costs.containerSpread() + " " + costs.nodeSpread();
  }

  @Test
  void mapsAlikeLeaveTheStartAssumed() throws IOException {
    int[] sizes = new int[32];
    Arrays.fill(sizes, 4);
    CostsFromHistory learnt =
        CostsFromHistory.of(
            new Configuration(false),
            new Path(write("alike", sizes, 0, 0, 0).toURI()),
            null,
            60_000);
    assertTrue(learnt.origin().contains("assumed"), learnt.origin());
    assertEquals(GAP + (START + 4 * BLOCK / RATE) / 2, learnt.costs().startSeconds(), 0.1);
  }

  @Test
  void progressTellsTheStartOfMapsThatAreAlike() {
    List<MapTime> maps = new ArrayList<>();
    for (int i = 0; i < 8; ++i) {
      // Five seconds of start-up, two for each eighth of the work. The first report comes within
      // the second part: until there the start-up is spread evenly. Two parts are the sort's.
      int[] parts = {4501, 4501, 2003, 1997, 2004, 1996, 2000, 2004, 1500, 1500};
      maps.add(new MapTime("m" + i, "n", 0, 0, 0, 24_006, 100, 1, parts, -1));
    }
    assertEquals(5, maps.get(0).startByProgress(), 0.01);
    CostsFromHistory learnt = CostsFromHistory.of(new JobTimes("job", "name", 0, 24_006, maps));
    assertTrue(learnt.origin().contains("progress"), learnt.origin());
    assertEquals(5, learnt.costs().startSeconds(), 0.01);
    assertEquals(100 / 19.0, learnt.costs().bytesPerSecond(), 0.01);
  }

  /** As a real history has them: a report of no progress when all was mapped, and the end's. */
  @Test
  void progressOfShortMapsTellsNothing() {
    int[] real = {14528, 337, 337, 337, 337, 337, 337, 337, 337, 337, 337, 338};
    assertEquals(-1, new MapTime("m", "n", 0, 0, 0, 18_250, 1, 1, real, -1).startByProgress());
    int[] even = {1500, 1501, 1500, 1500, 1501, 1500, 1500, 1501, 1500, 1500, 1501, 1500};
    assertEquals(-1, new MapTime("m", "n", 0, 0, 0, 18_000, 1, 1, even, -1).startByProgress());
    assertEquals(
        -1, new MapTime("m", "n", 0, 0, 0, 18_000, 1, 1, new int[0], -1).startByProgress());
  }

  @Test
  void whatTasksCountedGoesFirst() {
    List<MapTime> maps = new ArrayList<>();
    for (int i = 0; i < 8; ++i) {
      // Sizes that would tell another start-up; the work takes a second a hundred bytes.
      int size = 100 * (i % 2 + 1);
      long began = 3000 + i * 100;
      maps.add(new MapTime("m" + i, "n", 0, 0, began, began + size * 10, size, 1, new int[0], -1));
    }
    CostsFromHistory learnt = CostsFromHistory.of(new JobTimes("job", "name", 0, 9000, maps));
    assertTrue(learnt.origin().contains("counted"), learnt.origin());
    assertEquals(3.35, learnt.costs().startSeconds(), 1e-9);
    assertEquals(100, learnt.costs().bytesPerSecond(), 1e-9);
    assertEquals(0, learnt.costs().containerSpread(), 1e-9);
  }

  @Test
  void jobsThatTellTheirStartUpGoBeforeOthers() {
    List<MapTime> alike = new ArrayList<>();
    List<MapTime> counted = new ArrayList<>();
    for (int i = 0; i < 4; ++i) {
      alike.add(new MapTime("a" + i, "n" + i, 0, 0, 0, 20_000, 100, 1, new int[0], -1));
      counted.add(new MapTime("c" + i, "n" + i, 0, 0, 3000, 4000, 100, 1, new int[0], -1));
    }
    JobTimes first = new JobTimes("first", "name", 0, 20_000, alike);
    JobTimes second = new JobTimes("second", "name", 0, 4000, counted);
    assertEquals(3, CostsFromHistory.of(List.of(first, second)).costs().startSeconds(), 1e-9);
  }

  @Test
  void openingIsLearntForEachBlock() {
    List<MapTime> maps = new ArrayList<>();
    for (int i = 0; i < 8; ++i) {
      // 10 blocks, opened in 0.2 s each, and a second of work.
      maps.add(new MapTime("m" + i, "n", 0, 0, 3000, 6000, 100, 10, new int[0], 2));
    }
    Costs learnt = CostsFromHistory.of(new JobTimes("job", "name", 0, 9000, maps)).costs();
    assertEquals(0.2, learnt.openSeconds(), 1e-9);
    assertEquals(100, learnt.bytesPerSecond(), 1e-9);
    assertEquals(3, learnt.startSeconds(), 1e-9);
  }

  @Test
  void aJobMayHaveNoName() {
    assertEquals("", new JobTimes("job", null, 0, 1, List.of()).name());
  }

  /** As the JobHistoryServer's folders are: the newest are found without a look at all others. */
  @Test
  void theNewestFolderIsLookedAtFirst() throws Exception {
    java.nio.file.Path root = java.nio.file.Files.createTempDirectory("braid-history");
    try {
      for (String day : List.of("2024/01/02", "2025/11/30", "2025/12/01")) {
        java.nio.file.Path dir = root.resolve(day + "/000000");
        java.nio.file.Files.createDirectories(dir);
        java.nio.file.Files.writeString(dir.resolve(day.replace('/', '-') + ".jhist"), "");
      }
      Configuration conf = new Configuration(false);
      Path folder = new Path(root.toUri());
      long late = System.nanoTime() + 60_000_000_000L;
      List<Path> found = HistoryReader.find(conf, folder, 1, late);
      assertEquals(1, found.size());
      assertEquals("2025-12-01.jhist", found.get(0).getName());
      assertEquals(3, HistoryReader.find(conf, folder, 10, late).size());
      assertEquals(List.of(), HistoryReader.find(conf, folder, 10, System.nanoTime() - 1));
    } finally {
      org.apache.hadoop.fs.FileUtil.fullyDelete(root.toFile());
    }
  }

  @Test
  void mediansOfEvenNumbersLieBetween() {
    assertEquals(2.5, Numbers.median(List.of(9.0, 2.0, 1.0, 3.0)), 1e-9);
    assertEquals(2, Numbers.median(List.of(9.0, 2.0, 1.0)), 1e-9);
    assertEquals(0, Numbers.median(List.of()), 1e-9);
  }

  @Test
  void aFoldersJobsOfTheNameGoFirst() throws IOException {
    write("other", assorted(64), 0, 0, 0);
    File deep = new File(folder, "2026/01/01");
    assertTrue(deep.mkdirs());
    try (HistoryFile history = new HistoryFile(new File(deep, "mine.jhist"), "mine")) {
      for (int i = 1; i <= 8; ++i) {
        history.map("n" + i, 0, 2000 + i * 1000, i * 1000, i);
      }
      history.failedMap("n9", 0, 99_000);
    }
    Files.write(new File(folder, "broken.jhist").toPath(), new byte[] {1, 2, 3});
    Configuration conf = new Configuration(false);
    Costs mine = CostsFromHistory.of(conf, new Path(folder.toURI()), "mine", 60_000).costs();
    assertEquals(2, mine.startSeconds(), 1e-6);
    assertEquals(1000, mine.bytesPerSecond(), 1e-6);
    // Without that name: the medians of both.
    Costs any = CostsFromHistory.of(conf, new Path(folder.toURI()), "unheard of", 60_000).costs();
    assertEquals((mine.startSeconds() + START + GAP) / 2, any.startSeconds(), 0.02);
  }

  @Test
  void whatCannotBeReadIsSaid() throws IOException {
    Configuration conf = new Configuration(false);
    File broken = new File(folder, "broken.jhist");
    Files.writeString(broken.toPath(), "no history");
    IOException wrong =
        assertThrows(
            IOException.class,
            () -> CostsFromHistory.of(conf, new Path(broken.toURI()), null, 60_000));
    assertTrue(wrong.getMessage().contains("broken.jhist"), wrong.getMessage());
    assertThrows(
        FileNotFoundException.class,
        () -> CostsFromHistory.of(conf, new Path(new File(folder, "none").toURI()), null, 60_000));
    File empty = new File(folder, "empty");
    assertTrue(empty.mkdir());
    IOException none =
        assertThrows(
            IOException.class,
            () -> CostsFromHistory.of(conf, new Path(empty.toURI()), null, 60_000));
    assertTrue(none.getMessage().contains("no job with at least 4"), none.getMessage());
  }

  @Test
  void wavesAndGaps() {
    List<MapTime> maps = new ArrayList<>();
    for (int i = 0; i < 6; ++i) {
      long at = i / 2 * 10_000L;
      maps.add(new MapTime("m" + i, "n", 0, at + 1000, 0, at + 10_000, 1, 1, new int[0], -1));
    }
    JobTimes job = new JobTimes("job", "name", 0, 30_000, maps);
    assertEquals(2, job.mostAtOnce());
    assertEquals(3, job.waves(), 1e-9);
    assertEquals(List.of(1.0, 1.0, 1.0, 1.0), job.gaps());
  }
}
