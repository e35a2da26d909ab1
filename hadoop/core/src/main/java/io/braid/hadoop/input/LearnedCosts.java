package io.braid.hadoop.input;

import io.braid.hadoop.conf.InputSettings;
import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.history.CostsFromHistory;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Policy;
import io.braid.hadoop.slots.TimeLimit;
import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.MRConfig;
import org.apache.hadoop.security.UserGroupInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The costs of finished jobs for policy auto, as far as they can be had in time. Immutable. */
final class LearnedCosts {
  private static final Logger LOG = LoggerFactory.getLogger(LearnedCosts.class);

  private final Configuration conf;
  private final String source;
  private final String jobName;
  private final int millis;

  LearnedCosts(Configuration conf) {
    this.conf = conf;
    this.source = Keys.COST_HISTORY.text(conf);
    this.jobName = conf.get(JobContext.JOB_NAME);
    this.millis = Keys.COST_HISTORY_TIMEOUT.whole(conf);
  }

  /** The settings with these costs where the user set none; as they are if there is no history. */
  PlanSettings in(PlanSettings settings) throws InterruptedException {
    boolean isAutomatic = source.equalsIgnoreCase("auto");
    if (settings.policy() != Policy.AUTO
        || source.equalsIgnoreCase("none")
        || (isAutomatic && !isYarn())) {
      return settings;
    }
    try {
      CostsFromHistory history =
          isAutomatic ? ofOwnJobs() : CostsFromHistory.of(conf, new Path(source), jobName, millis);
      if (history == null) {
        return settings;
      }
      PlanSettings learned = settings.withCosts(InputSettings.costs(conf, history.costs()));
      LOG.info(
          "Costs for policy auto: {} s of start-up, {} bytes a second, {} s to open a block "
              + "({})",
          String.format(Locale.ROOT, "%.2f", learned.costs().startSeconds()),
          Math.round(learned.costs().bytesPerSecond()),
          String.format(Locale.ROOT, "%.3f", learned.costs().openSeconds()),
          history.origin());
      return learned;
    } catch (IOException | RuntimeException | LinkageError e) {
      String reason = e.getMessage() != null ? e.getMessage() : e.toString();
      if (isAutomatic) {
        LOG.info("Policy auto plans without a history of this user's jobs: {}", reason);
      } else {
        LOG.warn(
            "Policy auto plans without the job history {} ({}): {}",
            source,
            Keys.COST_HISTORY.name(),
            reason);
      }
      return settings;
    }
  }

  private boolean isYarn() {
    return conf.get(MRConfig.FRAMEWORK_NAME, MRConfig.LOCAL_FRAMEWORK_NAME)
        .equals(MRConfig.YARN_FRAMEWORK_NAME);
  }

  private CostsFromHistory ofOwnJobs() throws IOException, InterruptedException {
    if (jobName == null || jobName.isEmpty()) {
      return null;
    }
    UserGroupInformation user = UserGroupInformation.getCurrentUser();
    PrivilegedExceptionAction<CostsFromHistory> ask =
        () -> CostsFromHistory.ofOwnJobs(conf, jobName);
    return TimeLimit.call(
        () -> user.doAs(ask),
        millis,
        "the JobHistoryServer (" + Keys.COST_HISTORY_TIMEOUT.name() + " is its time limit)");
  }
}
