package io.braid.hadoop.history;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.Main;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.zip.GZIPInputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The history file that a real cluster's application master left, against what the JobHistoryServer
 * answered about the same job.
 */
class RecordedHistoryTest {
  @TempDir File folder;
  private File file;
  private JobTimes job;
  private List<String[]> answered;

  private static InputStream resource(String name) {
    return RecordedHistoryTest.class.getResourceAsStream("/history/" + name);
  }

  @BeforeEach
  void unpack() throws IOException {
    file = new File(folder, "wordcount.jhist");
    try (InputStream in = new GZIPInputStream(resource("wordcount.jhist.gz"))) {
      Files.copy(in, file.toPath());
    }
    job = HistoryReader.read(new Configuration(false), new Path(file.toURI()));
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(resource("wordcount.rest"), StandardCharsets.UTF_8))) {
      answered =
          lines
              .lines()
              .filter(line -> !line.startsWith("#"))
              .map(line -> line.split(" "))
              .collect(Collectors.toList());
    }
  }

  @Test
  void theMapsAreTheServers() {
    assertEquals("word count", job.name());
    assertEquals((1795302067122L - 1795302015242L) / 1e3, job.seconds(), 1e-9);
    assertEquals(12, answered.size());
    assertEquals(answered.size(), job.maps().size());
    for (int i = 0; i < answered.size(); ++i) {
      MapTime map = job.maps().get(i);
      String[] line = answered.get(i);
      assertEquals(line[0], map.id());
      assertEquals(line[1].split(":")[0], map.host());
      assertEquals(Long.parseLong(line[2]), map.launched());
      assertEquals(Long.parseLong(line[3]), map.finished());
      assertEquals(Long.parseLong(line[4]) / 1e3, map.seconds(), 1e-9);
      assertEquals(Long.parseLong(line[5]), map.bytes());
      assertEquals(Long.parseLong(line[6]), map.blocks());
    }
  }

  @Test
  void startUpIsWhatTheTasksLogsSay() {
    List<Double> logged = new ArrayList<>();
    for (int i = 0; i < answered.size(); ++i) {
      double start = Double.parseDouble(answered.get(i)[7]);
      logged.add(start);
      // Opening the file comes after the log's line, and is start-up.
      double counted = job.maps().get(i).startSeconds();
      assertTrue(counted > start && counted < start + 1, counted + " counted, logged " + start);
    }
    StartUp start = StartUp.of(job.maps());
    assertEquals("as the tasks counted", start.method);
    assertEquals(Numbers.median(logged), start.seconds, 0.5);
  }

  @Test
  void theCommandSaysSo() {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
    assertEquals(0, Main.run(List.of("history", file.toString()), out, out));
    String text = bytes.toString(StandardCharsets.UTF_8);
    assertTrue(
        text.contains("\"word count\": 51.9 s, 12 maps, at most 8 at once, 1.50 waves"), text);
    assertTrue(text.contains("start-up 15.40 s a container (as the tasks counted)"), text);
    assertTrue(text.contains("braid.input.cost.start-seconds=16.26"), text);
  }
}
