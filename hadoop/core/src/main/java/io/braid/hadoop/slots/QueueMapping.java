package io.braid.hadoop.slots;

import java.util.List;
import org.apache.hadoop.conf.Configuration;

/**
 * The queue to which the capacity scheduler sends a job that names none, as far as the client can
 * know: by yarn.scheduler.capacity.queue-mappings in capacity-scheduler.xml. Stateless.
 */
final class QueueMapping {
  private static final String MAPPINGS = "yarn.scheduler.capacity.queue-mappings";
  private static final String OVERRIDE = "yarn.scheduler.capacity.queue-mappings-override.enable";
  private static final String DEFAULT = "default";

  private QueueMapping() {}

  /** The queue for that user's job, which asks for {@code queue}; the first mapping that fits. */
  static String queue(Configuration conf, String queue, String user, List<String> groups) {
    if (!queue.equals(DEFAULT) && !conf.getBoolean(OVERRIDE, false)) {
      return queue;
    }
    for (String mapping : conf.getTrimmedStrings(MAPPINGS)) {
      String[] parts = mapping.split(":");
      if (parts.length != 3) {
        continue;
      }
      boolean isOfUser =
          parts[0].equals("u") && (parts[1].equals("%user") || parts[1].equals(user));
      boolean isOfGroup = parts[0].equals("g") && groups.contains(parts[1]);
      String target = parts[2].replace("%user", user);
      if (target.contains("%primary_group") && !groups.isEmpty()) {
        target = target.replace("%primary_group", groups.get(0));
      }
      // What is left of other patterns depends on which queues there are.
      if ((isOfUser || isOfGroup) && !target.contains("%")) {
        return target;
      }
    }
    return queue;
  }
}
