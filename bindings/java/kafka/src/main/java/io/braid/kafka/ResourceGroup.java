package io.braid.kafka;

import io.braid.SharedResources;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.iq80.leveldb.DBException;

/**
 * One budget of memory and one set of background threads for the pools of all KafkaStreams instances
 * of a process that name the same group: made by the first pool that opens, gone with the last. All
 * must agree on the limits, so that it does not matter which one comes first. Any thread.
 */
final class ResourceGroup {
  /** What a group is made of. */
  record Limits(long memoryBudget, int threads) {
    @Override
    public String toString() {
      return BraidConfig.MEMORY_BUDGET + " " + memoryBudget + " and " + BraidConfig.SHARED_THREADS
          + " " + threads;
    }
  }

  private static final Map<String, ResourceGroup> OPEN = new HashMap<>();

  private final String name;
  private final Limits limits;
  private final SharedResources resources;
  private int pools;

  private ResourceGroup(String name, Limits limits) {
    this.name = name;
    this.limits = limits;
    try {
      this.resources = new SharedResources(limits.memoryBudget(), limits.threads());
    } catch (DBException e) {
      throw new ProcessorStateException("the group " + name + " can't be made with " + limits + ": "
          + e.getMessage(), e);
    }
  }

  /** The group of this name, which is made if it is not there. Each is to be released once. */
  static ResourceGroup acquire(String name, Limits limits) {
    synchronized (OPEN) {
      ResourceGroup group = OPEN.get(name);
      if (group == null) {
        group = new ResourceGroup(name, limits);
        OPEN.put(name, group);
      } else if (!group.limits.equals(limits)) {
        throw new ProcessorStateException("the group " + name + " (" + BraidConfig.SHARED_GROUP
            + ") is in use in this process with " + group.limits + ", not with " + limits
            + ": give all its instances the same, or this one another group");
      }
      ++group.pools;
      return group;
    }
  }

  /** After the pool is closed; the last one ends the group. */
  void release() {
    synchronized (OPEN) {
      if (--pools == 0) {
        OPEN.remove(name);
        resources.close();
      }
    }
  }

  SharedResources resources() {
    return resources;
  }
}
