package io.braid.hadoop.slots;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Node;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

/** Where slots come from when nobody is asked. */
class SlotsTest {
  private static String text(Slots slots) {
    return slots.nodes().stream()
        .map(node -> node.host() + "=" + node.slots())
        .collect(Collectors.joining(","));
  }

  private static Configuration conf(String... keysAndValues) {
    Configuration conf = new Configuration(false);
    for (int i = 0; i < keysAndValues.length; i += 2) {
      conf.set(keysAndValues[i], keysAndValues[i + 1]);
    }
    return conf;
  }

  @Test
  void theLimitIsTakenWhereMostIsLeft() {
    Slots slots = Slots.of(Map.of("a", 1, "b", 5, "c", 4, "d", 0), "test");
    assertEquals("a=1,b=5,c=4", text(slots));
    assertEquals("a=1,b=3,c=3", text(slots.atMost(7, "less")));
    assertEquals("a=1,b=1", text(slots.atMost(2, "less")));
    assertEquals("test, less", slots.atMost(2, "less").origin());
    assertEquals(slots, slots.atMost(10, "less"));
  }

  @Test
  void hostsAsWritten() throws Exception {
    SlotSource source = SlotSource.of(conf("braid.input.slots.hosts", "n2 = 3, n1=2,n3=0"));
    assertEquals("n1=2,n2=3", text(source.slots(List.of())));
  }

  @Test
  void nodesAreTheHostsWithMostBytes() throws Exception {
    SlotSource source =
        SlotSource.of(conf("braid.input.slots.nodes", "2", "braid.input.slots.per-node", "4"));
    List<Block> blocks =
        List.of(
            new Block(10, List.of("a", "b")),
            new Block(5, List.of("b", "c")),
            new Block(6, List.of("c")));
    assertEquals("b=4,c=4", text(source.slots(blocks)));
  }

  @Test
  void nodesBeyondTheHostsAreUnnamed() throws Exception {
    SlotSource source = SlotSource.of(conf("braid.input.slots.nodes", "3"));
    List<Node> nodes = source.slots(List.of(new Block(1, List.of("a")))).nodes();
    assertEquals(3, nodes.size());
    assertEquals(2, nodes.stream().filter(node -> Slots.isUnnamed(node.host())).count());
  }

  @Test
  void autoAsksWhomTheJobRunsOn() throws Exception {
    assertInstanceOf(LocalSlots.class, SlotSource.of(conf()));
    assertInstanceOf(LocalSlots.class, SlotSource.of(conf("mapreduce.framework.name", "local")));
    assertInstanceOf(YarnSlots.class, SlotSource.of(conf("mapreduce.framework.name", "yarn")));
    assertInstanceOf(
        StaticSlots.class,
        SlotSource.of(conf("mapreduce.framework.name", "yarn", "braid.input.slots.hosts", "a=1")));
    int cores = Runtime.getRuntime().availableProcessors();
    assertEquals(cores, SlotSource.of(conf()).slots(List.of()).total());
    assertEquals(
        cores + 3,
        SlotSource.of(conf("mapreduce.local.map.tasks.maximum", Integer.toString(cores + 3)))
            .slots(List.of())
            .total());
  }

  @Test
  void localSlotsAreOfThisHost() throws Exception {
    assertTrue(text(SlotSource.of(conf()).slots(List.of())).startsWith("localhost="));
  }
}
