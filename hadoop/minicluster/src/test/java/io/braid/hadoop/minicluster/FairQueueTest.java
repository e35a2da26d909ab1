package io.braid.hadoop.minicluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.mapreduce.CoalescingInputFormat;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The fair scheduler makes a queue with its first job: that job's splits are planned before. */
class FairQueueTest {
  private static final int BLOCK = 1 << 10;
  private static final int BLOCKS = 24;
  private static final int NODES = 2;
  private static final int CONTAINERS_PER_NODE = 4;
  private static final int CONTAINER_MB = 1024;

  @TempDir static java.nio.file.Path folder;
  private static MiniYARNCluster yarn;

  @BeforeAll
  static void start() throws Exception {
    Configuration conf = new YarnConfiguration();
    conf.set(
        YarnConfiguration.RM_SCHEDULER,
        "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler");
    conf.setInt(YarnConfiguration.YARN_MINICLUSTER_NM_PMEM_MB, CONTAINERS_PER_NODE * CONTAINER_MB);
    conf.setFloat(YarnConfiguration.NM_MAX_PER_DISK_UTILIZATION_PERCENTAGE, 99.5f);
    yarn = new MiniYARNCluster("fair", NODES, 1, 1);
    yarn.init(conf);
    yarn.start();
    assertTrue(yarn.waitForNodeManagersToConnect(30_000));
    byte[] text = new byte[BLOCKS * BLOCK];
    Arrays.fill(text, (byte) '\n');
    Files.write(folder.resolve("input"), text);
  }

  @AfterAll
  static void stop() {
    if (yarn != null) {
      yarn.stop();
    }
  }

  @Test
  void theFirstJobOfAQueueIsCoalesced() throws Exception {
    for (String queue : List.of("default", "root.users.alice", "alice")) {
      Job job = Job.getInstance(yarn.getConfig());
      Configuration conf = job.getConfiguration();
      conf.set("mapreduce.job.queuename", queue);
      conf.set("mapreduce.framework.name", "yarn");
      conf.set("braid.input.policy", "maximum");
      conf.setInt("mapreduce.map.memory.mb", CONTAINER_MB);
      conf.setInt("yarn.app.mapreduce.am.resource.mb", CONTAINER_MB);
      FileInputFormat.setMaxInputSplitSize(job, BLOCK);
      FileInputFormat.addInputPath(job, new Path(folder.resolve("input").toUri()));
      List<InputSplit> splits = new CoalescingInputFormat<>().getSplits(job);
      assertEquals(NODES * CONTAINERS_PER_NODE - 1, splits.size(), queue);
    }
  }
}
