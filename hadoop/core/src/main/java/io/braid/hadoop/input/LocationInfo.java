package io.braid.hadoop.input;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.mapred.SplitLocationInfo;

/** How a coalesced split's preferred hosts hold it: on disk, or most of it in memory. */
final class LocationInfo {
  private LocationInfo() {}

  /** Null when no child tells. In memory means: at least half of the bytes are cached there. */
  static <S> SplitLocationInfo[] of(
      List<S> children, long[] lengths, List<String> preferred, SplitCoalescer.Api<S> api)
      throws IOException {
    Map<String, Long> cached = new HashMap<>();
    boolean isKnown = false;
    long total = 0;
    for (int i = 0; i < lengths.length; ++i) {
      total += lengths[i];
      SplitLocationInfo[] infos = api.locationInfo(children.get(i));
      if (infos == null) {
        continue;
      }
      isKnown = true;
      for (SplitLocationInfo info : infos) {
        if (info.isInMemory()) {
          cached.merge(info.getLocation(), lengths[i], Long::sum);
        }
      }
    }
    if (!isKnown) {
      return null;
    }
    SplitLocationInfo[] made = new SplitLocationInfo[preferred.size()];
    for (int i = 0; i < made.length; ++i) {
      long inMemory = cached.getOrDefault(preferred.get(i), 0L);
      made[i] = new SplitLocationInfo(preferred.get(i), inMemory > 0 && inMemory >= total / 2);
    }
    return made;
  }
}
