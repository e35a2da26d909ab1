package io.braid.rheakv;

import com.alipay.sofa.jraft.JRaftServiceFactory;
import com.alipay.sofa.jraft.option.NodeOptions;
import com.alipay.sofa.jraft.option.RpcOptions;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;

/**
 * Options of a Raft node whose copies have the same service factory: those of RheaKV's regions are
 * copied when a region is split, and a copy of JRaft's own forgets it.
 */
final class BraidNodeOptions extends NodeOptions {
  private BraidNodeOptions() {}

  static BraidNodeOptions of(NodeOptions from, JRaftServiceFactory factory) {
    BraidNodeOptions made = new BraidNodeOptions();
    for (Class<?> type : new Class<?>[] {NodeOptions.class, RpcOptions.class}) {
      for (Field field : type.getDeclaredFields()) {
        if (!Modifier.isStatic(field.getModifiers())) {
          try {
            field.setAccessible(true);
            field.set(made, field.get(from));
          } catch (IllegalAccessException e) {
            throw new IllegalStateException("this version of JRaft has other NodeOptions: use"
                + " jraft-core 1.3.15.bugfix", e);
          }
        }
      }
    }
    made.setServiceFactory(factory);
    return made;
  }

  @Override
  public NodeOptions copy() {
    return of(super.copy(), getServiceFactory());
  }
}
