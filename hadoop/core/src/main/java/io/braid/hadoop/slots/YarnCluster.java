package io.braid.hadoop.slots;

import java.io.IOException;
import java.util.List;
import java.util.Set;

/** What of a YARN cluster decides how many maps run at once. The tests have their own. */
interface YarnCluster {
  /** Nodes that run, by host and port: several may share a host. */
  List<NodeState> nodes() throws IOException;

  /** The job's queue. */
  QueueState queue() throws IOException;

  /** One NodeManager. Immutable. */
  final class NodeState {
    final String host;
    final long memory;
    final long vcores;
    final long usedMemory;
    final long usedVcores;
    final Set<String> labels;

    NodeState(
        String host,
        long memory,
        long vcores,
        long usedMemory,
        long usedVcores,
        Set<String> labels) {
      this.host = host;
      this.memory = memory;
      this.vcores = vcores;
      this.usedMemory = usedMemory;
      this.usedVcores = usedVcores;
      this.labels = labels;
    }
  }

  /** The queue's part of the cluster. Immutable. */
  final class QueueState {
    /** From 0 to 1, of the whole cluster: what the queue may grow to. */
    final double maximumShare;

    /** From 0 to 1, of the whole cluster: what the queue is guaranteed; 0 when not known. */
    final double capacityShare;

    /** Megabytes; 0 when the scheduler does not say. */
    final long maximumMemory;

    /** The label that the queue's containers ask for; empty when none. */
    final String label;

    /** Null when the ResourceManager does not say which scheduler runs. */
    final String scheduler;

    /** From the root to the queue, divided by dots; empty when the ResourceManager does not say. */
    final String path;

    QueueState(
        double maximumShare,
        double capacityShare,
        long maximumMemory,
        String label,
        String scheduler,
        String path) {
      this.maximumShare = maximumShare;
      this.capacityShare = capacityShare;
      this.path = path;
      this.maximumMemory = maximumMemory;
      this.label = label;
      this.scheduler = scheduler;
    }
  }
}
