package io.braid.kafka;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.junit.jupiter.api.AfterEach;

/** State folders of the test's own, in memory where there is some, removed afterwards. */
class Folders {
  private final List<Path> folders = new ArrayList<>();

  File folder() throws IOException {
    String named = System.getenv("BRAID_TMP");
    Path base = Path.of(named != null ? named
        : Files.isWritable(Path.of("/dev/shm")) ? "/dev/shm" : System.getProperty("java.io.tmpdir"));
    Path folder = Files.createTempDirectory(base, "braid-kafka-");
    folders.add(folder);
    return folder.toFile();
  }

  static void delete(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path path : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator) {
        Files.delete(path);
      }
    }
  }

  @AfterEach
  void removeFolders() throws IOException {
    for (Path folder : folders) {
      delete(folder);
    }
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  static Bytes key(String text) {
    return Bytes.wrap(bytes(text));
  }

  static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.ISO_8859_1);
  }

  static String text(Bytes bytes) {
    return text(bytes.get());
  }

  /** As key=value each. */
  static List<String> all(KeyValueIterator<Bytes, byte[]> iterator) {
    List<String> found = new ArrayList<>();
    try (iterator) {
      while (iterator.hasNext()) {
        String peeked = text(iterator.peekNextKey());
        KeyValue<Bytes, byte[]> entry = iterator.next();
        if (!peeked.equals(text(entry.key))) {
          throw new AssertionError("peeked " + peeked + ", got " + text(entry.key));
        }
        found.add(text(entry.key) + "=" + text(entry.value));
      }
    }
    return found;
  }
}
