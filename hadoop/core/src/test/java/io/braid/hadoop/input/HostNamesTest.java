package io.braid.hadoop.input;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Node;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A block's host and a node of another spelling are one machine, where that is certain. */
class HostNamesTest {
  private static HostNames names(String... nodes) {
    List<Node> list = new ArrayList<>();
    for (String node : nodes) {
      list.add(new Node(node, 1));
    }
    return HostNames.of(list);
  }

  @Test
  void caseAndDomainMayDiffer() {
    HostNames names = names("Node1.example.org", "node2", "localhost");
    assertEquals("Node1.example.org", names.name("node1.EXAMPLE.org"));
    assertEquals("Node1.example.org", names.name("node1"));
    assertEquals("node2", names.name("node2.example.org"));
    assertEquals("localhost", names.name("127.0.0.1"));
    assertEquals("node3", names.name("node3"));
  }

  @Test
  void otherDomainsAndAddressesAreOthers() {
    HostNames names = names("node1.east.example.org", "10.0.0.1");
    assertEquals("node1.west.example.org", names.name("node1.west.example.org"));
    assertEquals("10.0.0.2", names.name("10.0.0.2"));
    assertEquals("10.0.0.1", names.name("10.0.0.1"));
    assertEquals("10", names.name("10"));
  }

  @Test
  void whatTwoNodesCouldMeanIsNotGuessed() {
    HostNames names = names("node1.east.example.org", "node1.west.example.org");
    assertEquals("node1", names.name("node1"));
  }

  @Test
  void blocksKeepTheirLengthAndEachHostOnce() {
    Block same = new Block(5, List.of("node1"));
    List<Block> translated =
        names("node1")
            .translated(
                List.of(same, new Block(7, List.of("node1.example.org", "NODE1", "node2"))));
    assertSame(same, translated.get(0));
    assertEquals(7, translated.get(1).length());
    assertEquals(List.of("node1", "node2"), translated.get(1).hosts());
  }
}
