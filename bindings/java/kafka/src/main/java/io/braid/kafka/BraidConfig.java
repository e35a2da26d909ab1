package io.braid.kafka;

import io.braid.BraidOptions;
import io.braid.SharedResources;
import java.io.File;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.processor.StateStoreContext;

/**
 * What an application's configuration says about its pool: one pool for all stores of a KafkaStreams
 * instance. All are optional.
 */
public final class BraidConfig {
  /**
   * The folder of the pool; default: {@code braid} in {@code state.dir/application.id}. Put it on
   * persistent memory, and give each instance one of its own.
   */
  public static final String POOL = "braid.pool";

  /**
   * Bytes of DRAM for all stores of the instance together; default: 1 GiB. With {@link #SHARED_GROUP}
   * for all stores of all instances of the group.
   */
  public static final String MEMORY_BUDGET = "braid.memory.budget.bytes";

  /**
   * A name: all instances of this process that give the same one share {@link #MEMORY_BUDGET} and a
   * set of background threads; default: none, each has a budget of its own. They must give the same
   * limits.
   */
  public static final String SHARED_GROUP = "braid.shared.group";

  /**
   * Background threads of the group, 3 to 1024; default: 0, those that all pools of a process share
   * anyhow. Only with {@link #SHARED_GROUP}.
   */
  public static final String SHARED_THREADS = "braid.shared.threads";

  /**
   * Whether a commit on page-cache media survives power loss too; default: true. On persistent
   * memory every write does, and this changes nothing.
   */
  public static final String SYNC = "braid.sync";

  /**
   * While true, {@code braid top} and {@code braid metrics} of another process see the pool; default:
   * false.
   */
  public static final String PUBLISH_STATISTICS = "braid.publish.statistics";

  /** Before the name of any option that {@code braid options} lists: braid.set.memtable.bytes. */
  public static final String SET = "braid.set.";

  private static final String BUDGET = "memory_budget_bytes"; // the option's name
  private static final long USUAL_BUDGET = 1L << 30; // where none is given
  private static final Pattern NUMBER = Pattern.compile("([0-9]+)([KMGT]?)");

  final File pool;
  final File root;
  final String application;
  final boolean sync;
  final boolean publishesStatistics;
  final boolean exactlyOnce;
  final String group; // null: none
  final ResourceGroup.Limits limits; // of the group; null without one
  private final Map<String, String> options = new TreeMap<>();

  BraidConfig(StateStoreContext context) {
    Map<String, Object> given = context.appConfigs();
    application = context.applicationId();
    root = rootOf(context, given);
    Object named = given.get(POOL);
    pool = named == null ? new File(root, "braid") : new File(named.toString().trim());
    sync = truth(SYNC, given.get(SYNC), true);
    publishesStatistics = truth(PUBLISH_STATISTICS, given.get(PUBLISH_STATISTICS), false);
    exactlyOnce =
        StreamsConfig.EXACTLY_ONCE_V2.equals(given.get(StreamsConfig.PROCESSING_GUARANTEE_CONFIG));
    given.forEach((name, value) -> {
      if (name.startsWith(SET) && value != null) {
        options.put(name.substring(SET.length()), value.toString().trim());
      }
    });
    Object budget = given.get(MEMORY_BUDGET);
    if (budget != null) {
      options.put(BUDGET, budget.toString().trim());
    }
    group = groupOf(given);
    limits = group == null ? null : limitsOf(given);
  }

  private static String groupOf(Map<String, Object> given) {
    Object named = given.get(SHARED_GROUP);
    if (named != null && !named.toString().isBlank()) {
      return named.toString().trim();
    }
    if (given.get(SHARED_THREADS) != null) {
      throw new ProcessorStateException(SHARED_THREADS + " is of a group of instances: name it with "
          + SHARED_GROUP);
    }
    return null;
  }

  private ResourceGroup.Limits limitsOf(Map<String, Object> given) {
    Object threads = given.get(SHARED_THREADS);
    String budget = options.remove(BUDGET);
    return new ResourceGroup.Limits(
        budget == null ? USUAL_BUDGET : number(MEMORY_BUDGET, budget, "512M"),
        threads == null ? 0 : (int) Math.min(
            Integer.MAX_VALUE, number(SHARED_THREADS, threads.toString().trim(), "4")));
  }

  /** As `braid options` reads them: digits, and K, M, G or T for powers of 1024. */
  private static long number(String name, String text, String example) {
    Matcher parts = NUMBER.matcher(text);
    if (parts.matches()) {
      int power = parts.group(2).isEmpty() ? 0 : 1 + "KMGT".indexOf(parts.group(2));
      try {
        return Math.multiplyExact(Long.parseLong(parts.group(1)), 1L << 10 * power);
      } catch (ArithmeticException | NumberFormatException e) {
        // too large: what follows says so
      }
    }
    throw new ProcessorStateException(
        name + " is \"" + text + "\": use a number, for example " + example);
  }

  /** What the pool's names of stores begin at: the folder of the application's tasks. */
  private static File rootOf(StateStoreContext context, Map<String, Object> given) {
    File task = context.stateDir().getAbsoluteFile();
    Object states = given.get(StreamsConfig.STATE_DIR_CONFIG);
    if (states != null) {
      File folder = new File(states.toString(), context.applicationId()).getAbsoluteFile();
      if (task.toPath().normalize().startsWith(folder.toPath().normalize())) {
        return folder;
      }
    }
    return task;
  }

  private static boolean truth(String name, Object value, boolean otherwise) {
    if (value == null) {
      return otherwise;
    }
    String text = value.toString().trim();
    if (text.equalsIgnoreCase("true") || text.equalsIgnoreCase("false")) {
      return Boolean.parseBoolean(text);
    }
    throw new ProcessorStateException(name + " is \"" + text + "\": use true or false");
  }

  /** Of the pool; `resources` is null where the configuration names no group. */
  BraidOptions options(SharedResources resources) {
    BraidOptions made = new BraidOptions();
    options.forEach(made::set);
    return made.resources(resources);
  }
}
