package io.braid.hadoop.spark;

import java.io.Serializable;
import java.util.Locale;
import java.util.Objects;
import org.apache.spark.sql.internal.SQLConf;

/** What a session's configuration says about its scans, when a scan is planned. Immutable. */
final class ScanSettings implements Serializable {
  private static final long serialVersionUID = 1;

  /** Whose hosts partitions may prefer. */
  enum Hosts {
    AUTO,
    EXECUTORS,
    BLOCKS
  }

  final Hosts hosts;
  final long openBytes;
  final long mostBytes;
  final int mostPartitions;

  private ScanSettings(Hosts hosts, long openBytes, long mostBytes, int mostPartitions) {
    this.hosts = hosts;
    this.openBytes = openBytes;
    this.mostBytes = mostBytes;
    this.mostPartitions = mostPartitions;
  }

  /** IllegalArgumentException if the hosts are none of the words that there are. */
  static ScanSettings of(SQLConf conf) {
    String most = Integer.toString(Integer.MAX_VALUE);
    return new ScanSettings(
        hosts(conf.getConfString(HostScanExtension.HOSTS, "auto").trim()),
        conf.filesOpenCostInBytes(),
        conf.filesMaxPartitionBytes(),
        Integer.parseInt(conf.getConfString("spark.sql.files.maxPartitionNum", most)));
  }

  private static Hosts hosts(String hosts) {
    try {
      return Hosts.valueOf(hosts.toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          HostScanExtension.HOSTS
              + " can't be \""
              + hosts
              + "\": allowed is auto, executors or blocks (default auto)",
          e);
    }
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ScanSettings
        && hosts == ((ScanSettings) other).hosts
        && openBytes == ((ScanSettings) other).openBytes
        && mostBytes == ((ScanSettings) other).mostBytes
        && mostPartitions == ((ScanSettings) other).mostPartitions;
  }

  @Override
  public int hashCode() {
    return Objects.hash(hosts, openBytes, mostBytes, mostPartitions);
  }

  /** For Spark's explain. */
  @Override
  public String toString() {
    return "hosts=" + hosts.name().toLowerCase(Locale.ROOT);
  }
}
