package io.braid.hadoop.slots;

import io.braid.hadoop.conf.Keys;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * What a container takes of a node once the scheduler has rounded it up. Immutable. The steps are
 * those of the client's configuration: the ResourceManager tells them to application masters only.
 */
final class ContainerSize {
  private static final String FAIR_MEMORY_STEP =
      "yarn.resource-types.memory-mb.increment-allocation";
  private static final String FAIR_MEMORY_STEP_OLD = "yarn.scheduler.increment-allocation-mb";
  private static final String FAIR_VCORES_STEP = "yarn.resource-types.vcores.increment-allocation";
  private static final String FAIR_VCORES_STEP_OLD = "yarn.scheduler.increment-allocation-vcores";
  private static final String CALCULATOR = "yarn.scheduler.capacity.resource-calculator";

  private final long memory;
  private final long vcores;

  private ContainerSize(long memory, long vcores) {
    this.memory = memory;
    this.vcores = vcores;
  }

  /** Of a map task. */
  static ContainerSize ofMap(Configuration conf, boolean isFair) {
    return of(
        conf,
        isFair,
        new JobConf(conf).getMemoryRequired(TaskType.MAP),
        conf.getInt(MRJobConfig.MAP_CPU_VCORES, MRJobConfig.DEFAULT_MAP_CPU_VCORES));
  }

  /** Of the application master. */
  static ContainerSize ofMaster(Configuration conf, boolean isFair) {
    return of(
        conf,
        isFair,
        conf.getInt(MRJobConfig.MR_AM_VMEM_MB, MRJobConfig.DEFAULT_MR_AM_VMEM_MB),
        conf.getInt(MRJobConfig.MR_AM_CPU_VCORES, MRJobConfig.DEFAULT_MR_AM_CPU_VCORES));
  }

  private static ContainerSize of(Configuration conf, boolean isFair, long memory, long vcores) {
    int least =
        conf.getInt(
            YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_MB,
            YarnConfiguration.DEFAULT_RM_SCHEDULER_MINIMUM_ALLOCATION_MB);
    int leastVcores =
        conf.getInt(
            YarnConfiguration.RM_SCHEDULER_MINIMUM_ALLOCATION_VCORES,
            YarnConfiguration.DEFAULT_RM_SCHEDULER_MINIMUM_ALLOCATION_VCORES);
    int step = least;
    int stepVcores = leastVcores;
    if (isFair) {
      step = conf.getInt(FAIR_MEMORY_STEP, conf.getInt(FAIR_MEMORY_STEP_OLD, 1024));
      stepVcores = conf.getInt(FAIR_VCORES_STEP, conf.getInt(FAIR_VCORES_STEP_OLD, 1));
    }
    return new ContainerSize(
        rounded(memory, least, step), rounded(vcores, leastVcores, stepVcores));
  }

  private static long rounded(long wanted, long least, long step) {
    long atLeast = Math.max(1, Math.max(wanted, least));
    return step <= 1 ? atLeast : (atLeast + step - 1) / step * step;
  }

  /** Whether the client's configuration says that the fair scheduler runs. */
  static boolean isFair(Configuration conf) {
    return conf.get(YarnConfiguration.RM_SCHEDULER, YarnConfiguration.DEFAULT_RM_SCHEDULER)
        .endsWith("FairScheduler");
  }

  /** Whether a node without free virtual cores is full for the scheduler. */
  static boolean areVcoresCounted(Configuration conf, boolean isFair) {
    switch (Keys.SLOT_VCORES.choice(conf)) {
      case "auto":
        // A plan for too few slots has a shorter last wave; one for too many has another wave.
        return isFair || !conf.get(CALCULATOR, "").endsWith("DefaultResourceCalculator");
      case "true":
        return true;
      default:
        return false;
    }
  }

  long memory() {
    return memory;
  }

  long vcores() {
    return vcores;
  }

  /** How many of these go into that much. */
  int fitting(long memoryLeft, long vcoresLeft, boolean isWithVcores) {
    long fit = Math.max(0, memoryLeft) / memory;
    if (isWithVcores) {
      fit = Math.min(fit, Math.max(0, vcoresLeft) / vcores);
    }
    return (int) Math.min(fit, Integer.MAX_VALUE / 2);
  }
}
