package io.braid.ycsb;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.testing.Folders;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.Vector;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import site.ycsb.ByteIterator;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/** The client's calls, and YCSB itself with its own check of what it reads. */
class BraidClientTest extends Folders {
  private Path folder;

  @BeforeEach
  void makeFolder() throws IOException {
    folder = folder().toPath();
  }

  private BraidClient client() throws DBException {
    BraidClient client = new BraidClient();
    Properties properties = new Properties();
    properties.setProperty("braid.path", folder.resolve("pool").toString());
    properties.setProperty("braid.set.memory_budget_bytes", "32M");
    client.setProperties(properties);
    client.init();
    return client;
  }

  private static Map<String, ByteIterator> record(String... namesAndValues) {
    Map<String, String> strings = new HashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      strings.put(namesAndValues[i], namesAndValues[i + 1]);
    }
    return StringByteIterator.getByteIteratorMap(strings);
  }

  private static Map<String, String> text(Map<String, ByteIterator> record) {
    return StringByteIterator.getStringMap(record);
  }

  @Test
  void recordsAreReadUpdatedScannedAndDeleted() throws DBException {
    BraidClient client = client();
    BraidClient second = client(); // shares the database
    for (int i = 0; i < 5; ++i) {
      assertEquals(Status.OK, client.insert("t", "k" + i, record("a", "1", "b", "" + i)));
    }
    assertEquals(Status.OK, client.insert("u", "k0", record("a", "other table")));
    client.cleanup();
    Map<String, ByteIterator> result = new HashMap<>();
    assertEquals(Status.OK, second.update("t", "k1", record("a", "new", "c", "3")));
    assertEquals(Status.OK, second.read("t", "k1", null, result));
    assertEquals(Map.of("a", "new", "b", "1", "c", "3"), text(result));
    result.clear();
    assertEquals(Status.OK, second.read("t", "k2", Set.of("b"), result));
    assertEquals(Map.of("b", "2"), text(result));
    Vector<HashMap<String, ByteIterator>> found = new Vector<>();
    assertEquals(Status.OK, second.scan("t", "k3", 10, Set.of("b"), found));
    assertEquals(List.of(Map.of("b", "3"), Map.of("b", "4")),
        found.stream().map(BraidClientTest::text).collect(Collectors.toList()));
    assertEquals(Status.OK, second.delete("t", "k1"));
    assertEquals(Status.NOT_FOUND, second.read("t", "k1", null, result));
    assertEquals(Status.NOT_FOUND, second.update("t", "k1", record("a", "x")));
    second.cleanup();
  }

  @Test
  void withoutAPathItSaysWhatToDo() {
    DBException refused = assertThrows(DBException.class, () -> new BraidClient().init());
    assertTrue(refused.getMessage().contains("braid.path"), refused.getMessage());
  }

  private String ycsb(String... phase) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>(List.of(
        ProcessHandle.current().info().command().orElseThrow(), "-cp",
        System.getProperty("java.class.path"), "site.ycsb.Client", "-db",
        BraidClient.class.getName(), "-p", "workload=site.ycsb.workloads.CoreWorkload", "-p",
        "recordcount=1000", "-p", "operationcount=4000", "-p", "dataintegrity=true", "-p",
        "fieldlengthdistribution=constant", "-p", "readproportion=0.5", "-p",
        "updateproportion=0.3", "-p", "scanproportion=0.1", "-p", "insertproportion=0.1", "-p",
        "braid.path=" + folder.resolve("pool"), "-threads", "3"));
    command.addAll(List.of(phase));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output;
    try (BufferedReader lines = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      output = lines.lines().collect(Collectors.joining("\n"));
    }
    assertEquals(0, process.waitFor(), output);
    return output;
  }

  @Test
  void ycsbRunsOnItAndFindsItsDataIntact() throws Exception {
    String load = ycsb("-load");
    assertTrue(load.contains("[INSERT], Return=OK, 1000"), load);
    String run = ycsb("-t");
    assertTrue(run.contains("[VERIFY], Return=OK"), run);
    assertTrue(run.contains("[SCAN], Return=OK"), run);
    assertTrue(!run.contains("Return=ERROR") && !run.contains("UNEXPECTED_STATE"), run);
  }
}
