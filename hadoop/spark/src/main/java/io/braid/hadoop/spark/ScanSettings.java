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

  private ScanSettings(Hosts hosts, long openBytes, long mostBytes) {
    this.hosts = hosts;
    this.openBytes = openBytes;
    this.mostBytes = mostBytes;
  }

  /** IllegalArgumentException if the hosts are none of the words that there are. */
  static ScanSettings of(SQLConf conf) {
    String hosts = conf.getConfString(HostScanExtension.HOSTS, "auto").trim();
    try {
      return new ScanSettings(
          Hosts.valueOf(hosts.toUpperCase(Locale.ROOT)),
          conf.filesOpenCostInBytes(),
          conf.filesMaxPartitionBytes());
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
        && mostBytes == ((ScanSettings) other).mostBytes;
  }

  @Override
  public int hashCode() {
    return Objects.hash(hosts, openBytes, mostBytes);
  }

  /** For Spark's explain. */
  @Override
  public String toString() {
    return "hosts=" + hosts.name().toLowerCase(Locale.ROOT);
  }
}
