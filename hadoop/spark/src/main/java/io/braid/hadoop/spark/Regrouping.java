package io.braid.hadoop.spark;

import io.braid.hadoop.input.HostNames;
import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Group;
import io.braid.hadoop.plan.HostGroups;
import io.braid.hadoop.plan.Node;
import io.braid.hadoop.slots.Slots;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.SparkExecutorInfo;
import org.apache.spark.rdd.MapPartitionsRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * From a scan's partitions as Spark packs them, by size alone, to partitions by host. What can't be
 * bettered, or is not known, stays as Spark has it. For one thread, once.
 */
final class Regrouping {
  private static final Logger LOG = LoggerFactory.getLogger(Regrouping.class);
  private static final AtomicBoolean WARNED = new AtomicBoolean();

  /** Less of a gain in bytes on the preferred host is not worth other partitions. */
  private static final double LEAST_GAIN = 0.01;

  private final FileScanRDD reader;
  private final ScanSettings settings;
  private final List<PartitionedFile> files = new ArrayList<>();

  /** By partition as Spark has it, where its files start in the list of all. */
  private final int[] starts;

  private Regrouping(FileScanRDD reader, ScanSettings settings) {
    this.reader = reader;
    this.settings = settings;
    Partition[] partitions = reader.partitions();
    this.starts = new int[partitions.length + 1];
    for (int p = 0; p < partitions.length; ++p) {
      files.addAll(Arrays.asList(((FilePartition) partitions[p]).files()));
      starts[p + 1] = files.size();
    }
  }

  /** The scan's rows in partitions by host; {@code scan} itself where nothing is to be gained. */
  static <T> RDD<T> of(RDD<T> scan, Class<T> type, ScanSettings settings) {
    try {
      FileScanRDD reader = reader(scan);
      if (reader == null) {
        warnOnce("scans are read by " + scan.getClass().getName(), null);
        return scan;
      }
      Regrouping regrouping = new Regrouping(reader, settings);
      List<Group> groups = regrouping.groups();
      return groups == null ? scan : regrouping.partitions(scan, type, groups);
    } catch (RuntimeException | LinkageError e) {
      // Another Spark than the one that this is made for: its own partitions are always right.
      warnOnce(e.toString(), e);
      return scan;
    }
  }

  /** What opens the files, below steps that take partition by partition; null if it is another. */
  private static FileScanRDD reader(RDD<?> scan) {
    RDD<?> rdd = scan;
    while (rdd instanceof MapPartitionsRDD && rdd.dependencies().size() == 1) {
      rdd = rdd.dependencies().head().rdd();
    }
    return rdd.getClass() == FileScanRDD.class ? (FileScanRDD) rdd : null;
  }

  private static void warnOnce(String reason, Throwable cause) {
    if (!WARNED.getAndSet(true)) {
      LOG.warn(
          "Files are read in Spark's own partitions, not by host (said once, {}=false makes it"
              + " silent): {}",
          HostScanExtension.ENABLED,
          reason);
    }
    LOG.debug("The cause of that", cause);
  }

  /** Null if there is nothing to gain. */
  private List<Group> groups() {
    if (files.size() < starts.length) {
      // A file a partition: each prefers the hosts of its file already.
      return null;
    }
    List<Block> blocks = new ArrayList<>(files.size());
    for (PartitionedFile file : files) {
      blocks.add(new Block(Math.max(0, file.length()), List.of(file.locations())));
    }
    List<Node> nodes = nodes(blocks);
    List<Block> named = HostNames.of(nodes).translated(blocks);
    long before = localBytesOfSpark();
    List<Group> groups = HostGroups.of(named, nodes, mostBytes(), settings.openBytes);
    long after = groups.stream().mapToLong(Group::localLength).sum();
    long all = blocks.stream().mapToLong(Block::length).sum();
    if (after - before <= LEAST_GAIN * all || groups.size() > settings.mostPartitions) {
      LOG.debug("{} files stay in Spark's own {} partitions", files.size(), starts.length - 1);
      return null;
    }
    check(groups);
    LOG.info(
        "{} files in {} partitions by host in place of {}: {} % of {} bytes are on the preferred"
            + " hosts, {} % before; the largest partition has {} bytes, {} before",
        files.size(),
        groups.size(),
        starts.length - 1,
        Math.round(100.0 * after / all),
        all,
        Math.round(100.0 * before / all),
        groups.stream().mapToLong(Group::length).max().orElse(0),
        largestOfSpark());
    return groups;
  }

  private <T> RDD<T> partitions(RDD<T> scan, Class<T> type, List<Group> groups) {
    FilePartition[] partitions = new FilePartition[groups.size()];
    List<List<String>> hosts = new ArrayList<>(groups.size());
    for (int p = 0; p < partitions.length; ++p) {
      Group group = groups.get(p);
      PartitionedFile[] members = new PartitionedFile[group.size()];
      Arrays.setAll(members, i -> files.get(group.block(i)));
      partitions[p] = new FilePartition(p, members);
      hosts.add(group.hosts());
    }
    return new HostPartitions<>(scan, type, partitions, hosts);
  }

  /**
   * What Spark let its own partitions come to, with the open cost of all files but the last, as it
   * counts: the number of cores is in that, too. A file that can't be split may be larger than any
   * partition shall be.
   */
  private long mostBytes() {
    long most = 1;
    for (int p = 0; p + 1 < starts.length; ++p) {
      long bytes = -settings.openBytes;
      for (int i = starts[p]; i < starts[p + 1]; ++i) {
        bytes += files.get(i).length() + settings.openBytes;
      }
      if (bytes <= settings.mostBytes || starts[p + 1] - starts[p] > 1) {
        most = Math.max(most, bytes);
      }
    }
    return most;
  }

  private long largestOfSpark() {
    long largest = 0;
    for (int p = 0; p + 1 < starts.length; ++p) {
      largest =
          Math.max(
              largest,
              files.subList(starts[p], starts[p + 1]).stream()
                  .mapToLong(PartitionedFile::length)
                  .sum());
    }
    return largest;
  }

  /** Of each partition as Spark has it, the bytes of the host that holds most of it. */
  private long localBytesOfSpark() {
    long local = 0;
    for (int p = 0; p + 1 < starts.length; ++p) {
      Map<String, Long> byHost = new HashMap<>();
      for (PartitionedFile file : files.subList(starts[p], starts[p + 1])) {
        for (String host : new HashSet<>(Arrays.asList(file.locations()))) {
          if (!Slots.isHere(host)) {
            byHost.merge(host, file.length(), Long::sum);
          }
        }
      }
      local += byHost.values().stream().mapToLong(Long::longValue).max().orElse(0);
    }
    return local;
  }

  /** The executors by host; the blocks' hosts, where executors start by what they prefer. */
  private List<Node> nodes(List<Block> blocks) {
    SparkContext context = reader.sparkContext();
    Map<String, Integer> slots = new TreeMap<>();
    boolean areExecutors =
        settings.hosts == ScanSettings.Hosts.EXECUTORS
            || settings.hosts == ScanSettings.Hosts.AUTO
                && (context.isLocal()
                    || !context.conf().getBoolean("spark.dynamicAllocation.enabled", false));
    if (areExecutors) {
      String driver = SparkEnv.get().blockManager().blockManagerId().hostPort();
      for (SparkExecutorInfo executor : context.statusTracker().getExecutorInfos()) {
        // The driver is listed too, and runs tasks in local mode alone.
        if (context.isLocal() || !driver.equals(executor.host() + ":" + executor.port())) {
          slots.merge(executor.host(), 1, Integer::sum);
        }
      }
    } else {
      Set<String> hosts = new HashSet<>();
      blocks.forEach(block -> hosts.addAll(block.hosts()));
      hosts.removeIf(Slots::isHere);
      hosts.forEach(host -> slots.put(host, 1));
    }
    List<Node> nodes = new ArrayList<>();
    slots.forEach((host, count) -> nodes.add(new Node(host, count)));
    return nodes;
  }

  /** Partitions that lost or doubled a file would be wrong rows: rather Spark's own. */
  private void check(List<Group> groups) {
    boolean[] seen = new boolean[files.size()];
    int count = 0;
    for (Group group : groups) {
      for (int i = 0; i < group.size(); ++i) {
        if (seen[group.block(i)]) {
          throw new IllegalStateException("a file would be read twice: please report it");
        }
        seen[group.block(i)] = true;
        ++count;
      }
    }
    if (count != seen.length) {
      throw new IllegalStateException("a file would not be read: please report it");
    }
  }
}
