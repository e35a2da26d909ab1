package io.braid.kafka;

import io.braid.BraidOptions;
import java.io.File;
import java.util.Map;
import java.util.TreeMap;
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

  /** Bytes of DRAM for all stores of the instance together; default: the pool's own default. */
  public static final String MEMORY_BUDGET = "braid.memory.budget.bytes";

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

  final File pool;
  final File root;
  final String application;
  final boolean sync;
  final boolean publishesStatistics;
  final boolean exactlyOnce;
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
      options.put("memory_budget_bytes", budget.toString().trim());
    }
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

  BraidOptions options() {
    BraidOptions made = new BraidOptions();
    options.forEach(made::set);
    return made;
  }
}
