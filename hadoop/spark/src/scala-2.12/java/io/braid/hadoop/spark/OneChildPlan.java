package io.braid.hadoop.spark;

import org.apache.spark.sql.execution.SparkPlan;
import scala.Option;
import scala.collection.IndexedSeq;
import scala.collection.Seq;

/** A plan above another one: what is called otherwise in Scala 2.12. */
abstract class OneChildPlan extends SparkPlan {
  private static final long serialVersionUID = 1;

  abstract SparkPlan child();

  /** The same plan above another one. */
  abstract SparkPlan above(SparkPlan child);

  /** Which classes of vectors there are: generated code is faster for those it knows. */
  @Override
  public Option<Seq<String>> vectorTypes() {
    return child().vectorTypes();
  }

  @Override
  public SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return above(children.apply(0));
  }
}
