package io.braid.hadoop.input;

import io.braid.hadoop.conf.KeyCheck;
import io.braid.hadoop.plan.Plan;
import io.braid.hadoop.plan.PlanForecast;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;

/**
 * Leaves the plan, all that was considered, and the costs of it in the job's configuration, which
 * is written after the splits are made and shown on the job's page. For one thread.
 */
final class PlanPage {
  private final Configuration conf;

  PlanPage(Configuration conf) {
    this.conf = conf;
  }

  /** Forgets what an earlier job with the same configuration left. */
  void clear() {
    List<String> names = new ArrayList<>();
    for (Map.Entry<String, String> property : conf) {
      if (property.getKey().startsWith(KeyCheck.PLAN)) {
        names.add(property.getKey());
      }
    }
    names.forEach(conf::unset);
  }

  void show(Plan plan) {
    conf.set(KeyCheck.PLAN + "policy", plan.policy().label());
    conf.set(KeyCheck.PLAN + "reason", plan.reason());
    for (int i = 0; i < plan.assumptions().size(); ++i) {
      conf.set(KeyCheck.PLAN + "costs." + (i + 1), plan.assumptions().get(i).toString());
    }
    int number = 0;
    for (PlanForecast forecast : plan.forecasts()) {
      StringBuilder text = new StringBuilder();
      text.append(forecast.label())
          .append(": ")
          .append(forecast.containers())
          .append(" containers; seconds by costs 1, 2, ...:");
      for (int i = 0; i < plan.assumptions().size(); ++i) {
        text.append(String.format(Locale.ROOT, "%s %.1f", i == 0 ? "" : ",", forecast.seconds(i)));
      }
      conf.set(
          String.format(Locale.ROOT, "%sforecast.%02d", KeyCheck.PLAN, ++number), text.toString());
    }
  }
}
