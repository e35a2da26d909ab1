package com.alipay.sofa.jraft.rhea.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.alipay.sofa.jraft.Lifecycle;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * The store in memory, which this one says that it is, has not one operation that this one does not
 * have: one that a new version of RheaKV adds would store its data there, silently.
 */
class NothingIsInheritedTest {
  private static String signature(Method method) {
    return method.getName() + Arrays.toString(method.getParameterTypes());
  }

  /** What the base does without a store. */
  private static final Set<String> PURE = Set.of("getSafeEndValueForSequence[long, int]",
      "normalizeLimit[int]");

  @Test
  void everyOperationIsOverridden() {
    Set<String> own = new TreeSet<>();
    for (Method method : BraidRawKVStore.class.getDeclaredMethods()) {
      own.add(signature(method));
    }
    Set<String> missing = new TreeSet<>();
    int seen = 0;
    for (Class<?> type : List.of(MemoryRawKVStore.class, BatchRawKVStore.class,
        BaseRawKVStore.class, RawKVStore.class, Lifecycle.class)) {
      for (Method method : type.getDeclaredMethods()) {
        int modifiers = method.getModifiers();
        if (Modifier.isStatic(modifiers) || Modifier.isPrivate(modifiers) || method.isSynthetic()
            || PURE.contains(signature(method))) {
          continue;
        }
        ++seen;
        if (!own.contains(signature(method))) {
          missing.add(type.getSimpleName() + "." + signature(method));
        }
      }
    }
    assertEquals(Set.of(), missing, "inherited from RheaKV, and would use its maps in memory");
    assertEquals(true, seen > 60, "only " + seen + " methods were looked at");
  }
}
