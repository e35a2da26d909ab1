package io.braid.hadoop.slots;

import io.braid.hadoop.plan.Block;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.LocalJobRunner;

/**
 * This machine's cores, for LocalJobRunner and for Spark in local mode. LocalJobRunner runs one map
 * at a time unless told otherwise; more splits than that do it no harm, and Spark uses all cores.
 */
final class LocalSlots implements SlotSource {
  private final int slots;

  LocalSlots(Configuration conf) {
    slots =
        Math.max(
            conf.getInt(LocalJobRunner.LOCAL_MAX_MAPS, 1),
            Runtime.getRuntime().availableProcessors());
  }

  @Override
  public Slots slots(List<Block> blocks) {
    return Slots.of(Map.of("localhost", slots), "cores of this machine");
  }
}
