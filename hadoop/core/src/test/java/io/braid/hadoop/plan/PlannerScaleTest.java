package io.braid.hadoop.plan;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.sun.management.OperatingSystemMXBean;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A million blocks on 1,000 nodes in less than 10 s of processor in a Java machine of its own with a
 * heap of 1 GiB. Beside other work caches and memory are shared, and 3.5 s have become 5.3: a
 * planner that is too slow is so three times in a row.
 */
class PlannerScaleTest {
  @ParameterizedTest
  @ValueSource(ints = {3, 0})
  void aMillionBlocks(int replicas) throws Exception {
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (isFast(replicas)) {
        return;
      }
    }
    fail("a policy took more than " + Million.MOST_SECONDS + " s, three times in a row");
  }

  private static boolean isFast(int replicas) throws Exception {
    String java =
        System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
    File output = File.createTempFile("braid-scale", ".txt");
    try {
      Process process =
          new ProcessBuilder(
                  java,
                  "-Xmx1g",
                  "-cp",
                  System.getProperty("java.class.path"),
                  Million.class.getName(),
                  Integer.toString(replicas))
              .redirectErrorStream(true)
              .redirectOutput(output)
              .start();
      assertTrue(process.waitFor(5, TimeUnit.MINUTES), "still at it after 5 minutes");
      String text = Files.readString(output.toPath(), StandardCharsets.UTF_8);
      System.out.print(text);
      int exit = process.exitValue();
      assertTrue(exit == 0 || exit == Million.TOO_SLOW, text);
      return exit == 0;
    } finally {
      assertTrue(output.delete());
    }
  }

  /**
   * The other Java machine's program; plans by each policy and exits with TOO_SLOW when one takes too
   * long.
   */
  static final class Million {
    static final double MOST_SECONDS = 10;
    static final int TOO_SLOW = 3; // 1 is that of an exception

    public static void main(String[] args) {
      Inputs in =
          Inputs.even(args[0].equals("0") ? 0 : 1_000_000, 1000, 8, Integer.parseInt(args[0]), 7);
      for (int i = in.blocks.size(); i < 1_000_000; ++i) {
        in.blocks.add(new Block(128 * Inputs.MIB, List.of()));
      }
      OperatingSystemMXBean system =
          (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
      List<String> slow = new ArrayList<>();
      for (Policy policy : Policy.values()) {
        long start = system.getProcessCpuTime();
        long wall = System.nanoTime();
        Plan plan = Planner.plan(in.blocks, in.nodes, PlanSettings.DEFAULTS.withPolicy(policy));
        double seconds = (system.getProcessCpuTime() - start) / 1e9;
        System.out.printf(
            "%s, %s replicas: %d groups, %.2f s of processor, %.2f s by the clock%n",
            policy.label(),
            args[0],
            plan.groups().size(),
            seconds,
            (System.nanoTime() - wall) / 1e9);
        if (seconds > MOST_SECONDS) {
          slow.add(policy.label());
        }
      }
      System.exit(slow.isEmpty() ? 0 : TOO_SLOW);
    }
  }
}
