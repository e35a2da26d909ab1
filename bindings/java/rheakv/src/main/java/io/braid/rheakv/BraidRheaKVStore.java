package io.braid.rheakv;

import com.alipay.sofa.jraft.rhea.StateListenerContainer;
import com.alipay.sofa.jraft.rhea.StoreEngine;
import com.alipay.sofa.jraft.rhea.client.DefaultRheaKVStore;
import com.alipay.sofa.jraft.rhea.options.RheaKVStoreOptions;
import com.alipay.sofa.jraft.rhea.options.StoreEngineOptions;
import java.lang.reflect.Field;

/**
 * RheaKV with its data in braid: {@code new BraidRheaKVStore()} in the place of {@code new
 * DefaultRheaKVStore()}, with the same options, is all that an application changes. The storage type
 * of the options has no effect. Without options of a store engine it is a client, as the other is.
 */
public final class BraidRheaKVStore extends DefaultRheaKVStore {
  private final BraidStoreOptions options;

  public BraidRheaKVStore() {
    this(new BraidStoreOptions());
  }

  public BraidRheaKVStore(BraidStoreOptions options) {
    this.options = options;
  }

  /**
   * As RheaKV's own: false when something of RheaKV fails, which its log explains. A pool that can't
   * be opened is a StorageException that says what to do.
   */
  @Override
  public synchronized boolean init(RheaKVStoreOptions given) {
    StoreEngineOptions engineOptions = given.getStoreEngineOptions();
    if (engineOptions == null || getStoreEngine() != null) {
      return super.init(given);
    }
    // RheaKV makes its own engine where it sees options of one.
    given.setStoreEngineOptions(null);
    boolean client;
    try {
      client = super.init(given);
    } finally {
      given.setStoreEngineOptions(engineOptions);
    }
    boolean done = false;
    try {
      done = client && start(given, engineOptions);
    } finally {
      if (!done) {
        super.shutdown();
      }
    }
    return done;
  }

  private boolean start(RheaKVStoreOptions given, StoreEngineOptions engineOptions) {
    engineOptions.setInitialServerList(given.getInitialServerList());
    BraidStoreEngine engine =
        new BraidStoreEngine(getPlacementDriverClient(), listeners(), options);
    if (!engine.init(engineOptions)) {
      return false;
    }
    try {
      field("storeEngine").set(this, engine);
    } catch (IllegalAccessException e) {
      engine.shutdown();
      throw unknown("storeEngine", e);
    }
    return true;
  }

  @SuppressWarnings("unchecked")
  private StateListenerContainer<Long> listeners() {
    try {
      return (StateListenerContainer<Long>) field("stateListenerContainer").get(this);
    } catch (IllegalAccessException e) {
      throw unknown("stateListenerContainer", e);
    }
  }

  /** The engine is private, and has no setter. */
  private static Field field(String name) {
    try {
      Field found = DefaultRheaKVStore.class.getDeclaredField(name);
      if (!found.getType().isAssignableFrom(StoreEngine.class)
          && !found.getType().isAssignableFrom(StateListenerContainer.class)) {
        throw unknown(name, null);
      }
      found.setAccessible(true);
      return found;
    } catch (NoSuchFieldException e) {
      throw unknown(name, e);
    }
  }

  private static IllegalStateException unknown(String name, Exception cause) {
    return new IllegalStateException("this version of RheaKV has no DefaultRheaKVStore." + name
        + " as braid knows it: use jraft-rheakv-core 1.3.15.bugfix", cause);
  }
}
