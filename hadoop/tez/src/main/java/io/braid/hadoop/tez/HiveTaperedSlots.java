package io.braid.hadoop.tez;

import java.lang.reflect.Field;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.exec.tez.HiveSplitGenerator;
import org.apache.hadoop.hive.ql.exec.tez.TezAvailableSlotsCalculator;
import org.apache.hadoop.mapred.split.TezMapredSplitsGrouper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has Hive on Tez group its splits by us, by one setting: {@code
 * hive.splits.available.slots.calculator.class.name}. Hive asks the class of that name for the
 * number of slots just before it groups, and hands it the generator of splits; the number stays
 * Hive's own. All else (pruning of partitions and buckets, borders of schemas, sizes of columns,
 * LLAP's places) stays Hive's too. Where its generator looks other than in Hive 4.0, its own groups
 * stay, with a warning. Called by Hive alone.
 */
public class HiveTaperedSlots extends TezAvailableSlotsCalculator {
  private static final Logger LOG = LoggerFactory.getLogger(HiveTaperedSlots.class);

  @Override
  public void initialize(Configuration conf, HiveSplitGenerator generator) {
    super.initialize(conf, generator);
    try {
      // Hive has no plug point for it: its grouper holds Tez's, which we take the place of.
      Object grouper = field(HiveSplitGenerator.class, "splitGrouper").get(generator);
      Field of = field(grouper.getClass(), "tezGrouper");
      if (of.getType() != TezMapredSplitsGrouper.class) {
        throw new NoSuchFieldException("tezGrouper is a " + of.getType().getName());
      }
      of.set(grouper, new TaperedMapredGrouper());
    } catch (ReflectiveOperationException | RuntimeException e) {
      LOG.warn("Hive's splits stay in Tez's own groups, this is another Hive: {}", e.toString());
    }
  }

  private static Field field(Class<?> type, String name) throws NoSuchFieldException {
    Field field = type.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }
}
