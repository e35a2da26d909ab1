package io.braid.hadoop.spark;

import java.util.List;
import org.apache.spark.Partition;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.datasources.FilePartition;
import scala.collection.Iterator;
import scala.collection.immutable.List$;
import scala.collection.immutable.Seq;
import scala.reflect.ClassTag$;

/** What Spark's own scan reads, in other partitions, which know where to run. */
final class HostPartitions<T> extends RDD<T> {
  private static final long serialVersionUID = 1;

  /** It reads any files that it is given; its own partitions stay behind on the driver. */
  private final RDD<T> scan;

  private final transient FilePartition[] partitions;
  private final transient List<List<String>> hosts;

  /** {@code hosts} of each partition, the best first; the partitions are numbered from 0. */
  HostPartitions(
      RDD<T> scan, Class<T> type, FilePartition[] partitions, List<List<String>> hosts) {
    super(scan.sparkContext(), List$.MODULE$.empty(), ClassTag$.MODULE$.apply(type));
    this.scan = scan;
    this.partitions = partitions;
    this.hosts = hosts;
  }

  @Override
  public Partition[] getPartitions() {
    return partitions.clone();
  }

  @Override
  public Seq<String> getPreferredLocations(Partition partition) {
    scala.collection.immutable.List<String> names = List$.MODULE$.empty();
    List<String> wanted = hosts.get(partition.index());
    for (int i = wanted.size() - 1; i >= 0; --i) {
      names = names.$colon$colon(wanted.get(i));
    }
    return names;
  }

  @Override
  public Iterator<T> compute(Partition partition, TaskContext context) {
    return scan.compute(partition, context);
  }
}
