package io.braid.hadoop.history;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Order statistics and moments of a few numbers. */
final class Numbers {
  private Numbers() {}

  /** The value below which that part of the numbers lies, the nearest one; 0 of none. */
  static double percentile(List<Double> numbers, double part) {
    if (numbers.isEmpty()) {
      return 0;
    }
    List<Double> sorted = new ArrayList<>(numbers);
    Collections.sort(sorted);
    return sorted.get((int) Math.round(part * (sorted.size() - 1)));
  }

  /** The middle one, or the mean of the two in the middle; 0 of none. */
  static double median(List<Double> numbers) {
    if (numbers.isEmpty()) {
      return 0;
    }
    List<Double> sorted = new ArrayList<>(numbers);
    Collections.sort(sorted);
    int half = sorted.size() / 2;
    double upper = sorted.get(half);
    return sorted.size() % 2 == 1 ? upper : (sorted.get(half - 1) + upper) / 2;
  }

  static double mean(List<Double> numbers) {
    return numbers.stream().mapToDouble(Double::doubleValue).average().orElse(0);
  }

  /** The variance of the numbers' population as the sample tells it; 0 of fewer than two. */
  static double variance(List<Double> numbers) {
    double mean = mean(numbers);
    double squares = numbers.stream().mapToDouble(x -> (x - mean) * (x - mean)).sum();
    return numbers.size() < 2 ? 0 : squares / (numbers.size() - 1);
  }
}
