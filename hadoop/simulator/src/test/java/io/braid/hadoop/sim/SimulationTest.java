package io.braid.hadoop.sim;

import static io.braid.hadoop.sim.ClusterSpec.MIB;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.plan.Costs;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Whole jobs against closed forms: what each should take can be worked out by hand. */
class SimulationTest {
  private static final double START = 1 + 2 + 3 + 4; // master, scheduling, launch, start-up
  private static final double HUGE = 1e15;

  /** Start-up takes 10 s in all; disks and network cost nothing unless a test sets them. */
  private static ClusterSpec cluster(int nodes, int slots) {
    return ClusterSpec.dissertation()
        .nodes(nodes, slots)
        .racks(1)
        .rates(HUGE, HUGE, HUGE)
        .master(1, 2)
        .start(3, 4, 1, 0)
        .localityDelay(0);
  }

  /** A map takes 5 s a block. */
  private static JobSpec job(int blocks) {
    return new JobSpec("test").input(blocks * (1L << 20), 1L << 20, 3).map(5 / MIB, 0, 0);
  }

  private static double seconds(ClusterSpec cluster, JobSpec job) {
    return run(cluster, job).jobs().get(0).seconds();
  }

  private static SimResult run(ClusterSpec cluster, JobSpec... jobs) {
    return new Simulation(cluster, Simulation.Discipline.FAIR, 1).run(List.of(jobs), 0.5);
  }

  /** So many blocks to a split, all of which prefer one node (or none, if negative). */
  private static Splitter groups(int size, int node) {
    return (file, nodes, slots) -> {
      List<Split> splits = new ArrayList<>();
      for (int from = 0; from < file.blocks(); from += size) {
        int[] blocks = new int[Math.min(size, file.blocks() - from)];
        for (int i = 0; i < blocks.length; ++i) {
          blocks[i] = from + i;
        }
        splits.add(new Split(blocks, node < 0 ? new int[0] : new int[] {node}));
      }
      return new Splitter.Outcome(splits, "groups", "a test");
    };
  }

  @Test
  void oneWaveTakesAStartAndABlock() {
    assertEquals(START + 5, seconds(cluster(4, 2), job(8)), 1e-6);
  }

  @Test
  void aWaveMoreTakesASchedulingAStartAndABlockMore() {
    assertEquals(START + 5 + 2 * (9 + 5), seconds(cluster(4, 2), job(17)), 1e-6);
  }

  @Test
  void aContainerOfManyBlocksStartsOnce() {
    assertEquals(START + 8 * 5, seconds(cluster(4, 2), job(64).split(groups(8, -1))), 1e-6);
  }

  @Test
  void theSlotsOfANodeShareItsDisk() {
    // 8 readers of 1 MiB at 0.1 MiB/s in all: 80 s, more than the 5 s of work that overlap.
    ClusterSpec cluster = cluster(1, 8).rates(0.1 * MIB, HUGE, HUGE);
    assertEquals(START + 80, seconds(cluster, job(8)), 1e-6);
  }

  @Test
  void coresAreSharedByNodesOfOneMachine() {
    // 4 nodes of 2 slots on 4 cores: start-up and work take twice as long.
    ClusterSpec cluster = cluster(4, 2).cores(4, 4);
    assertEquals(1 + 2 + 3 + 2 * 4 + 2 * 5, seconds(cluster, job(8)), 1e-6);
  }

  @Test
  void aRemoteReadIsLimitedByThePort() {
    ClusterSpec cluster = cluster(2, 1).rates(HUGE, MIB / 60, HUGE).localityDelay(99);
    JobSpec job = job(1).input(1 << 20, 1 << 20, 1);
    int holder = new Placement(job, cluster.rackOfNodes(), new Noise(1).part(0)).node(0, 0);
    assertEquals(START + 5, seconds(cluster, job.split(groups(1, holder))), 1e-6);
    assertEquals(START + 60, seconds(cluster, job.split(groups(1, 1 - holder))), 1e-6);
  }

  @Test
  void anUplinkIsSharedByItsRack() {
    // One copy a block: readers of the other rack share the uplink of 1 MiB a minute.
    ClusterSpec cluster = cluster(2, 8).racks(2).rates(HUGE, HUGE, MIB / 60).localityDelay(99);
    JobSpec job = job(8).input(8 << 20, 1 << 20, 1);
    int crossing = 0;
    Placement placement = new Placement(job, cluster.rackOfNodes(), new Noise(1).part(0));
    for (int i = 0; i < 8; ++i) {
      crossing += placement.node(i, 0) == 1 ? 1 : 0;
    }
    assertTrue(crossing > 0);
    assertEquals(START + 60 * crossing, seconds(cluster, job.split(groups(1, 0))), 1e-6);
  }

  @Test
  void twoJobsShareTheSlotsEvenly() {
    SimResult result = run(cluster(4, 2), job(40), job(40));
    // 80 blocks on 8 slots: 10 waves; the jobs alternate, so both end with the last.
    for (JobResult job : result.jobs()) {
      assertEquals(START + 5 + 9 * 14, job.seconds(), 1e-6);
    }
    for (SimResult.Sample sample : result.samples) {
      if (sample.time > 1 && sample.time < 120) {
        assertEquals(4, sample.running[0], "at " + sample.time);
        assertEquals(4, sample.running[1], "at " + sample.time);
      }
    }
    assertEquals(1, result.fairness(), 1e-9);
  }

  @Test
  void aLaterJobGetsItsShareAsSlotsBecomeFree() {
    SimResult result = run(cluster(4, 2), job(80), job(4).submit(20));
    // At 29 s the first wave ends, and all four maps of the second job get a slot of the next.
    assertEquals(1 + 14 + 14 + 14 - 20, result.jobs().get(1).seconds(), 1e-6);
  }

  @Test
  void fifoServesTheFirstJobFirst() {
    SimResult result =
        new Simulation(cluster(4, 2), Simulation.Discipline.FIFO, 1).run(List.of(job(16), job(16)));
    assertEquals(START + 5 + 14, result.jobs().get(0).seconds(), 1e-6);
    assertEquals(START + 5 + 3 * 14, result.jobs().get(1).seconds(), 1e-6);
  }

  @Test
  void withoutDelayAJobRunsWhereverThereIsASlot() {
    SimResult result = run(cluster(2, 2), job(4).split(groups(1, 0)));
    assertEquals(START + 5, result.jobs().get(0).seconds(), 1e-6);
    assertEquals(2, result.jobs().get(0).localMaps);
  }

  @Test
  void aJobWaitsForItsNodeAsLongAsTheDelaySays() {
    // In one rack: 7 s for a node, then the other node's two slots are taken as rack-local.
    SimResult result = run(cluster(2, 2).localityDelay(7), job(4).split(groups(1, 0)));
    assertEquals(START + 5 + 7, result.jobs().get(0).seconds(), 1e-6);
    assertEquals(2, result.jobs().get(0).localMaps);
    assertEquals(2, result.jobs().get(0).rackMaps);
    // In two racks twice as long.
    SimResult apart = run(cluster(2, 2).racks(2).localityDelay(6), job(4).split(groups(1, 0)));
    assertEquals(START + 5 + 12, apart.jobs().get(0).seconds(), 1e-6);
    // A longer delay than a map's life keeps all on the node.
    SimResult patient = run(cluster(2, 2).localityDelay(100), job(4).split(groups(1, 0)));
    assertEquals(START + 5 + 14, patient.jobs().get(0).seconds(), 1e-6);
    assertEquals(4, patient.jobs().get(0).localMaps);
  }

  @Test
  void reducersStartAfterTheMapsAndFetchAll() {
    // One node: nothing crosses the network. Reducers start once all maps are done; 2 MiB each at 3
    // s.
    ClusterSpec cluster = cluster(1, 4).slowstart(1);
    JobSpec job = job(4).map(5 / MIB, 1, 0).reduce(2, 3 / MIB, 0, 1);
    SimResult result = run(cluster, job);
    assertEquals(START + 5 + 9 + 6, result.jobs().get(0).seconds(), 1e-6);
    assertEquals(4 * MIB, result.shuffledBytes, 1e-3);
  }

  @Test
  void slowStartHidesTheShuffleBehindTheMaps() {
    // Half of 160 MiB crosses to the reducer's node at 1 MiB/s.
    ClusterSpec cluster = cluster(2, 8).rates(HUGE, MIB, HUGE);
    JobSpec job = job(160).map(5 / MIB, 1, 0).reduce(1, 0, 0, 1);
    double late = seconds(cluster.slowstart(1), job);
    assertEquals(START + 5 + 9 * 14 + 9 + 80, late, 5);
    double early = seconds(cluster.slowstart(0.05), job);
    assertTrue(early < late - 60, early + " against " + late);
  }

  @Test
  void reducersThatStartEarlyTakeSlotsFromMaps() {
    JobSpec job = job(400).map(5 / MIB, 1, 0).reduce(4, 0, 0, 1);
    assertEquals(START + 5 + 24 * 14 + 9, seconds(cluster(4, 4).slowstart(1), job), 1e-6);
    // A first wave on 16 slots; then 4 reducers, a few at a time, hold 4 of them: 384 maps on 12
    // slots.
    double early = seconds(cluster(4, 4).slowstart(0.04), job);
    assertTrue(early > START + 5 + 30 * 14 && early <= START + 5 + 32 * 14, "" + early);
  }

  @Test
  void theOutputIsWrittenWithItsCopies() {
    // 4 MiB at 1 MiB/s: on a node by itself 4 s; with a copy, through the port of 0.5 MiB/s, 8 s.
    ClusterSpec cluster = cluster(2, 2).slowstart(1).rates(MIB, MIB / 2, HUGE);
    JobSpec base = job(1).input(4 << 20, 4 << 20, 2).map(0, 1, 0);
    double none = seconds(cluster, base.reduce(1, 0, 0, 1));
    assertEquals(none + 4, seconds(cluster, base.reduce(1, 0, 1, 1)), 1e-6);
    assertEquals(none + 8, seconds(cluster, base.reduce(1, 0, 1, 2)), 1e-6);
  }

  @Test
  void anEmptyInputIsAJobThatEnds() {
    assertEquals(1, seconds(cluster(2, 2), job(0)), 1e-6);
    assertEquals(START, seconds(cluster(2, 2), job(0).reduce(1, 0, 0, 1)), 1e-6);
  }

  @Test
  void aProcessThatEndsKeepsItsSlotButNotItsJob() {
    // 3 core seconds after each map: the second wave waits for them, the job's end does not; then 7
    // s.
    ClusterSpec cluster = cluster(4, 2).stop(3, 7);
    assertEquals(START + 5 + 7, seconds(cluster, job(8)), 1e-6);
    assertEquals(START + 5 + 3 + 14 + 7, seconds(cluster, job(9)), 1e-6);
  }

  @Test
  void theHistoryOfARunTellsThePlannerWhatAContainerTakes() {
    ClusterSpec cluster = cluster(4, 2);
    Costs alone = Skew.measuredCosts(cluster, job(100).skew(0.3, 0.4));
    assertEquals(9, alone.startSeconds(), 1e-6);
    assertEquals(MIB / 5, alone.bytesPerSecond(), 0.2 * MIB / 5);
    assertEquals(0.3, alone.blockSpread(), 0.1);
    // Two readers share a disk that needs 20 s for a block: the processor's spread is not seen.
    Costs disk = Skew.measuredCosts(cluster.rates(0.1 * MIB, HUGE, HUGE), job(100).skew(0.3, 0.4));
    assertEquals(MIB / 20, disk.bytesPerSecond(), 0.1 * MIB / 20);
    assertTrue(disk.containerSpread() < 0.1, "" + disk.containerSpread());
  }
}
