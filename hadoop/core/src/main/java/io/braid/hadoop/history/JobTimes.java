package io.braid.hadoop.history;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The map tasks of a finished job. Immutable. */
public final class JobTimes {
  private final String id;
  private final String name;
  private final long submitted;
  private final long finished;
  private final List<MapTime> maps;

  /** Times in milliseconds; the name may be null; the maps in any order. */
  public JobTimes(String id, String name, long submitted, long finished, List<MapTime> maps) {
    this.id = id;
    this.name = name == null ? "" : name;
    this.submitted = submitted;
    this.finished = finished;
    List<MapTime> sorted = new ArrayList<>(maps);
    sorted.sort(Comparator.comparingLong(MapTime::launched).thenComparing(MapTime::id));
    this.maps = List.copyOf(sorted);
  }

  public String id() {
    return id;
  }

  public String name() {
    return name;
  }

  public double seconds() {
    return (finished - submitted) / 1e3;
  }

  /** In order of launch. */
  public List<MapTime> maps() {
    return maps;
  }

  /** The most maps that ran at the same moment: the slots that the job had. */
  public int mostAtOnce() {
    List<long[]> changes = new ArrayList<>();
    for (MapTime map : maps) {
      changes.add(new long[] {map.launched(), 1});
      changes.add(new long[] {map.finished(), -1});
    }
    // At the same moment ends go first: the next container takes the place.
    changes.sort(Comparator.<long[]>comparingLong(c -> c[0]).thenComparingLong(c -> c[1]));
    int now = 0;
    int most = 0;
    for (long[] change : changes) {
      now += (int) change[1];
      most = Math.max(most, now);
    }
    return most;
  }

  /** Maps for each slot that the job had. */
  public double waves() {
    return maps.isEmpty() ? 0 : (double) maps.size() / Math.max(1, mostAtOnce());
  }

  /**
   * Seconds from the end of a container to the launch of the next on the same node, for all maps
   * that had a predecessor whose place they can have taken: what allocation and launch take.
   */
  List<Double> gaps() {
    Map<String, List<Long>> free = new HashMap<>();
    List<MapTime> ends = new ArrayList<>(maps);
    ends.sort(Comparator.comparingLong(MapTime::finished).thenComparing(MapTime::id));
    List<Double> gaps = new ArrayList<>();
    int ended = 0;
    for (MapTime map : maps) {
      for (; ended < ends.size() && ends.get(ended).finished() <= map.launched(); ++ended) {
        MapTime end = ends.get(ended);
        free.computeIfAbsent(end.host(), h -> new ArrayList<>()).add(end.finished());
      }
      List<Long> places = free.getOrDefault(map.host(), List.of());
      if (!places.isEmpty()) {
        gaps.add((map.launched() - places.remove(0)) / 1e3);
      }
    }
    return gaps;
  }
}
