package io.braid;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;

/**
 * What calls cost, in nanoseconds: `java -cp ... io.braid.CallCost [records]`, best of five rounds,
 * one thread, keys and values of 8 bytes. The design "blackhole" stores nothing, so with it a put
 * is the cost of the binding.
 */
final class CallCost extends TempPools {
  private static final int ROUNDS = 5;

  private interface Calls {
    long run(int count);
  }

  private CallCost() {}

  private static void measure(String what, int count, Calls calls) {
    double best = Double.MAX_VALUE;
    long sum = 0;
    for (int round = 0; round < ROUNDS; ++round) {
      long begin = System.nanoTime();
      sum += calls.run(count);
      best = Math.min(best, (System.nanoTime() - begin) / (double) count);
    }
    System.out.printf("%-28s %7.0f ns a call (%d)%n", what, best, sum);
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putLong(i * 0x9E3779B97F4A7C15L).array();
  }

  private void all(String design, int count) throws IOException {
    byte[] value = new byte[8];
    try (BraidDB db = BraidFactory.factory.open(pool(), new BraidOptions().design(design))) {
      measure(design + " put", count, n -> {
        for (int i = 0; i < n; ++i) {
          db.put(key(i), value);
        }
        return n;
      });
      measure(design + " get", count, n -> {
        long found = 0;
        for (int i = 0; i < n; ++i) {
          found += db.get(key(i)) != null ? 1 : 0;
        }
        return found;
      });
      measure(design + " multiGet of 32, a key", count, n -> {
        long found = 0;
        byte[][] keys = new byte[32][];
        for (int i = 0; i + 32 <= n; i += 32) {
          for (int k = 0; k < 32; ++k) {
            keys[k] = key(i + k);
          }
          found += db.multiGet(Arrays.asList(keys))[0] != null ? 1 : 0;
        }
        return found;
      });
      measure(design + " next", count, n -> {
        long bytes = 0;
        for (Map.Entry<byte[], byte[]> entry : db) {
          bytes += entry.getKey().length;
        }
        return bytes;
      });
    } finally {
      removeFolders();
    }
  }

  public static void main(String[] arguments) throws IOException {
    int count = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1_000_000;
    new CallCost().all("blackhole", count);
    new CallCost().all("braid", count);
  }
}
