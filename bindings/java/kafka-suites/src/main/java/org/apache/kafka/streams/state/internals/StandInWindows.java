package org.apache.kafka.streams.state.internals;

import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;

/** What stands in for Kafka's suppliers of window stores, as StandInKeyValue. */
class StandInWindows implements WindowBytesStoreSupplier {
  private final WindowBytesStoreSupplier braid;

  StandInWindows(WindowBytesStoreSupplier braid) {
    this.braid = braid;
  }

  /** Kafka's suppliers are given what braid's choose themselves: it must be the same. */
  static WindowBytesStoreSupplier with(long segmentInterval, WindowBytesStoreSupplier braid) {
    if (braid.segmentIntervalMs() != segmentInterval) {
      throw new IllegalArgumentException("segments of " + segmentInterval + " ms are asked for, and"
          + " braid's have " + braid.segmentIntervalMs());
    }
    return braid;
  }

  @Override
  public String name() {
    return braid.name();
  }

  @Override
  public WindowStore<Bytes, byte[]> get() {
    return braid.get();
  }

  @Override
  public String metricsScope() {
    return "rocksdb-window";
  }

  @Override
  public long segmentIntervalMs() {
    return braid.segmentIntervalMs();
  }

  @Override
  public long windowSize() {
    return braid.windowSize();
  }

  @Override
  public boolean retainDuplicates() {
    return braid.retainDuplicates();
  }

  @Override
  public long retentionPeriod() {
    return braid.retentionPeriod();
  }
}
