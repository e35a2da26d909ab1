package io.braid.hadoop.slots;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonConfigurationKeysPublic;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.records.NodeReport;
import org.apache.hadoop.yarn.api.records.QueueConfigurations;
import org.apache.hadoop.yarn.api.records.QueueInfo;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;

/** Asks a ResourceManager. For one thread; to be closed. */
final class YarnConnection implements YarnCluster, AutoCloseable {
  private static final String ROOT = "root";

  private final YarnClient client;
  private final String queueName;
  private final String mapLabel;

  /** Does not retry for longer than {@code millis}, as YARN's clients would for a quarter hour. */
  YarnConnection(Configuration conf, int millis) throws IOException {
    YarnConfiguration impatient = new YarnConfiguration(conf);
    impatient.setLong(YarnConfiguration.RESOURCEMANAGER_CONNECT_MAX_WAIT_MS, millis);
    impatient.setLong(
        YarnConfiguration.RESOURCEMANAGER_CONNECT_RETRY_INTERVAL_MS,
        Math.max(1, Math.min(1000, millis / 4)));
    impatient.setInt(CommonConfigurationKeysPublic.IPC_CLIENT_CONNECT_MAX_RETRIES_KEY, 1);
    // The timeline service has nothing to do with it, and its client may need further jars.
    impatient.setBoolean(YarnConfiguration.TIMELINE_SERVICE_ENABLED, false);
    UserGroupInformation user = UserGroupInformation.getCurrentUser();
    queueName =
        QueueMapping.queue(
            conf,
            conf.get(JobContext.QUEUE_NAME, "default"),
            user.getShortUserName(),
            List.of(user.getGroupNames()));
    mapLabel = YarnSlots.mapLabel(conf);
    client = YarnClient.createYarnClient();
    client.init(impatient);
    client.start();
  }

  @Override
  public void close() {
    client.stop();
  }

  @Override
  public List<NodeState> nodes() throws IOException {
    List<NodeState> nodes = new ArrayList<>();
    for (NodeReport report : reports()) {
      Resource used = report.getUsed();
      Resource capability = report.getCapability();
      Set<String> labels = report.getNodeLabels();
      nodes.add(
          new NodeState(
              report.getNodeId().getHost(),
              capability.getMemorySize(),
              capability.getVirtualCores(),
              used == null ? 0 : used.getMemorySize(),
              used == null ? 0 : used.getVirtualCores(),
              labels == null ? Set.of() : labels));
    }
    return nodes;
  }

  private List<NodeReport> reports() throws IOException {
    try {
      return client.getNodeReports(org.apache.hadoop.yarn.api.records.NodeState.RUNNING);
    } catch (YarnException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  @Override
  public QueueState queue() throws IOException {
    QueueInfo queue = nearest();
    if (queue == null) {
      throw new IOException(
          "there is neither a queue \""
              + queueName
              + "\" ("
              + JobContext.QUEUE_NAME
              + ") nor one above it");
    }
    String standard = queue.getDefaultNodeLabelExpression();
    String label = standard == null ? "" : standard.trim();
    QueueConfigurations partition = partition(queue, mapLabel == null ? label : mapLabel);
    double maximum =
        partition == null
            ? share(queue, QueueInfo::getMaximumCapacity)
            : part(partition.getAbsoluteMaxCapacity());
    double capacity =
        partition == null ? share(queue, QueueInfo::getCapacity) : partition.getAbsoluteCapacity();
    return new QueueState(
        maximum,
        capacity > 0 && capacity < 1 ? capacity : 0,
        maximumMemory(queue),
        label,
        schedulerOf(queue),
        pathOf(queue));
  }

  /** What the capacity scheduler says of the queue's part of the nodes with a label. */
  private static QueueConfigurations partition(QueueInfo queue, String label) {
    Map<String, QueueConfigurations> partitions = queue.getQueueConfigurations();
    QueueConfigurations partition = partitions == null ? null : partitions.get(label);
    return partition == null || partition.getAbsoluteMaxCapacity() <= 0 ? null : partition;
  }

  /**
   * The job's queue, or the nearest above it. Schedulers make some queues with their first job (the
   * fair scheduler even "default"); such a queue may have what the one above it may.
   */
  private QueueInfo nearest() throws IOException {
    String name = queueName;
    QueueInfo queue = info(name);
    while (queue == null && !name.equals(ROOT)) {
      int dot = name.lastIndexOf('.');
      name = dot > 0 ? name.substring(0, dot) : ROOT;
      queue = info(name);
    }
    return queue;
  }

  private QueueInfo info(String name) throws IOException {
    try {
      return client.getQueueInfo(name);
    } catch (YarnException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /** Of the whole cluster: a queue's own figure is a part of its parent. */
  private double share(QueueInfo queue, ToDoubleFunction<QueueInfo> figure) throws IOException {
    double product = part(figure.applyAsDouble(queue));
    String scheduler = schedulerOf(queue);
    if (scheduler != null && scheduler.toLowerCase(Locale.ROOT).contains("fair")) {
      return product; // the fair scheduler's is one of the cluster already
    }
    String path = pathOf(queue);
    for (int dot = path.lastIndexOf('.'); dot > 0; dot = path.lastIndexOf('.')) {
      path = path.substring(0, dot);
      QueueInfo parent = info(path);
      if (parent == null) {
        break;
      }
      product *= part(figure.applyAsDouble(parent));
    }
    return product;
  }

  /** Schedulers write no limit as 0, as -1, as NaN or as more than everything. */
  private static double part(double share) {
    return share > 0 && share < 1 ? share : 1;
  }

  /** The fair scheduler's limit is an amount; Hadoop 3.3 does not tell it. */
  private static long maximumMemory(QueueInfo queue) {
    try {
      return Math.max(0, queue.getMaxResourceMemory());
    } catch (NoSuchMethodError e) {
      return 0;
    }
  }

  /** Hadoop 3.3 does not tell the path: then the queue is taken for one below the root. */
  private static String pathOf(QueueInfo queue) {
    try {
      return queue.getQueuePath() == null ? "" : queue.getQueuePath();
    } catch (NoSuchMethodError e) {
      return "";
    }
  }

  /** Hadoop 3.3 does not tell the scheduler. */
  private static String schedulerOf(QueueInfo queue) {
    try {
      String type = queue.getSchedulerType();
      return type == null || type.isEmpty() ? null : type;
    } catch (NoSuchMethodError e) {
      return null;
    }
  }
}
