package io.braid.hadoop.explain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.Main;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import javax.xml.parsers.DocumentBuilderFactory;
import org.apache.hadoop.mapreduce.jobhistory.HistoryFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;

/** The commands as they are called: what they print, draw and exit with. */
class ExplainCommandTest {
  @TempDir File folder;

  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  private int run(String... args) {
    return Main.run(Arrays.asList(args), new PrintStream(out, true), new PrintStream(err, true));
  }

  private String out() {
    return out.toString(StandardCharsets.UTF_8);
  }

  private String err() {
    return err.toString(StandardCharsets.UTF_8);
  }

  /** The text's Figure 5: 36 blocks on three nodes, two replicas. */
  private String figure5() throws IOException {
    List<String> lines = new ArrayList<>();
    lines.add("# 36 blocks");
    for (int i = 0; i < 36; ++i) {
      lines.add("128m\tnode" + i % 3 + ",node" + (i + 1) % 3);
    }
    File file = new File(folder, "blocks.tsv");
    Files.write(file.toPath(), lines);
    return file.getPath();
  }

  private String[] fields(String policy) {
    return out()
        .lines()
        .filter(l -> l.startsWith(policy + " "))
        .findFirst()
        .orElseThrow()
        .split("\\s+");
  }

  @Test
  void theTableSaysWhatEachPolicyDoes() throws IOException {
    assertEquals(0, run("explain", "--blocks", figure5(), "--slots", "2"), err());
    assertTrue(out().startsWith("blocks.tsv: 36 blocks, 4.5 GiB, on 3 nodes with 6 slots"), out());
    assertEquals("36", fields("none")[1]);
    assertEquals("6", fields("maximum")[1]);
    assertEquals("21", fields("assorted-strict")[1]);
    assertEquals("768", fields("maximum")[2]);
    assertEquals("100.0%", fields("maximum")[8]);
    assertEquals("100.0%", fields("maximum")[9]);
    assertEquals("6.00", fields("none")[10]);
    // One start and six blocks of 3.85 s, and a little for the spread.
    assertEquals(6.58 + 6 * 3.85, Double.parseDouble(fields("maximum")[11]), 2.5);
    assertTrue(out().contains("auto: maximum promises"), out());
    // All that was considered, and under which costs.
    assertTrue(out().contains("considered"), out());
    assertTrue(out().contains("factoring with batches of 0.7 of the rest"), out());
    assertTrue(out().contains("costs 1: 6.58 s to start a container, 33.2 MiB/s a task"), out());
    assertTrue(out().contains("(costs assumed)"), out());
  }

  @Test
  void jsonHasTheGroups() throws IOException {
    assertEquals(
        0,
        run(
            "explain",
            "--blocks=" + figure5(),
            "--slots=2",
            "--json",
            "--groups",
            "--policy",
            "maximum"),
        err());
    assertTrue(out().contains("\"containers\": 6, \"smallest\": 805306368"), out());
    assertEquals(6, out().split("\"hosts\": \\[\"node").length - 1);
    assertEquals(count('{'), count('}'));
    assertEquals(count('['), count(']'));
  }

  private long count(char c) {
    return out().chars().filter(o -> o == c).count();
  }

  @Test
  void thePictureShowsEachBlockOfEachPolicy() throws Exception {
    File picture = new File(folder, "plan.svg");
    assertEquals(
        0,
        run("explain", "--blocks", figure5(), "--slots", "2", "--picture", picture.getPath()),
        err());
    Document svg = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(picture);
    String text = svg.getDocumentElement().getTextContent();
    for (String shown :
        List.of(
            "none",
            "maximum (the choice of auto)",
            "assorted-strict",
            "node2",
            "start-up of a container",
            "35")) {
      assertTrue(text.contains(shown), shown);
    }
    // Background, legend, then a start-up and a frame a container, and a box a block.
    int containers = 36 + 6 + 21 + 12 + 10 + 18;
    assertEquals(1 + 3 + 2 * containers + 6 * 36, svg.getElementsByTagName("rect").getLength());
  }

  @Test
  void costsChangeTheChoice() throws IOException {
    String blocks = figure5();
    assertEquals(
        0,
        run(
            "explain",
            "--blocks",
            blocks,
            "--slots",
            "2",
            "--start-seconds",
            "0.01",
            "--container-spread",
            "0.8"),
        err());
    assertFalse(out().contains("auto: maximum"), out());
  }

  @Test
  void aPathIsReadByTheDelegate() throws IOException {
    File text = new File(folder, "text");
    Files.write(text.toPath(), new byte[1000]);
    assertEquals(
        0,
        run(
            "explain",
            "-D",
            "fs.defaultFS=file:///",
            "-D",
            "mapreduce.input.fileinputformat.split.maxsize=100",
            "--nodes",
            "localhost=4",
            "--local-fraction",
            "0.5",
            text.toURI().toString()),
        err());
    assertTrue(
        out()
            .contains(
                "by TextInputFormat, any files in a split: there is one input path: 10 blocks,"
                    + " 1000 B, on 1 nodes with 4 slots"),
        out());
    assertEquals("4", fields("maximum")[1]);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "explode",
        "explain",
        "explain --blocks",
        "explain --what",
        "explain --blocks FILE --slots x",
        "explain --blocks FILE --nodes a",
        "history",
        "explain --blocks FILE --slots 0",
        "explain --blocks FILE --ratio 1",
        "explain -D x /path",
        "explain --blocks FILE --policy best",
        "explain --blocks FILE /path",
        "explain --blocks FILE --minimum-bytes 12q",
        "history --jobs 0 FILE",
        "explain -D braid.input.ratio=1 /path"
      })
  void wrongUseExitsWith2AndSaysWhy(String line) throws IOException {
    String[] args = line.isEmpty() ? new String[0] : line.replace("FILE", figure5()).split(" ");
    assertEquals(2, run(args), out());
    assertTrue(err().length() > 20, err());
    assertEquals("", out());
  }

  @Test
  void whatCannotBeDoneExitsWith1() throws IOException {
    assertEquals(1, run("explain", "--blocks", folder + "/none"));
    assertTrue(err().contains("there is no such file: " + folder + "/none"), err());
    File bad = new File(folder, "bad.tsv");
    Files.writeString(bad.toPath(), "128m a\n12x b\n");
    assertEquals(1, run("explain", "--blocks", bad.getPath()));
    assertTrue(err().contains("bad.tsv, line 2: the length needs"), err());
    Files.writeString(bad.toPath(), "# nothing\n");
    assertEquals(1, run("explain", "--blocks", bad.getPath()));
    assertTrue(err().contains("has no blocks"), err());
    assertEquals(1, run("explain", "-D", "fs.defaultFS=file:///", folder.toURI() + "none"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"--help", "explain --help", "history --help", "plan --help"})
  void help(String line) {
    assertEquals(0, run(line.split(" ")), err());
    assertTrue(out().toLowerCase(Locale.ROOT).startsWith("usage: "), out());
  }

  @Test
  void historyPrintsTheKeysForAuto() throws IOException {
    File file = new File(folder, "job.jhist");
    try (HistoryFile history = new HistoryFile(file, "word count")) {
      for (int i = 1; i <= 8; ++i) {
        history.map("n" + i % 2, 0, 2000 + i * 1000, i * 1000, i);
      }
    }
    assertEquals(0, run("history", "--tasks", folder.toURI().toString()), err());
    assertTrue(
        out().contains("\"word count\": 10.5 s, 8 maps, at most 8 at once, 1.00 waves"), out());
    assertTrue(out().contains("braid.input.cost.start-seconds=2.00"), out());
    assertTrue(out().contains("braid.input.cost.bytes-per-second=1000"), out());
    assertEquals(8, out().lines().filter(l -> l.contains("attempt_")).count());
    File text = new File(folder, "blocks");
    Files.writeString(text.toPath(), "1k n0\n1k n1\n");
    assertEquals(
        0, run("explain", "--blocks", text.getPath(), "--history", file.toURI().toString()), err());
    assertTrue(out().contains("Costs: 2.00 s to start a container, 1000 B/s a task"), out());
  }
}
