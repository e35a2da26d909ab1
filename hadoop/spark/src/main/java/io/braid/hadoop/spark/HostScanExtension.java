package io.braid.hadoop.spark;

import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.ColumnarRule;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.internal.SQLConf;
import scala.Function1;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Has each partition of a file scan hold files of one host, where their blocks allow: {@code
 * spark.sql.extensions=io.braid.hadoop.spark.HostScanExtension}. Partitions stay within what
 * spark.sql.files.maxPartitionBytes and spark.sql.files.openCostInBytes allow; rows stay the same
 * ones. Stateless.
 */
public final class HostScanExtension implements Function1<SparkSessionExtensions, BoxedUnit> {
  /** Whether scans are regrouped: true (default) or false; may change within a session. */
  public static final String ENABLED = "spark.braid.scan.enabled";

  /**
   * Which hosts partitions may prefer: those of the {@code executors}, those of the {@code blocks},
   * or {@code auto} (default): the executors' unless they come and go (dynamic allocation).
   */
  public static final String HOSTS = "spark.braid.scan.hosts";

  @Override
  public BoxedUnit apply(SparkSessionExtensions extensions) {
    extensions.injectColumnar(session -> new BeforeColumns());
    return BoxedUnit.UNIT;
  }

  /** Spark asks for such rules last of all, once for each stage. */
  private static final class BeforeColumns extends ColumnarRule {
    @Override
    public Rule<SparkPlan> preColumnarTransitions() {
      return new ReplaceScans();
    }
  }

  private static final class ReplaceScans extends Rule<SparkPlan> {
    @Override
    public SparkPlan apply(SparkPlan plan) {
      SQLConf conf = SQLConf.get();
      if (!conf.getConfString(ENABLED, "true").trim().equalsIgnoreCase("true")) {
        return plan;
      }
      ScanSettings settings = ScanSettings.of(conf);
      return plan.transformUp(new Replace(settings));
    }
  }

  private static final class Replace extends AbstractPartialFunction<SparkPlan, SparkPlan> {
    private final ScanSettings settings;

    Replace(ScanSettings settings) {
      this.settings = settings;
    }

    /** Spark's own scans alone: others' may count on what we do not know; buckets stay together. */
    @Override
    public boolean isDefinedAt(SparkPlan plan) {
      return plan.getClass() == FileSourceScanExec.class
          && !((FileSourceScanExec) plan).bucketedScan();
    }

    @Override
    @SuppressWarnings("unchecked") // what a partial function of plans gives is a plan
    public <A extends SparkPlan, B> B applyOrElse(A plan, Function1<A, B> otherwise) {
      return isDefinedAt(plan)
          ? (B) new HostScan((FileSourceScanExec) plan, settings)
          : otherwise.apply(plan);
    }
  }
}
