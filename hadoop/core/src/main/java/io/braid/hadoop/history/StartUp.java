package io.braid.hadoop.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Tells start-up from work in the times of maps. A history has no mark for the moment at which a
 * task begins to read, but tasks with coalesced splits count how long they read. Of others it is
 * estimated: best from maps that read different amounts (what does not grow with the bytes is
 * start-up), else from how the time of each map is spread over its progress. Immutable.
 */
final class StartUp {
  /** Fewer maps than this say nothing. */
  static final int FEWEST = 4;

  /** The large maps must read so many times what the small ones read for a line through both. */
  private static final double DIFFERENT = 1.5;

  private static final int MOST_FOR_PAIRS = 600;

  final double seconds;

  /** In words, for the report; null when it can't be told. */
  final String method;

  private final boolean isCounted;

  private StartUp(double seconds, String method, boolean isCounted) {
    this.seconds = seconds;
    this.method = method;
    this.isCounted = isCounted;
  }

  /** What is left to assume when the maps do not tell. */
  static StartUp assumed(double seconds) {
    return new StartUp(
        seconds,
        "start-up assumed, since the maps are alike in size and too short to show it",
        false);
  }

  /** Seconds of work of one of the maps. */
  double work(MapTime map) {
    double start = isCounted && map.startSeconds() >= 0 ? map.startSeconds() : seconds;
    return Math.max(0, map.seconds() - start - Math.max(0, map.openSeconds()));
  }

  static StartUp of(List<MapTime> maps) {
    List<Double> counted = startsOf(maps, MapTime::startSeconds);
    // Coalesced splits may be few beside single ones that count nothing.
    if (counted.size() >= FEWEST && counted.size() >= maps.size() / 2) {
      return new StartUp(Numbers.median(counted), "as the tasks counted", true);
    }
    List<MapTime> sized = new ArrayList<>(maps);
    sized.removeIf(m -> m.bytes() <= 0);
    sized.sort(Comparator.comparingLong(MapTime::bytes).thenComparing(MapTime::id));
    StartUp bySize = sized.size() < FEWEST ? null : bySize(sized);
    if (bySize != null) {
      return bySize;
    }
    List<Double> starts = startsOf(maps, MapTime::startByProgress);
    return starts.size() < FEWEST
        ? new StartUp(0, null, false)
        : new StartUp(Numbers.median(starts), "from the maps' progress over time", false);
  }

  /** Those that are known. */
  private static List<Double> startsOf(List<MapTime> maps, ToDoubleFunction<MapTime> start) {
    List<Double> starts = new ArrayList<>();
    for (MapTime map : maps) {
      double seconds = start.applyAsDouble(map);
      if (seconds >= 0) {
        starts.add(Math.min(seconds, map.seconds()));
      }
    }
    return starts;
  }

  /** Theil and Sen's line: the median slope over all pairs, which a few stragglers do not bend. */
  private static StartUp bySize(List<MapTime> sorted) {
    List<MapTime> some = sorted;
    if (sorted.size() > MOST_FOR_PAIRS) {
      some = new ArrayList<>();
      for (int k = 0; k < MOST_FOR_PAIRS; ++k) {
        some.add(sorted.get((int) ((long) k * (sorted.size() - 1) / (MOST_FOR_PAIRS - 1))));
      }
    }
    double small = some.get(some.size() / 10).bytes();
    double large = some.get(some.size() - 1 - some.size() / 10).bytes();
    if (large < small * DIFFERENT) {
      return null;
    }
    List<Double> slopes = new ArrayList<>();
    for (int i = 0; i < some.size(); ++i) {
      for (int k = i + 1; k < some.size(); ++k) {
        double bytes = some.get(k).bytes() - some.get(i).bytes();
        if (bytes > (large - small) / 4) {
          slopes.add((some.get(k).seconds() - some.get(i).seconds()) / bytes);
        }
      }
    }
    double slope = Numbers.median(slopes);
    List<Double> starts = new ArrayList<>();
    for (MapTime map : some) {
      starts.add(map.seconds() - slope * map.bytes());
    }
    double start = Numbers.median(starts);
    return slope > 0 && start >= 0
        ? new StartUp(start, "from maps that read different amounts", false)
        : null;
  }
}
