package io.braid.hadoop.slots;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is made of a ResourceManager's answers, and of none. */
class YarnSlotsTest {
  private final Configuration conf = new Configuration(false);
  private final List<YarnCluster.NodeState> nodes = new ArrayList<>();
  private YarnCluster.QueueState queue = queue(1, 0, 0, "", null);

  private static YarnCluster.QueueState queue(
      double maximum, double capacity, long memory, String label, String scheduler) {
    return new YarnCluster.QueueState(maximum, capacity, memory, label, scheduler, "root.dev");
  }

  @BeforeEach
  void mapsOfOneGigabyte() {
    conf.set("mapreduce.map.memory.mb", "1024");
    conf.set("yarn.app.mapreduce.am.resource.mb", "1024");
    conf.set("yarn.scheduler.minimum-allocation-mb", "1024");
  }

  private void node(String host, int memory, int vcores, int usedMemory, String... labels) {
    nodes.add(
        new YarnCluster.NodeState(
            host, memory, vcores, usedMemory, usedMemory / 1024, Set.of(labels)));
  }

  private String slots() throws Exception {
    return counted().nodes().stream()
        .map(node -> node.host() + "=" + node.slots())
        .collect(Collectors.joining(","));
  }

  private Slots counted() throws Exception {
    YarnCluster cluster =
        new YarnCluster() {
          @Override
          public List<NodeState> nodes() {
            return nodes;
          }

          @Override
          public QueueState queue() {
            return queue;
          }
        };
    return new YarnSlots(conf, cluster).slots(List.of());
  }

  @Test
  void theMasterTakesASlotWhereMostAre() throws Exception {
    node("a", 4096, 8, 0);
    node("b", 5120, 8, 0);
    assertEquals("a=4,b=4", slots());
  }

  @Test
  void aBigMasterTakesMore() throws Exception {
    conf.set("yarn.app.mapreduce.am.resource.mb", "1536");
    node("a", 4096, 8, 0);
    node("b", 4096, 8, 0);
    assertEquals("a=2,b=4", slots());
  }

  @Test
  void mapsAreRoundedUpToTheStep() throws Exception {
    conf.set("mapreduce.map.memory.mb", "1025");
    node("a", 8192, 8, 0);
    assertEquals("a=3", slots()); // 8192 less 1024 for the master, by 2048
    conf.set("mapreduce.map.memory.mb", "100");
    assertEquals("a=7", slots());
  }

  @Test
  void theFairSchedulerHasItsOwnStep() throws Exception {
    conf.set("mapreduce.map.memory.mb", "1025");
    conf.set("yarn.resource-types.memory-mb.increment-allocation", "512");
    queue = queue(1, 0, 0, "", "FAIR");
    node("a", 8192, 80, 0);
    assertEquals("a=4", slots()); // 7168 by 1536
  }

  @Test
  void vcoresCountUnlessTheSchedulerIsKnownNotTo() throws Exception {
    node("a", 8192, 4, 0);
    assertEquals("a=3", slots());
    conf.set("braid.input.slots.vcores", "false");
    assertEquals("a=7", slots());
    conf.set("braid.input.slots.vcores", "auto");
    conf.set(
        "yarn.scheduler.capacity.resource-calculator",
        "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator");
    assertEquals("a=7", slots());
    queue = queue(1, 0, 0, "", "FairScheduler");
    assertEquals("a=3", slots());
  }

  @Test
  void bothCountsAreTold() throws Exception {
    node("a", 8192, 4, 0);
    assertEquals(
        "YARN, maps of 1024 MB and 1 vcores: 7 by memory, 3 by vcores", counted().origin());
    queue = queue(1, 0.5, 0, "", "CAPACITY");
    assertTrue(
        counted().origin().endsWith("the queue may have 100 % of them, a user in it 50 %"),
        counted().origin());
  }

  @Test
  void oneUserMayHaveTheQueuesCapacityTimesTheFactor() throws Exception {
    node("a", 11 * 1024, 80, 0);
    node("b", 10 * 1024, 80, 0);
    queue = queue(0.8, 0.25, 0, "", "CAPACITY");
    assertEquals("a=3,b=2", slots());
    conf.set("yarn.scheduler.capacity.root.dev.user-limit-factor", "2");
    assertEquals("a=5,b=5", slots());
    conf.set("braid.input.slots.user-factor", "10");
    assertEquals("a=8,b=8", slots());
    conf.set("braid.input.slots.user-factor", "0");
    assertEquals("a=8,b=8", slots());
    // The fair scheduler knows no such limit.
    conf.set("braid.input.slots.user-factor", "1");
    queue = queue(1, 0.25, 0, "", "FAIR");
    assertEquals("a=10,b=10", slots());
  }

  @Test
  void aMasterOfAnotherLabelTakesNoMapsSlot() throws Exception {
    node("a", 4096, 8, 0, "gpu");
    node("b", 4096, 8, 0);
    conf.set("mapreduce.map.node-label-expression", "gpu");
    assertEquals("a=4", slots());
    conf.set("mapreduce.job.am.node-label-expression", "gpu");
    assertEquals("a=3", slots());
  }

  @Test
  void queuesAreMappedAsTheSchedulerDoes() {
    conf.set(
        "yarn.scheduler.capacity.queue-mappings",
        "u:bob:root.ops,g:eng:dev,u:%user:%secondary_group,u:%user:root.users.%user");
    assertEquals("root.ops", QueueMapping.queue(conf, "default", "bob", List.of("eng")));
    assertEquals("dev", QueueMapping.queue(conf, "default", "amy", List.of("all", "eng")));
    assertEquals("root.users.eve", QueueMapping.queue(conf, "default", "eve", List.of()));
    assertEquals("prod", QueueMapping.queue(conf, "prod", "bob", List.of()));
    conf.set("yarn.scheduler.capacity.queue-mappings-override.enable", "true");
    assertEquals("root.ops", QueueMapping.queue(conf, "prod", "bob", List.of()));
    conf.set("yarn.scheduler.capacity.queue-mappings", "u:%user:%primary_group,nonsense");
    assertEquals("all", QueueMapping.queue(conf, "default", "amy", List.of("all", "eng")));
    conf.unset("yarn.scheduler.capacity.queue-mappings");
    assertEquals("default", QueueMapping.queue(conf, "default", "amy", List.of()));
  }

  @Test
  void freeCountsWhatIsUnused() throws Exception {
    node("a", 8192, 8, 6144);
    node("b", 8192, 8, 1024);
    assertEquals("a=7,b=8", slots());
    conf.set("braid.input.slots.capacity", "free");
    assertEquals("a=2,b=6", slots());
  }

  @Test
  void aFullClusterIsAFailureThatSaysWhatToDo() {
    conf.set("braid.input.slots.capacity", "free");
    node("a", 8192, 8, 8192);
    String message = assertThrows(IOException.class, this::slots).getMessage();
    assertTrue(message.contains("braid.input.slots.capacity=total"), message);
  }

  @Test
  void mapsThatFitNowhereAreAFailure() {
    conf.set("mapreduce.map.memory.mb", "16384");
    node("a", 8192, 8, 0);
    String message = assertThrows(IOException.class, this::slots).getMessage();
    assertTrue(message.contains("16384 MB"), message);
  }

  @Test
  void labelledNodesAreForThoseWhoAsk() throws Exception {
    node("a", 4096, 8, 0);
    node("b", 4096, 8, 0, "gpu");
    assertEquals("a=3", slots());
    conf.set("mapreduce.job.node-label-expression", "gpu");
    assertEquals("b=3", slots());
    conf.unset("mapreduce.job.node-label-expression");
    queue = queue(1, 0, 0, "gpu", null);
    assertEquals("b=3", slots());
    conf.set("mapreduce.job.node-label-expression", "ssd");
    String message = assertThrows(IOException.class, this::slots).getMessage();
    assertTrue(message.contains("ssd"), message);
  }

  @Test
  void nodeManagersOfOneHostAreOneNode() throws Exception {
    node("localhost", 2048, 8, 0);
    node("localhost", 2048, 8, 0);
    assertEquals("localhost=3", slots());
  }

  @Test
  void theQueueTheShareTheReserveAndTheLimitAreKept() throws Exception {
    node("a", 11 * 1024, 80, 0);
    node("b", 10 * 1024, 80, 0);
    assertEquals("a=10,b=10", slots());
    queue = queue(0.5, 0, 0, "", null);
    assertEquals("a=5,b=5", slots());
    conf.set("braid.input.slots.share", "0.4");
    assertEquals("a=2,b=2", slots());
    conf.set("braid.input.slots.reserve", "1");
    assertEquals("a=2,b=1", slots());
    conf.set("mapreduce.job.running.map.limit", "2");
    assertEquals("a=1,b=1", slots());
    conf.set("braid.input.slots.reserve", "1000");
    assertEquals("a=1", slots());
  }

  @Test
  void theFairSchedulersLimitIsAnAmount() throws Exception {
    node("a", 11 * 1024, 80, 0);
    node("b", 11 * 1024, 80, 0);
    queue = queue(1, 0, 11 * 1024, "", "fair");
    assertEquals("a=5,b=5", slots());
  }

  @Test
  void aResourceManagerThatIsNotThere() throws Exception {
    // A port that is taken and that nobody listens at.
    try (Socket socket = new Socket()) {
      socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Configuration dead = new YarnConfiguration();
      dead.set(YarnConfiguration.RM_ADDRESS, "localhost:" + socket.getLocalPort());
      dead.set("braid.input.slots.timeout-ms", "4000");
      failsInTime(dead);
    }
  }

  @Test
  void aResourceManagerThatHangs() throws Exception {
    // Takes the connection and never answers.
    try (ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Configuration hung = new YarnConfiguration();
      hung.set(YarnConfiguration.RM_ADDRESS, "localhost:" + socket.getLocalPort());
      hung.set("braid.input.slots.timeout-ms", "1500");
      failsInTime(hung);
    }
  }

  private static void failsInTime(Configuration conf) {
    long begin = System.nanoTime();
    String message =
        assertThrows(IOException.class, () -> new YarnSlots(conf).slots(List.of())).getMessage();
    long millis = (System.nanoTime() - begin) / 1_000_000;
    assertTrue(message.contains("ResourceManager"), message);
    assertTrue(message.contains("braid.input.slots.timeout-ms"), message);
    // Without a limit the client tries for a quarter of an hour.
    assertTrue(millis < 300_000, millis + " ms");
  }
}
