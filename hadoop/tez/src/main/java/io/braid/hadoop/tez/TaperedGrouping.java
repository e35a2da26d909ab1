package io.braid.hadoop.tez;

import io.braid.hadoop.conf.Key;
import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.input.ChildSplits;
import io.braid.hadoop.input.SplitCoalescer;
import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Node;
import io.braid.hadoop.plan.Policy;
import io.braid.hadoop.slots.SlotSource;
import io.braid.hadoop.slots.Slots;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.SplitLocationInfo;
import org.apache.tez.mapreduce.grouper.TezSplitGrouper;

/**
 * Groups of splits for the slots that Tez counts: by default batches that fall in size, where Tez
 * makes 1.7 waves of groups that are alike. What Tez's users have set for its own groups holds for
 * these. Stateless.
 */
final class TaperedGrouping {
  private TaperedGrouping() {}

  /**
   * The groups, the largest first, as Tez starts tasks in their order; null if the splits are to be
   * grouped by Tez itself: its users have set a number of groups, or there is no plan (a warning
   * says why).
   */
  static <S> List<S> of(
      Configuration conf, List<S> splits, int wanted, SplitCoalescer.Api<S> api) {
    if (splits.isEmpty() || conf.getInt(TezSplitGrouper.TEZ_GROUPING_SPLIT_COUNT, 0) > 0) {
      return null;
    }
    Configuration settings = settings(conf);
    if (Policy.of(Keys.POLICY.text(settings)) == Policy.NONE) {
      return null;
    }
    float waves =
        conf.getFloat(
            TezSplitGrouper.TEZ_GROUPING_SPLIT_WAVES,
            TezSplitGrouper.TEZ_GROUPING_SPLIT_WAVES_DEFAULT);
    int slots = Math.max(1, Math.round(wanted / waves));
    SlotSource source = blocks -> slots(settings, blocks, slots);
    Map<S, Long> lengths = new IdentityHashMap<>();
    List<S> groups =
        new SplitCoalescer<>(settings, new Measuring<>(api, lengths), source).coalesce(splits);
    if (groups == splits) {
      return null;
    }
    List<S> largestFirst = new ArrayList<>(groups);
    largestFirst.sort(Comparator.comparingLong(group -> -lengths.get(group)));
    return largestFirst;
  }

  /** An API whose groups' lengths are noted: what reading them takes, not what they have. */
  private static final class Measuring<S> implements SplitCoalescer.Api<S> {
    private final SplitCoalescer.Api<S> api;
    private final Map<S, Long> lengths;

    Measuring(SplitCoalescer.Api<S> api, Map<S, Long> lengths) {
      this.api = api;
      this.lengths = lengths;
    }

    @Override
    public long length(S split) throws IOException, InterruptedException {
      return api.length(split);
    }

    @Override
    public String[] locations(S split) throws IOException, InterruptedException {
      return api.locations(split);
    }

    @Override
    public SplitLocationInfo[] locationInfo(S split) throws IOException {
      return api.locationInfo(split);
    }

    /** Tez writes down the class of a group's first split alone. */
    @Override
    public String kind(S split) {
      return split.getClass().getName();
    }

    @Override
    public S coalesced(ChildSplits<S> children, boolean isFileShown) {
      S group = api.coalesced(children, isFileShown);
      lengths.put(group, children.totalLength());
      return group;
    }
  }

  /** Our defaults for Tez, where the user has set nothing. */
  private static Configuration settings(Configuration conf) {
    Configuration own = new Configuration(conf);
    setUnlessSet(own, Keys.POLICY, Policy.FACTORING.label());
    // As Tez does it: its readers of groups count on no file.
    setUnlessSet(own, Keys.MIX, "files");
    // Containers are kept: a task costs next to nothing to start.
    setUnlessSet(own, Keys.COST_START, "0");
    // The jobs in YARN's history are of MapReduce.
    setUnlessSet(own, Keys.COST_HISTORY, "none");
    setUnlessSet(
        own,
        Keys.MAXIMUM_BYTES,
        conf.get(
            TezSplitGrouper.TEZ_GROUPING_SPLIT_MAX_SIZE,
            Long.toString(TezSplitGrouper.TEZ_GROUPING_SPLIT_MAX_SIZE_DEFAULT)));
    setUnlessSet(
        own,
        Keys.MINIMUM_BYTES,
        conf.get(
            TezSplitGrouper.TEZ_GROUPING_SPLIT_MIN_SIZE,
            Long.toString(TezSplitGrouper.TEZ_GROUPING_SPLIT_MIN_SIZE_DEFAULT)));
    return own;
  }

  private static void setUnlessSet(Configuration conf, Key key, String value) {
    if (!key.isSet(conf)) {
      conf.set(key.name(), value);
    }
  }

  /**
   * So many slots in all, shared evenly by the hosts of the splits: Tez says how many there are,
   * not where.
   */
  private static Slots slots(Configuration settings, List<Block> blocks, int slots)
      throws IOException, InterruptedException {
    long hosts =
        blocks.stream()
            .flatMap(block -> block.hosts().stream())
            .filter(host -> !Slots.isHere(host))
            .distinct()
            .count();
    int nodes = (int) Math.max(1, Math.min(hosts, slots));
    Configuration conf = new Configuration(settings);
    conf.unset(Keys.SLOT_HOSTS.name());
    conf.set(Keys.SLOTS.name(), "static");
    conf.setInt(Keys.SLOT_NODES.name(), nodes);
    conf.setInt(Keys.SLOTS_PER_NODE.name(), (slots + nodes - 1) / nodes);
    Map<String, Integer> perHost = new HashMap<>();
    for (Node node : SlotSource.of(conf).slots(blocks).atMost(slots, "").nodes()) {
      perHost.put(node.host(), node.slots());
    }
    return Slots.of(perHost, "Tez");
  }

  /** Hosts as Tez wants them: null if there are none. */
  static String[] locations(List<String> hosts) {
    return hosts.isEmpty() ? null : hosts.toArray(new String[0]);
  }
}
