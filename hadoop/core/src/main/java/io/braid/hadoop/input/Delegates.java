package io.braid.hadoop.input;

import io.braid.hadoop.conf.Keys;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.ReflectionUtils;

/** Makes the input format that finds the splits and reads the records. Stateless. */
public final class Delegates {
  private Delegates() {}

  /**
   * A new delegate, configured if it is Configurable or JobConfigurable.
   *
   * @param api the InputFormat of the job's API
   * @param standard what it is when the key is not set
   * @param self the coalescing format, which can't be its own delegate
   */
  public static <F> F create(
      Configuration conf, Class<F> api, Class<? extends F> standard, Class<? extends F> self) {
    Class<? extends F> type = Keys.DELEGATE.isSet(conf) ? named(conf, api) : standard;
    if (self.isAssignableFrom(type)) {
      throw new IllegalArgumentException(
          Keys.DELEGATE.name()
              + " can't be "
              + type.getName()
              + " itself: name the input format that is to find the splits");
    }
    return ReflectionUtils.newInstance(type, conf);
  }

  private static <F> Class<? extends F> named(Configuration conf, Class<F> api) {
    String name = Keys.DELEGATE.text(conf);
    Class<?> type;
    try {
      type = conf.getClassByName(name);
    } catch (ClassNotFoundException e) {
      throw new IllegalArgumentException(
          Keys.DELEGATE.name()
              + " can't be \""
              + name
              + "\": no such class is on the class path (-libjars and HADOOP_CLASSPATH add to it)",
          e);
    }
    if (!api.isAssignableFrom(type)) {
      throw new IllegalArgumentException(
          Keys.DELEGATE.name()
              + " can't be "
              + name
              + ": allowed are classes of the job's API, "
              + api.getName()
              + (api.isInterface() ? " and what implements it" : " and what extends it"));
    }
    return type.asSubclass(api);
  }
}
