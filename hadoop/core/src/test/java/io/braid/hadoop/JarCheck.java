package io.braid.hadoop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The one jar that a cluster gets holds our classes alone, and they need nothing but Hadoop. */
class JarCheck {
  /** Names of classes as they stand in a class file's constants. */
  private static final Pattern REFERENCE =
      Pattern.compile("(?<!java/|java/n|javax/|\\.)(?:org|com|io|net)/[\\w/$]+");

  private static final List<String> THERE =
      List.of("io/braid/hadoop/", "org/apache/hadoop/", "org/slf4j/");

  /** What of org.apache.hadoop exists only inside the shaded client jars. */
  private static final String SHADED = "org/apache/hadoop/shaded/";

  private static JarFile jar() throws IOException {
    return new JarFile(System.getProperty("braid.jar"));
  }

  @Test
  void holdsOurClassesAlone() throws Exception {
    try (JarFile jar = jar()) {
      List<String> names = jar.stream().map(JarEntry::getName).collect(Collectors.toList());
      assertTrue(names.contains("io/braid/hadoop/mapreduce/CoalescingInputFormat.class"));
      assertTrue(names.contains("io/braid/hadoop/mapred/CoalescingInputFormat.class"));
      assertTrue(names.contains("META-INF/LICENSE"));
      for (String name : names) {
        assertTrue(
            name.startsWith("io/braid/hadoop/")
                || name.startsWith("META-INF/")
                || name.equals("io/")
                || name.equals("io/braid/"),
            name);
        assertFalse(name.startsWith("io/braid/hadoop/sim/"), name);
      }
    }
  }

  @Test
  void needsNothingButHadoop() throws Exception {
    Set<String> foreign = new TreeSet<>();
    try (JarFile jar = jar()) {
      for (JarEntry entry : jar.stream().collect(Collectors.toList())) {
        if (!entry.getName().endsWith(".class")) {
          continue;
        }
        String constants = new String(jar.getInputStream(entry).readAllBytes(), "ISO-8859-1");
        Matcher matcher = REFERENCE.matcher(constants);
        while (matcher.find()) {
          String name = matcher.group();
          if (THERE.stream().noneMatch(name::startsWith) || name.startsWith(SHADED)) {
            foreign.add(name + " in " + entry.getName());
          }
        }
      }
    }
    assertEquals(Set.of(), foreign);
  }
}
