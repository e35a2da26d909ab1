package io.braid.hadoop.items;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.Main;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command plan: batches of items, for anything that starts processes. */
class PlanCommandTest {
  private static final Pattern BATCH =
      Pattern.compile("\\{\"seconds\": ([0-9.]+), \"items\": (.*)]}");
  private static final Pattern NAME = Pattern.compile("\"(item [0-9]+)\"");

  @TempDir Path folder;
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  private int run(String... arguments) {
    List<String> all = new ArrayList<>(List.of("plan"));
    all.addAll(Arrays.asList(arguments));
    return Main.run(
        all,
        new PrintStream(out, true, StandardCharsets.UTF_8),
        new PrintStream(err, true, StandardCharsets.UTF_8));
  }

  private String items(String... lines) throws IOException {
    Path file = folder.resolve("items");
    Files.write(file, List.of(lines));
    return file.toString();
  }

  private String manyItems() throws IOException {
    String[] lines = new String[200];
    Arrays.setAll(lines, i -> (1 + i % 3) + " item " + i);
    return items(lines);
  }

  @Test
  void eachItemIsInOneBatchAndTheLongestComeFirst() throws Exception {
    String file = manyItems();
    assertEquals(0, run("--items", file, "--workers", "4", "--start-seconds", "5", "--json"));
    TreeSet<String> names = new TreeSet<>();
    int count = 0;
    double before = Double.MAX_VALUE;
    for (String line : out.toString(StandardCharsets.UTF_8).split("\n")) {
      Matcher batch = BATCH.matcher(line);
      if (!batch.find()) {
        continue;
      }
      double sum = 0;
      Matcher name = NAME.matcher(batch.group(2));
      while (name.find()) {
        names.add(name.group(1));
        ++count;
        sum += 1 + Integer.parseInt(name.group(1).substring(5)) % 3;
      }
      assertEquals(sum, Double.parseDouble(batch.group(1)), 1e-3);
      assertTrue(sum <= before, line);
      before = sum;
    }
    assertEquals(200, names.size());
    assertEquals(200, count);
  }

  @Test
  void theTableSaysWhatWasConsidered() throws Exception {
    String file = manyItems();
    assertEquals(0, run("--items", file, "--workers", "4", "--start-seconds", "5"));
    String text = out.toString(StandardCharsets.UTF_8);
    assertTrue(text.startsWith("200 items in "), text);
    assertTrue(text.contains("spreads assumed"), text);
    assertTrue(text.contains("factoring"), text);
    assertTrue(text.contains("waves, 3 a slot"), text);
  }

  @Test
  void startsOfNoTimeMeanABatchAnItem() throws Exception {
    String file = items("3 a", "2 b", "2 c", "1 d", "1 e");
    assertEquals(
        0, run("--items", file, "--workers", "2", "--start-seconds", "0", "--task-spread", "0.5"));
    assertTrue(
        out.toString(StandardCharsets.UTF_8).startsWith("5 items in 5 batches"), out.toString());
  }

  @Test
  void bytesAreTakenToo() throws Exception {
    String file = items("10m a", "10m b", "10m c", "10m d");
    assertEquals(
        0,
        run(
            "--items=" + file,
            "--workers=2",
            "--start-seconds=9",
            "--bytes-per-second=10m",
            "--policy=maximum",
            "--json"));
    String text = out.toString(StandardCharsets.UTF_8);
    assertTrue(text.contains("{\"seconds\": 2.000, \"items\": [\"a\", \"b\"]}"), text);
  }

  @Test
  void whatIsWrongIsNamed() throws Exception {
    String good = items("1 a");
    assertEquals(2, run("--items", good, "--workers", "2"));
    assertEquals(2, run("--items", good, "--workers", "0", "--start-seconds", "1"));
    assertEquals(2, run("--items", good, "--workers", "2", "--start-seconds", "soon"));
    assertEquals(
        2, run("--items", good, "--workers", "2", "--start-seconds", "1", "--policy", "best"));
    assertEquals(1, run("--items", folder + "/none", "--workers", "2", "--start-seconds", "1"));
    for (String wrong : List.of("-1 a", "a", "much b", "1m c", "NaN d")) {
      err.reset();
      String file = items("# costs", "1 x", wrong);
      assertEquals(1, run("--items", file, "--workers", "2", "--start-seconds", "1"), wrong);
      String text = err.toString(StandardCharsets.UTF_8);
      assertTrue(text.contains("line 3"), text);
    }
    assertEquals(1, run("--items", items("1 a", "2 a"), "--workers", "2", "--start-seconds", "1"));
    assertEquals(1, run("--items", items("# none"), "--workers", "2", "--start-seconds", "1"));
    assertEquals("", out.toString(StandardCharsets.UTF_8));
  }

  /** On a class path without Hadoop, as on a machine that never saw it. */
  @Test
  void hadoopIsNotNeeded() throws Exception {
    String classes =
        new File(Main.class.getProtectionDomain().getCodeSource().getLocation().toURI()).getPath();
    String java = System.getProperty("java.home") + "/bin/java";
    Process process =
        new ProcessBuilder(
                java,
                "-cp",
                classes,
                Main.class.getName(),
                "plan",
                "--items",
                items("1 a", "2 b"),
                "--workers",
                "1",
                "--start-seconds",
                "3",
                "--json")
            .redirectErrorStream(true)
            .start();
    String text;
    try (InputStream output = process.getInputStream()) {
      text = new String(output.readAllBytes(), StandardCharsets.UTF_8);
    }
    assertEquals(0, process.waitFor(), text);
    assertFalse(text.contains("NoClassDefFound"), text);
    assertTrue(text.contains("[\"a\", \"b\"]"), text);
  }
}
