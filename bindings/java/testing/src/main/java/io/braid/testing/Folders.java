package io.braid.testing;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;

/** For tests to extend: folders of a test's own, in memory where there is some, removed afterwards. */
public class Folders {
  private final List<Path> folders = new ArrayList<>();

  protected Folders() {}

  /** Where scratch data go: BRAID_TMP, else memory, else the JVM's folder for such. */
  public static Path scratch() {
    String named = System.getenv("BRAID_TMP");
    return Path.of(named != null ? named
        : Files.isWritable(Path.of("/dev/shm")) ? "/dev/shm" : System.getProperty("java.io.tmpdir"));
  }

  protected final File folder() throws IOException {
    Path folder = Files.createTempDirectory(scratch(), "braid-java-");
    folders.add(folder);
    return folder.toFile();
  }

  /** Removes a folder and all in it. */
  public static void delete(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path path : (Iterable<Path>) all.sorted(Comparator.reverseOrder())::iterator) {
        Files.delete(path);
      }
    }
  }

  @AfterEach
  protected final void removeFolders() throws IOException {
    for (Path folder : folders) {
      delete(folder);
    }
    folders.clear();
  }

  /** Whether a test may take minutes. */
  public static boolean isNight() {
    return "night".equals(System.getenv("BRAID_TEST_SIZE"));
  }

  /** That of BRAID_SEED, or a new one: what a random test prints when it fails. */
  public static long seed() {
    String named = System.getenv("BRAID_SEED");
    return named == null ? System.nanoTime() : Long.parseLong(named);
  }

  /** A byte for each character, so that any bytes have a text. */
  public static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  public static String text(byte[] bytes) {
    return bytes == null ? null : new String(bytes, StandardCharsets.ISO_8859_1);
  }
}
