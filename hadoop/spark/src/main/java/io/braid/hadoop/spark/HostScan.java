package io.braid.hadoop.spark;

import java.util.Objects;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.collection.immutable.List;
import scala.collection.immutable.List$;

/**
 * Above Spark's scan of files: its rows, or batches of rows, in other partitions. Public since
 * Spark copies plans by their constructors. Thread safety: as Spark's own plans.
 */
public final class HostScan extends OneChildPlan {
  private static final long serialVersionUID = 1;

  private final SparkPlan scan;
  private final ScanSettings settings;

  /** Of a scan that is not bucketed. */
  public HostScan(SparkPlan scan, ScanSettings settings) {
    this.scan = scan;
    this.settings = settings;
  }

  @Override
  SparkPlan child() {
    return scan;
  }

  @Override
  SparkPlan above(SparkPlan child) {
    return new HostScan(child, settings);
  }

  @Override
  public RDD<InternalRow> doExecute() {
    return Regrouping.of(scan.execute(), InternalRow.class, settings);
  }

  @Override
  public RDD<ColumnarBatch> doExecuteColumnar() {
    return Regrouping.of(scan.executeColumnar(), ColumnarBatch.class, settings);
  }

  @Override
  public boolean supportsColumnar() {
    return scan.supportsColumnar();
  }

  @Override
  public List<Attribute> output() {
    return scan.output().toList();
  }

  @Override
  public List<SparkPlan> children() {
    List<SparkPlan> none = List$.MODULE$.empty();
    return none.$colon$colon(scan);
  }

  @Override
  public String nodeName() {
    return "PartitionsByHost";
  }

  @Override
  public int productArity() {
    return 2;
  }

  @Override
  public Object productElement(int n) {
    return Objects.checkIndex(n, 2) == 0 ? scan : settings;
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof HostScan;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof HostScan
        && scan.equals(((HostScan) other).scan)
        && settings.equals(((HostScan) other).settings);
  }

  @Override
  public int hashCode() {
    return Objects.hash(scan, settings);
  }
}
