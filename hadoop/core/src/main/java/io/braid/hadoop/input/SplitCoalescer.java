package io.braid.hadoop.input;

import io.braid.hadoop.conf.InputSettings;
import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.history.CostsFromHistory;
import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.Group;
import io.braid.hadoop.plan.Plan;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Planner;
import io.braid.hadoop.plan.Policy;
import io.braid.hadoop.slots.SlotSource;
import io.braid.hadoop.slots.Slots;
import java.io.IOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.SplitLocationInfo;
import org.apache.hadoop.mapreduce.JobContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * From the delegate's splits to coalesced ones: asks for the slots, plans, checks the plan, logs
 * one line. When anything of that fails it warns and hands on the delegate's splits, since a job
 * must not fail for want of a better plan. What the input formats of both APIs share; immutable.
 */
public final class SplitCoalescer<S> {
  private static final Logger LOG = LoggerFactory.getLogger(SplitCoalescer.class);
  /** The mappers of MultipleInputs ask their split which of them is meant, by this type. */
  private static final String TAGGED = ".TaggedInputSplit";

  /** How an API's splits are asked, and made. */
  public interface Api<S> {
    long length(S split) throws IOException, InterruptedException;

    String[] locations(S split) throws IOException, InterruptedException;

    /** Null when the split does not tell. */
    SplitLocationInfo[] locationInfo(S split) throws IOException;

    /** What splits must have in common to be read by one map; an IOException says why not told. */
    default String kind(S split) throws IOException {
      return "";
    }

    /** The coalesced split; {@code areFiles} says whether all children are FileSplits. */
    S coalesced(ChildSplits<S> children, boolean areFiles);
  }

  private final Configuration conf;
  private final Api<S> api;
  private final PlanSettings settings;
  private final SlotSource source;

  /** Reads the keys; IllegalArgumentException names one whose value is not allowed. */
  public SplitCoalescer(Configuration conf, Api<S> api) {
    this(conf, api, SlotSource.of(conf));
  }

  SplitCoalescer(Configuration conf, Api<S> api, SlotSource source) {
    this.conf = conf;
    this.api = api;
    this.settings = InputSettings.plan(conf);
    this.source = source;
  }

  /** The splits to run; {@code splits} itself when nothing is to be done, or can be done. */
  public List<S> coalesce(List<S> splits) {
    if (settings.policy() == Policy.NONE || splits.isEmpty()) {
      LOG.info("{} splits as the delegate made them (policy {})", splits.size(),
          settings.policy().label());
      return splits;
    }
    try {
      return plan(splits);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      warn(splits, e);
    } catch (Exception | LinkageError e) {
      warn(splits, e);
    }
    return splits;
  }

  private static void warn(List<?> splits, Throwable cause) {
    LOG.warn("The input is not coalesced, the job runs with the delegate's {} splits: {}",
        splits.size(), cause.getMessage() != null ? cause.getMessage() : cause.toString());
    LOG.debug("The cause of that", cause);
  }

  private List<S> plan(List<S> splits) throws IOException, InterruptedException {
    for (S split : splits) {
      if (split.getClass().getName().endsWith(TAGGED)) {
        throw new IOException("MultipleInputs chooses the mapper by the split, which therefore "
            + "must stay single; set braid.input.policy to none to do without this warning");
      }
    }
    List<Block> blocks = new ArrayList<>(splits.size());
    for (S split : splits) {
      blocks.add(new Block(Math.max(0, api.length(split)), hosts(split)));
    }
    Slots slots = source.slots(blocks);
    if (slots.nodes().isEmpty()) {
      throw new IOException("there is no slot for a map (" + slots.origin() + ")");
    }
    HostNames names = HostNames.of(slots.nodes());
    List<Block> known = names.translated(blocks);
    PlanSettings learned = withHistory();
    long begin = System.nanoTime();
    Plan plan = Planner.plan(known, slots.nodes(), learned);
    long millis = (System.nanoTime() - begin) / 1_000_000;
    check(plan, splits.size());
    List<S> made = new ArrayList<>(plan.groups().size());
    for (Group group : plan.groups()) {
      for (List<Integer> alike : byKind(group, splits)) {
        made.add(split(alike, group.hosts(), splits, known));
      }
    }
    log(splits.size(), made.size(), plan, slots, millis);
    return made;
  }

  /** With the costs of finished jobs if the user names some, as far as they can be had. */
  private PlanSettings withHistory() {
    if (settings.policy() != Policy.AUTO || !Keys.COST_HISTORY.isSet(conf)) {
      return settings;
    }
    String path = Keys.COST_HISTORY.text(conf);
    try {
      CostsFromHistory history =
          CostsFromHistory.of(conf, new Path(path), conf.get(JobContext.JOB_NAME));
      Costs costs = InputSettings.costs(conf, history.costs());
      LOG.info("Costs for policy auto: {} s of start-up, {} bytes a second ({})",
          String.format(Locale.ROOT, "%.2f", costs.startSeconds()),
          Math.round(costs.bytesPerSecond()), history.origin());
      return settings.withCosts(costs);
    } catch (IOException | IllegalArgumentException e) {
      LOG.warn("Policy auto plans without the job history {} ({}): {}", path,
          Keys.COST_HISTORY.name(), e.getMessage());
      return settings;
    }
  }

  private List<String> hosts(S split) throws IOException, InterruptedException {
    List<String> hosts = new ArrayList<>();
    String[] locations = api.locations(split);
    if (locations != null) {
      for (String host : locations) {
        if (host != null && !host.isEmpty()) {
          hosts.add(host);
        }
      }
    }
    return hosts;
  }

  /** A plan that lost or doubled a block would be wrong output: rather no plan. */
  private static void check(Plan plan, int blocks) throws IOException {
    BitSet seen = new BitSet(blocks);
    for (Group group : plan.groups()) {
      for (int i = 0; i < group.size(); ++i) {
        if (seen.get(group.block(i))) {
          throw new IOException(
              "the plan has split " + group.block(i) + " twice: please report it");
        }
        seen.set(group.block(i));
      }
    }
    if (seen.cardinality() != blocks) {
      throw new IOException("the plan has " + seen.cardinality() + " of " + blocks
          + " splits: please report it");
    }
  }

  /** A group's splits, divided where they can't be read by one map. */
  private Collection<List<Integer>> byKind(Group group, List<S> splits) throws IOException {
    Map<String, List<Integer>> kinds = new LinkedHashMap<>();
    for (int i = 0; i < group.size(); ++i) {
      String kind = api.kind(splits.get(group.block(i)));
      kinds.computeIfAbsent(kind, k -> new ArrayList<>()).add(group.block(i));
    }
    return kinds.values();
  }

  private S split(List<Integer> members, List<String> near, List<S> splits, List<Block> blocks)
      throws IOException {
    List<S> children = new ArrayList<>(members.size());
    long[] lengths = new long[members.size()];
    List<List<String>> hosts = new ArrayList<>(members.size());
    for (int i = 0; i < lengths.length; ++i) {
      Block block = blocks.get(members.get(i));
      children.add(splits.get(members.get(i)));
      lengths[i] = block.length();
      hosts.add(block.hosts());
    }
    List<String> preferred = new ArrayList<>(near);
    preferred.removeIf(Slots::isUnnamed);
    ChildSplits<S> made = new ChildSplits<>(children, lengths, hosts, preferred,
        LocationInfo.of(children, lengths, preferred, api));
    return api.coalesced(made, made.areFiles());
  }

  private void log(int before, int after, Plan plan, Slots slots, long millis) {
    long bytes = 0;
    long local = 0;
    for (Group group : plan.groups()) {
      bytes += group.length();
      local += group.localLength();
    }
    LOG.info("{} splits of {} bytes put together into {} (policy {}: {}) for {} slots on {} nodes "
            + "({}); {} % of the bytes are on the preferred host; planned in {} ms",
        before, bytes, after, plan.policy().label(), plan.reason(), slots.total(),
        slots.nodes().size(), slots.origin(), bytes == 0 ? 100 : local * 100 / bytes, millis);
  }
}
