package io.braid.hadoop.plan;

/**
 * What a plan that {@link Policy#AUTO} considered promises: seconds under each of the costs of
 * {@link Plan#assumptions}. Immutable.
 */
public final class PlanForecast {
  private final String label;
  private final int containers;
  private final double[] seconds;

  PlanForecast(String label, int containers, double[] seconds) {
    this.label = label;
    this.containers = containers;
    this.seconds = seconds.clone();
  }

  /** The policy, and what it was given. */
  public String label() {
    return label;
  }

  public int containers() {
    return containers;
  }

  /** Of the map phase, under the i-th costs. */
  public double seconds(int i) {
    return seconds[i];
  }

  /** How many times as long as the quickest it takes, on average over the costs. */
  double regret(double[] least) {
    double sum = 0;
    for (int i = 0; i < least.length; ++i) {
      sum += least[i] == 0 ? 1 : seconds[i] / least[i];
    }
    return sum / least.length;
  }
}
