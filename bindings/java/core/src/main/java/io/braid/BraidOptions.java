package io.braid;

import java.util.LinkedHashMap;
import java.util.Map;
import org.iq80.leveldb.Options;

/**
 * Options of braid beside those of LevelDB: any that `braid options` lists, by name. Names and
 * values are checked when a database is opened.
 *
 * <pre>{@code
 * new BraidOptions().set("memory_budget_bytes", "256M").design("braid")
 * }</pre>
 */
public class BraidOptions extends Options {
  private final Map<String, String> named = new LinkedHashMap<>();
  private String design = "braid";
  private SharedResources resources;
  private BraidEventListener listener;

  /** Sets an option; numbers may end in K, M, G or T for powers of 1024. Returns this. */
  public BraidOptions set(String name, String value) {
    named.put(name, value);
    return this;
  }

  /** Chooses the design by its name, which `braid info` lists; "braid" when it is not called. */
  public BraidOptions design(String name) {
    design = name;
    return this;
  }

  /**
   * The database shares memory and background threads with others that are opened with
   * `resources`; memory_budget_bytes does not count then. null, as when it is not called: with none.
   */
  public BraidOptions resources(SharedResources resources) {
    this.resources = resources;
    return this;
  }

  SharedResources resources() {
    return resources;
  }

  /** Who is told of flushes, merges, stalls, recoveries and errors; null: nobody. Returns this. */
  public BraidOptions listener(BraidEventListener listener) {
    this.listener = listener;
    return this;
  }

  BraidEventListener listener() {
    return listener;
  }

  String design() {
    return design;
  }

  Map<String, String> named() {
    return named;
  }
}
