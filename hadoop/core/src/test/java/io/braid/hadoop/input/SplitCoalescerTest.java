package io.braid.hadoop.input;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.slots.SlotSource;
import io.braid.hadoop.slots.Slots;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.SplitLocationInfo;
import org.junit.jupiter.api.Test;

/** Any failure on the way to a plan gives the delegate's splits; a plan gives each of them once. */
class SplitCoalescerTest {
  /** Splits are names; what is made of them is a list in text. */
  private static class Names implements SplitCoalescer.Api<String> {
    final List<ChildSplits<String>> made = new ArrayList<>();
    UnaryOperator<String> kinds = split -> "";

    @Override
    public long length(String split) {
      return split.startsWith("?") ? -1 : 100; // some formats don't know
    }

    @Override
    public String[] locations(String split) {
      return new String[] {"h" + split.length() % 3};
    }

    @Override
    public SplitLocationInfo[] locationInfo(String split) {
      return null;
    }

    @Override
    public String kind(String split) {
      return kinds.apply(split);
    }

    @Override
    public String coalesced(ChildSplits<String> children, boolean isFileShown) {
      made.add(children);
      assertFalse(isFileShown);
      return "group " + made.size();
    }
  }

  private final Names names = new Names();
  private final Configuration conf = new Configuration(false);
  private final List<String> splits =
      List.of("a", "bb", "ccc", "dddd", "?eeee", "ffffff", "g", "hh", "iii");

  private List<String> coalesced(SlotSource source) {
    conf.set(Keys.POLICY.name(), "maximum");
    return new SplitCoalescer<>(conf, names, source).coalesce(splits);
  }

  @Test
  void aPlanHasEachSplitOnce() {
    List<String> groups = coalesced(blocks -> Slots.of(Map.of("h0", 2, "h1", 1), "test"));
    assertEquals(3, groups.size());
    List<String> children = new ArrayList<>();
    long length = 0;
    for (ChildSplits<String> group : names.made) {
      for (int i = 0; i < group.size(); ++i) {
        children.add(group.child(i));
      }
      length += group.totalLength();
      assertTrue(group.preferredHosts().size() <= 3, group.preferredHosts().toString());
    }
    assertEquals(splits.size(), children.size());
    assertEquals(new TreeSet<>(splits), new TreeSet<>(children));
    assertEquals(800, length);
  }

  @Test
  void splitsOfDifferentKindsStayApart() {
    names.kinds = split -> split.length() == 1 ? "single" : "several";
    List<String> groups = coalesced(blocks -> Slots.of(Map.of("h0", 1), "test"));
    assertEquals(2, groups.size());
    List<String> children = new ArrayList<>();
    for (ChildSplits<String> group : names.made) {
      for (int i = 0; i < group.size(); ++i) {
        assertEquals(names.kind(group.child(0)), names.kind(group.child(i)));
        children.add(group.child(i));
      }
    }
    assertEquals(splits.size(), children.size());
    assertEquals(new TreeSet<>(splits), new TreeSet<>(children));
  }

  @Test
  void failuresGiveTheDelegatesSplits() {
    assertSame(
        splits,
        coalesced(
            blocks -> {
              throw new IOException("scripted");
            }));
    assertSame(
        splits,
        coalesced(
            blocks -> {
              throw new IllegalStateException();
            }));
    assertSame(
        splits,
        coalesced(
            blocks -> {
              throw new NoClassDefFoundError("org/apache/hadoop/yarn/Client");
            }));
    assertSame(splits, coalesced(blocks -> Slots.of(Map.of("h0", 0), "test")));
    assertSame(
        splits,
        coalesced(
            blocks -> {
              throw new StackOverflowError();
            }));
    assertSame(
        splits,
        coalesced(
            blocks -> {
              throw new AssertionError("scripted");
            }));
    assertEquals(List.of(), names.made);
  }

  @Test
  void anInterruptIsKept() {
    assertSame(
        splits,
        coalesced(
            blocks -> {
              throw new InterruptedException();
            }));
    assertTrue(Thread.interrupted());
  }

  @Test
  void thePlanIsOnTheJobsPage() {
    conf.set(Keys.POLICY.name(), "auto");
    SlotSource source = blocks -> Slots.of(Map.of("h0", 2, "h1", 1), "test");
    new SplitCoalescer<>(conf, names, source).coalesce(splits);
    assertTrue(conf.get("braid.plan.reason").contains("assumed"), conf.get("braid.plan.reason"));
    assertTrue(conf.get("braid.plan.costs.1").contains("6.58 s"), conf.get("braid.plan.costs.1"));
    String first = conf.get("braid.plan.forecast.01");
    assertTrue(first.startsWith("none: 9 containers"), first);
    conf.set(Keys.POLICY.name(), "maximum");
    new SplitCoalescer<>(conf, names, source).coalesce(splits);
    assertEquals("maximum", conf.get("braid.plan.policy"));
    assertEquals(null, conf.get("braid.plan.forecast.01"));
  }

  /** Object stores call every block's host localhost. */
  @Test
  void hereIsNoHostUnlessANodeIsCalledSo() throws Exception {
    Names here =
        new Names() {
          @Override
          public String[] locations(String split) {
            return new String[] {"localhost"};
          }
        };
    conf.set(Keys.POLICY.name(), "maximum");
    conf.set(Keys.SLOT_NODES.name(), "3");
    assertEquals(3, new SplitCoalescer<>(conf, here, SlotSource.of(conf)).coalesce(splits).size());
    for (ChildSplits<String> group : here.made) {
      assertEquals(3, group.size());
      assertEquals(List.of(), group.preferredHosts());
      assertEquals(List.of(), group.hosts(0));
    }
    here.made.clear();
    new SplitCoalescer<>(conf, here, blocks -> Slots.of(Map.of("localhost", 2), "test"))
        .coalesce(splits);
    assertEquals(List.of("localhost"), here.made.get(0).preferredHosts());
  }

  @Test
  void nobodyIsAskedWhenNothingIsToBeDone() {
    conf.set(Keys.POLICY.name(), "none");
    SlotSource source =
        blocks -> {
          throw new AssertionError("asked");
        };
    assertSame(splits, new SplitCoalescer<>(conf, names, source).coalesce(splits));
    conf.set(Keys.POLICY.name(), "maximum");
    List<String> none = List.of();
    assertSame(none, new SplitCoalescer<>(conf, names, source).coalesce(none));
  }

  @Test
  void nodesWithoutNamesAreNobodysPreference() throws Exception {
    conf.set(Keys.SLOT_NODES.name(), "20");
    coalesced(SlotSource.of(conf));
    assertFalse(names.made.isEmpty());
    for (ChildSplits<String> group : names.made) {
      for (String host : group.preferredHosts()) {
        assertTrue(host.matches("h[012]"), host);
      }
    }
  }
}
