package io.braid.hadoop.plan;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Comparator;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class StableOrderTest {
  @Test
  void equalKeysStayAsTheyWere() {
    for (long seed = 0; seed < 200; ++seed) {
      Random random = new Random(seed);
      int different = 1 + random.nextInt(50);
      long[] keys = new long[random.nextInt(100)];
      for (int i = 0; i < keys.length; ++i) {
        keys[i] = random.nextInt(10) == 0 ? random.nextLong() : random.nextInt(different) - 9;
      }
      int[] expected =
          IntStream.range(0, keys.length)
              .boxed()
              .sorted(Comparator.comparingLong(i -> keys[i]))
              .mapToInt(Integer::intValue)
              .toArray();
      assertArrayEquals(expected, StableOrder.of(keys), "seed " + seed);
    }
  }

  @Test
  void keysOfNumbersAreInTheirOrder() {
    double[] rising = {
      Double.NEGATIVE_INFINITY, -1e300, -2, -1, -1e-9, -0.0, 0.0, 1e-9, 1, 2, 1e300,
      Double.POSITIVE_INFINITY
    };
    for (double a : rising) {
      for (double b : rising) {
        int expected = Double.compare(a, b);
        assertEquals(expected, Long.compare(StableOrder.key(a), StableOrder.key(b)), a + " " + b);
      }
    }
  }
}
