package io.braid.hadoop.input;

import io.braid.hadoop.conf.InputSettings;
import io.braid.hadoop.conf.KeyCheck;
import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Group;
import io.braid.hadoop.plan.Plan;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Planner;
import io.braid.hadoop.plan.Policy;
import io.braid.hadoop.slots.SlotSource;
import io.braid.hadoop.slots.Slots;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.SplitLocationInfo;
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

    /** The coalesced split; a FileSplit, which shows the child being read, if that is wanted. */
    S coalesced(ChildSplits<S> children, boolean isFileShown);
  }

  private final Configuration conf;
  private final Api<S> api;
  private final Mix mix;
  private final PlanSettings settings;
  private final SlotSource source;
  private final PlanPage page;

  /** Reads the keys; IllegalArgumentException names one whose value is not allowed. */
  public SplitCoalescer(Configuration conf, Api<S> api) {
    this(conf, api, null);
  }

  /** {@code source} says how many slots there are; null: the one that the configuration names. */
  public SplitCoalescer(Configuration conf, Api<S> api, SlotSource source) {
    this.conf = KeyCheck.checked(conf);
    this.api = api;
    this.mix = Mix.of(this.conf);
    this.settings = InputSettings.plan(this.conf);
    this.source = source != null ? source : SlotSource.of(this.conf);
    this.page = new PlanPage(conf);
  }

  /** The splits to run; {@code splits} itself when nothing is to be done, or can be done. */
  public List<S> coalesce(List<S> splits) {
    page.clear();
    if (settings.policy() == Policy.NONE || splits.isEmpty()) {
      LOG.info(
          "{} splits as the delegate made them (policy {})",
          splits.size(),
          settings.policy().label());
      return splits;
    }
    try {
      return plan(splits);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      warn(splits, e);
    } catch (Exception | Error e) {
      // An error of ours too, be it that memory runs out: without a plan the job may still run.
      warn(splits, e);
    }
    return splits;
  }

  private static void warn(List<?> splits, Throwable cause) {
    LOG.warn(
        "The input is not coalesced, the job runs with the delegate's {} splits: {}",
        splits.size(),
        cause.getMessage() != null ? cause.getMessage() : cause.toString());
    LOG.debug("The cause of that", cause);
  }

  private List<S> plan(List<S> splits) throws IOException, InterruptedException {
    for (S split : splits) {
      if (split.getClass().getName().endsWith(TAGGED)) {
        throw new IOException(
            "MultipleInputs chooses the mapper by the split, which therefore "
                + "must stay single; set braid.input.policy to none to do without this warning");
      }
    }
    List<Block> blocks = blocks(splits);
    Slots slots = source.slots(blocks);
    if (slots.nodes().isEmpty()) {
      throw new IOException("there is no slot for a map (" + slots.origin() + ")");
    }
    HostNames names = HostNames.of(slots.nodes());
    List<Block> known = names.translated(blocks);
    PlanSettings learned = new LearnedCosts(conf).in(settings);
    long begin = System.nanoTime();
    Plan plan = Planner.plan(known, slots.nodes(), learned);
    long millis = (System.nanoTime() - begin) / 1_000_000;
    check(plan, known);
    List<S> made = new ArrayList<>(plan.groups().size());
    for (Group group : plan.groups()) {
      made.add(split(group, splits, known));
    }
    page.show(plan);
    log(splits.size(), plan, slots, millis);
    return made;
  }

  /** Blocks of which the API's kinds or the files that may be mixed differ are of other kinds. */
  private List<Block> blocks(List<S> splits) throws IOException, InterruptedException {
    List<Block> blocks = new ArrayList<>(splits.size());
    Map<String, Integer> kinds = new HashMap<>();
    for (S split : splits) {
      int kind = kinds.computeIfAbsent(api.kind(split) + '\n' + mix.kind(split), k -> kinds.size());
      blocks.add(new Block(Math.max(0, api.length(split)), hosts(split), kind));
    }
    return blocks;
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

  /** A plan that lost, doubled or mixed blocks would be wrong output: rather no plan. */
  private static void check(Plan plan, List<Block> blocks) throws IOException {
    BitSet seen = new BitSet(blocks.size());
    for (Group group : plan.groups()) {
      for (int i = 0; i < group.size(); ++i) {
        if (seen.get(group.block(i))) {
          throw new IOException(
              "the plan has split " + group.block(i) + " twice: please report it");
        }
        seen.set(group.block(i));
        if (blocks.get(group.block(i)).kind() != blocks.get(group.block(0)).kind()) {
          throw new IOException("the plan mixes splits that must stay apart: please report it");
        }
      }
    }
    if (seen.cardinality() != blocks.size()) {
      throw new IOException(
          "the plan has "
              + seen.cardinality()
              + " of "
              + blocks.size()
              + " splits: please report it");
    }
  }

  /** Its children are in the delegate's order: a file's header comes before its other lines. */
  private S split(Group group, List<S> splits, List<Block> blocks) throws IOException {
    int[] members = new int[group.size()];
    Arrays.setAll(members, group::block);
    Arrays.sort(members);
    List<S> children = new ArrayList<>(members.length);
    long[] lengths = new long[members.length];
    List<List<String>> hosts = new ArrayList<>(members.length);
    for (int i = 0; i < lengths.length; ++i) {
      Block block = blocks.get(members[i]);
      children.add(splits.get(members[i]));
      lengths[i] = block.length();
      hosts.add(block.hosts());
    }
    List<String> preferred = new ArrayList<>(group.hosts());
    preferred.removeIf(Slots::isUnnamed);
    ChildSplits<S> made =
        new ChildSplits<>(
            children,
            lengths,
            hosts,
            preferred,
            LocationInfo.of(children, lengths, preferred, api));
    return api.coalesced(made, made.areFiles() && (mix.isCurrentFileShown() || made.areOneFile()));
  }

  private void log(int before, Plan plan, Slots slots, long millis) {
    long bytes = 0;
    long local = 0;
    long leastLocal = 0;
    for (Group group : plan.groups()) {
      bytes += group.length();
      local += group.localLength();
      leastLocal += group.leastLocalLength();
    }
    LOG.info(
        "{} splits of {} bytes put together into {} (policy {}: {}; {}) for {} slots on {} "
            + "nodes ({}); {} % of the bytes are on the preferred hosts, {} % on those of the "
            + "listed hosts that hold least; planned in {} ms",
        before,
        bytes,
        plan.groups().size(),
        plan.policy().label(),
        plan.reason(),
        mix,
        slots.total(),
        slots.nodes().size(),
        slots.origin(),
        percent(local, bytes),
        percent(leastLocal, bytes),
        millis);
  }

  private static long percent(long part, long bytes) {
    return bytes == 0 ? 100 : Math.round(100.0 * part / bytes);
  }
}
