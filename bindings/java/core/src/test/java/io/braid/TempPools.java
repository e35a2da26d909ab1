package io.braid;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;

/** Pools in a folder of the test's own, in memory where there is some, removed afterwards. */
class TempPools {
  private final List<Path> folders = new ArrayList<>();

  File pool() throws IOException {
    String named = System.getenv("BRAID_TMP");
    Path base = Path.of(named != null ? named
        : Files.isWritable(Path.of("/dev/shm")) ? "/dev/shm" : System.getProperty("java.io.tmpdir"));
    Path folder = Files.createTempDirectory(base, "braid-java-");
    folders.add(folder);
    return folder.resolve("pool").toFile();
  }

  static BraidOptions small() {
    BraidOptions options = new BraidOptions();
    options.set("memory_budget_bytes", "32M").set("memtable.bytes", "256K");
    return options;
  }

  BraidDB open(File path) throws IOException {
    return BraidFactory.factory.open(path, small());
  }

  static byte[] bytes(String text) {
    return text.getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }

  static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
  }

  @AfterEach
  void removeFolders() throws IOException {
    for (Path folder : folders) {
      try (Stream<Path> all = Files.walk(folder)) {
        for (Path path : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator) {
          Files.delete(path);
        }
      }
    }
  }
}
