package io.braid.hadoop.slots;

import io.braid.hadoop.conf.Key;
import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.plan.Block;
import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.MRConfig;

/** Says how many maps run at once. */
public interface SlotSource {
  /** The slots for a job that reads these blocks. An IOException says why they can't be known. */
  Slots slots(List<Block> blocks) throws IOException, InterruptedException;

  /** The source that the configuration asks for; IllegalArgumentException names a wrong key. */
  static SlotSource of(Configuration conf) {
    switch (Keys.SLOTS.choice(conf)) {
      case "auto":
        return automatic(conf);
      case "static":
        return StaticSlots.of(conf);
      case "yarn":
        return new YarnSlots(conf);
      default:
        return new LocalSlots(conf);
    }
  }

  private static SlotSource automatic(Configuration conf) {
    for (Key key : List.of(Keys.SLOT_HOSTS, Keys.SLOT_NODES)) {
      if (key.isSet(conf)) {
        return StaticSlots.of(conf);
      }
    }
    String framework = conf.get(MRConfig.FRAMEWORK_NAME, MRConfig.LOCAL_FRAMEWORK_NAME);
    return framework.equals(MRConfig.YARN_FRAMEWORK_NAME)
        ? new YarnSlots(conf)
        : new LocalSlots(conf);
  }
}
