package io.braid.hadoop.conf;

import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Policy;
import java.util.List;

/** Every configuration key, with its default and what it does; hadoop/docs/options.md is made of it. */
public final class Keys {
  public static final Key DELEGATE =
      Key.text(
          "braid.input.delegate",
          "",
          "the name of an InputFormat class of the API that the job uses, on the job's class path",
          "The input format that finds the splits and reads the records. Any will do: what it says"
              + " of a file (that it can't be split, where its records begin) stays as it says. Not"
              + " set: the TextInputFormat of the job's API.");

  public static final Key MIX =
      Key.choice(
          "braid.input.mix",
          "",
          List.of("nothing", "directories", "files"),
          "Which files may come together in one split: blocks of one file only (`nothing`), files"
              + " of one directory, or any. Each is planned by itself, with its share of the slots."
              + " Not set: `nothing` for streaming and pipes and for jobs with more than one input"
              + " path (or a pattern); `files` for Hive, which follows the file, and for jobs with"
              + " one input path. Where a split holds several files it is no FileSplit and"
              + " mapreduce.map.input.file is not set, so that a mapper which asks for its file"
              + " once, in setup() or configure(), fails rather than take all records for the first"
              + " file's.");

  public static final Key MIX_CURRENT_FILE =
      Key.choice(
          "braid.input.mix.current-file",
          "false",
          List.of("true", "false"),
          "Splits of several files are FileSplits all the same, and mapreduce.map.input.file is"
              + " set, both for the file that is being read. Right only for mappers that ask at"
              + " each record, or only for what all files have in common.");

  public static final Key POLICY =
      Key.text(
          "braid.input.policy",
          PlanSettings.DEFAULTS.policy().label(),
          "none, maximum, assorted-strict, assorted-balanced (or assorted), waves, factoring or"
              + " auto",
          "How splits are put together. `none`: not at all, the delegate's splits are handed on as"
              + " they are. `maximum`: as many splits as there are slots, alike in size, so that"
              + " all maps run in a single wave. `assorted-strict`: sizes in geometric progression,"
              + " what is left over stays single. `assorted-balanced`: the same sizes, with the"
              + " leftovers put together as well. `waves`: alike in size, some for each slot, as"
              + " Tez makes them. `factoring`: batches of a split for each slot, each batch a share"
              + " of what is left. `auto`: whichever of these promises the shortest job by the"
              + " costs below; where these are but assumed, the one that loses least on average over"
              + " several.",
          Policy::of);

  public static final Key RATIO =
      Key.whole(
          "braid.input.ratio",
          PlanSettings.DEFAULTS.ratio(),
          2,
          64,
          "Assorted policies: each size is the one before it divided by this.");

  public static final Key LARGE_SHARE =
      Key.real(
          "braid.input.large-share",
          PlanSettings.DEFAULTS.largeShare(),
          0.01,
          1,
          "Assorted policies: the share of a node's slots that get the largest size; of the slots"
              + " that are left, the same share gets the next size, and so on.");

  public static final Key WAVES =
      Key.real(
          "braid.input.waves",
          PlanSettings.DEFAULTS.waves(),
          1,
          1000,
          "Policy waves: splits for each slot.");

  public static final Key FACTORING_SHARE =
      Key.real(
          "braid.input.factoring-share",
          PlanSettings.DEFAULTS.factoringShare(),
          0.01,
          0.99,
          "Policy factoring: the share of what is left that the slots' next splits read together.");

  public static final Key LOCAL_FRACTION =
      Key.real(
          "braid.input.local-fraction",
          PlanSettings.DEFAULTS.localFraction(),
          0,
          1,
          "How much of a split must lie on the node that is to read it, and on each further host"
              + " that the split names. 0.9 lets a tenth come over the network. `maximum` and"
              + " `waves` make as many splits as they should all the same, so some may have less.");

  public static final Key MINIMUM_BYTES =
      Key.bytes(
          "braid.input.minimum-bytes",
          PlanSettings.DEFAULTS.minimumBytes(),
          0,
          1L << 50,
          "Splits below this size are put together with others, as far as the policy allows. Each "
              + "block counts as what could be read while it is opened, besides its length.");

  public static final Key MAXIMUM_BYTES =
      Key.bytes(
          "braid.input.maximum-bytes",
          PlanSettings.DEFAULTS.maximumBytes(),
          0,
          1L << 50,
          "No split of several blocks is made much larger than this; there are whole waves more "
              + "instead. 0: no limit.");

  public static final Key MAXIMUM_SECONDS =
      Key.real(
          "braid.input.maximum-seconds",
          PlanSettings.DEFAULTS.maximumSeconds(),
          0,
          31_536_000,
          "The same in seconds of work, by the costs below: what is lost when a container fails. 0:"
              + " no limit.");

  public static final Key SLOTS =
      Key.choice(
          "braid.input.slots",
          "auto",
          List.of("auto", "static", "yarn", "local"),
          "Who says how many maps run at once. `static`: the keys below that say so. `yarn`: the"
              + " ResourceManager, asked when the job is submitted. `local`: the cores of this"
              + " machine. `auto`: static if braid.input.slots.hosts or braid.input.slots.nodes is"
              + " set, else yarn if mapreduce.framework.name is yarn, else local.");

  public static final Key SLOT_HOSTS =
      Key.text(
          "braid.input.slots.hosts",
          "",
          "a list of host=slots, divided by commas, such as node1=8,node2=8",
          "Static slots: the hosts by the names that the file system gives its blocks' hosts, and"
              + " how many maps each can run at once. Goes before braid.input.slots.nodes.",
          HostSlots::parse);

  public static final Key SLOT_NODES =
      Key.whole(
          "braid.input.slots.nodes",
          0,
          0,
          1_000_000,
          "Static slots: the number of nodes, when their names don't matter: the hosts that hold"
              + " most of the input are taken for them. Set it to Spark's number of executors, for"
              + " instance. 0: not set.");

  public static final Key SLOTS_PER_NODE =
      Key.whole(
          "braid.input.slots.per-node",
          1,
          1,
          100_000,
          "Static slots: how many maps each of braid.input.slots.nodes can run at once.");

  public static final Key SLOT_CAPACITY =
      Key.choice(
          "braid.input.slots.capacity",
          "total",
          List.of("total", "free"),
          "YARN slots: whether to count what the nodes have (`total`) or what is unused at this"
              + " moment (`free`). The total is the default since a job outlives the moment of its"
              + " submission: on a cluster that is full for a second, `free` would put the whole"
              + " input into a few huge splits. Use `free` where other jobs hold their containers"
              + " for hours.");

  public static final Key SLOT_SHARE =
      Key.real(
          "braid.input.slots.share",
          1,
          0.001,
          1,
          "The share of the slots that this job may count on. Applied after the queue's limits.");

  public static final Key SLOT_RESERVE =
      Key.whole(
          "braid.input.slots.reserve",
          0,
          0,
          100_000,
          "YARN slots: map containers to leave free besides the application master's, which is"
              + " always left free, by its own size. For reducers that start before the maps do"
              + " (mapreduce.job.reduce.slowstart.completedmaps = 0).");

  public static final Key SLOT_USER_FACTOR =
      Key.real(
          "braid.input.slots.user-factor",
          1,
          0,
          1000,
          "YARN slots, capacity scheduler: how many times the queue's capacity one user may have,"
              + " as far as the queue's maximum capacity goes (user-limit-factor). Not set: what"
              + " capacity-scheduler.xml says, if it is on the client's class path; else 1, which"
              + " is the scheduler's default. 0: no limit.");

  public static final Key SLOT_VCORES =
      Key.choice(
          "braid.input.slots.vcores",
          "auto",
          List.of("auto", "true", "false"),
          "YARN slots: whether a node is full when its virtual cores are. `auto`: true, unless the"
              + " client's configuration says that the capacity scheduler's resource calculator is"
              + " the DefaultResourceCalculator, which looks at memory alone. The client's log line"
              + " has the slots by memory and by virtual cores.");

  public static final Key SLOT_TIMEOUT =
      Key.whole(
          "braid.input.slots.timeout-ms",
          10_000,
          1,
          3_600_000,
          "YARN slots: how long the ResourceManager may take to answer. After that the job goes on "
              + "with the delegate's splits.");

  public static final Key COST_START =
      Key.real(
          "braid.input.cost.start-seconds",
          Costs.ASSUMED.startSeconds(),
          0,
          86_400,
          "Policy auto: seconds from a container's allocation until its task reads.");

  public static final Key COST_RATE =
      Key.bytes(
          "braid.input.cost.bytes-per-second",
          (long) Costs.ASSUMED.bytesPerSecond(),
          1,
          1L << 50,
          "Policy auto: bytes a second that one map task of this job gets through.");

  public static final Key COST_OPEN =
      Key.real(
          "braid.input.cost.open-seconds",
          Math.round(100 * Costs.ASSUMED.openSeconds()) / 100.0,
          0,
          3600,
          "Seconds that a map needs to open a block or file, whatever its length: about what"
              + " reading 4 MiB takes. Every policy counts it, so that thousands of small files do"
              + " not come into one split.");

  public static final Key COST_BLOCK_SPREAD =
      Key.real(
          "braid.input.cost.block-spread",
          Costs.ASSUMED.blockSpread(),
          0,
          100,
          "Policy auto: how much the time a byte differs from block to block by itself: standard "
              + "deviation over mean.");

  public static final Key COST_CONTAINER_SPREAD =
      Key.real(
          "braid.input.cost.container-spread",
          Costs.ASSUMED.containerSpread(),
          0,
          100,
          "Policy auto: how much the time a byte differs from container to container, for all of"
              + " its blocks alike (skewed data, a noisy moment): standard deviation over mean.");

  public static final Key COST_NODE_SPREAD =
      Key.real(
          "braid.input.cost.node-spread",
          Costs.ASSUMED.nodeSpread(),
          0,
          100,
          "Policy auto: how much the time a byte differs from node to node, for all of its"
              + " containers alike: standard deviation over mean.");

  public static final Key COST_LOCALITY_WAIT =
      Key.real(
          "braid.input.cost.locality-wait-seconds",
          Costs.ASSUMED.localityWaitSeconds(),
          0,
          86_400,
          "Policy auto: seconds that the scheduler lets free slots pass before it gives one to a"
              + " map that asks for other hosts; each map that starts on a host it asks for begins"
              + " them anew. 0 is right for the fair scheduler as it comes"
              + " (yarn.scheduler.fair.locality.threshold.node is -1: no wait). The capacity"
              + " scheduler lets as many heartbeats of nodes with room pass as"
              + " yarn.scheduler.capacity.node-locality-delay says (40), but no more than there are"
              + " nodes: set that number, times the seconds between a node's heartbeats (1),"
              + " divided by the nodes that have room at a time. For a cluster of up to 40 nodes"
              + " this is from 1, where all become free together, to the number of nodes. A fair"
              + " scheduler's threshold is that number as a share of the nodes.");

  public static final Key COST_HISTORY =
      Key.text(
          "braid.input.cost.history",
          "auto",
          "auto, none, or the path of a job history file (.jhist) or of a folder of them",
          "Policy auto: finished jobs to take the costs above from, where they are not set. `auto`:"
              + " on YARN the user's own jobs of this job's name, asked of the ResourceManager and"
              + " the JobHistoryServer with the user's own rights; else none. Of a folder, the"
              + " newest jobs of this job's name, or else the newest of all. What can't be read is"
              + " done without.");

  public static final Key COST_HISTORY_TIMEOUT =
      Key.whole(
          "braid.input.cost.history.timeout-ms",
          3000,
          1,
          3_600_000,
          "How long reading finished jobs may take; what is read by then counts.");

  public static final List<Key> ALL =
      List.of(
          DELEGATE,
          MIX,
          MIX_CURRENT_FILE,
          POLICY,
          RATIO,
          LARGE_SHARE,
          WAVES,
          FACTORING_SHARE,
          LOCAL_FRACTION,
          MINIMUM_BYTES,
          MAXIMUM_BYTES,
          MAXIMUM_SECONDS,
          SLOTS,
          SLOT_HOSTS,
          SLOT_NODES,
          SLOTS_PER_NODE,
          SLOT_CAPACITY,
          SLOT_SHARE,
          SLOT_RESERVE,
          SLOT_USER_FACTOR,
          SLOT_VCORES,
          SLOT_TIMEOUT,
          COST_START,
          COST_RATE,
          COST_OPEN,
          COST_BLOCK_SPREAD,
          COST_CONTAINER_SPREAD,
          COST_NODE_SPREAD,
          COST_LOCALITY_WAIT,
          COST_HISTORY,
          COST_HISTORY_TIMEOUT);

  private Keys() {}
}
