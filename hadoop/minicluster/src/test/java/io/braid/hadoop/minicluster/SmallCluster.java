package io.braid.hadoop.minicluster;

import java.io.File;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.mapreduce.v2.MiniMRYarnCluster;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** HDFS and YARN in this process; the containers are processes of their own. For one thread. */
final class SmallCluster implements AutoCloseable {
  static final int NODES = 2;
  static final int CONTAINERS_PER_NODE = 3;
  static final int BLOCK = 64 << 10;
  private static final int CONTAINER_MB = 512;

  private final MiniDFSCluster dfs;
  private final MiniMRYarnCluster yarn;

  SmallCluster(File folder) throws IOException {
    FileUtil.fullyDelete(folder);
    System.setProperty("test.build.data", folder + "/data");
    System.setProperty("test.build.dir", folder + "/build");
    Configuration conf = new YarnConfiguration();
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, folder + "/dfs");
    conf.setLong("dfs.blocksize", BLOCK);
    conf.setLong("dfs.namenode.fs-limits.min-block-size", BLOCK);
    conf.setInt("dfs.replication", NODES);
    dfs = new MiniDFSCluster.Builder(conf).numDataNodes(NODES).build();
    dfs.waitActive();
    conf.set("fs.defaultFS", dfs.getFileSystem().getUri().toString());
    nodes(conf);
    containers(conf);
    yarn = new MiniMRYarnCluster("braid", NODES);
    yarn.init(conf);
    yarn.start();
  }

  private static void nodes(Configuration conf) {
    int memory = CONTAINERS_PER_NODE * CONTAINER_MB;
    conf.setInt("yarn.nodemanager.resource.memory-mb", memory);
    conf.setInt("yarn.minicluster.yarn.nodemanager.resource.memory-mb", memory);
    conf.setInt("yarn.nodemanager.resource.cpu-vcores", 16);
    conf.setInt("yarn.scheduler.minimum-allocation-mb", CONTAINER_MB);
    conf.setBoolean("yarn.nodemanager.vmem-check-enabled", false);
    conf.setBoolean("yarn.nodemanager.pmem-check-enabled", false);
    conf.setFloat(
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", 99.5f);
  }

  private static void containers(Configuration conf) {
    conf.setInt("mapreduce.map.memory.mb", CONTAINER_MB);
    conf.setInt("mapreduce.reduce.memory.mb", CONTAINER_MB);
    conf.setInt("yarn.app.mapreduce.am.resource.mb", CONTAINER_MB);
    String small = "-Xmx200m -XX:+UseSerialGC -XX:TieredStopAtLevel=1";
    conf.set("mapred.child.java.opts", small);
    conf.set(
        "yarn.app.mapreduce.am.command-opts",
        small + " --add-opens=java.base/java.lang=ALL-UNNAMED");
    conf.setInt("mapreduce.task.io.sort.mb", 16);
    conf.setBoolean("mapreduce.map.speculative", false);
    conf.setInt("mapreduce.client.progressmonitor.pollinterval", 200);
    conf.setInt("mapreduce.client.completion.pollinterval", 200);
    String classes = System.getProperty("java.class.path").replace(File.pathSeparatorChar, ',');
    conf.set("yarn.application.classpath", classes);
    conf.set("mapreduce.application.classpath", classes);
  }

  /** A new configuration for clients of this cluster. */
  Configuration conf() {
    return new Configuration(yarn.getConfig());
  }

  FileSystem fileSystem() throws IOException {
    return dfs.getFileSystem();
  }

  /** Stopping YARN may take more than a minute, of waiting; what is left ends with the process. */
  @Override
  public void close() {
    Thread stopping = new Thread(yarn::stop, "stop YARN");
    stopping.setDaemon(true);
    stopping.start();
    try {
      stopping.join(TimeUnit.SECONDS.toMillis(15));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    dfs.shutdown(true);
  }
}
