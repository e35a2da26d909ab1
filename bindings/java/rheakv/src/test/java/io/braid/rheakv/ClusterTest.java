package io.braid.rheakv;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.braid.testing.Folders;
import java.io.File;
import org.junit.jupiter.api.Test;

/** Cluster, as short as it shows something: the leader is killed once. */
class ClusterTest extends Folders {
  @Test
  void leadersAreKilledAndNothingIsLost() throws Exception {
    // Four processes beside a build get too little of two processors to elect a leader.
    assumeTrue(isNight());
    File folder = folder();
    long seed = seed();
    new Cluster(folder.toPath(), true, seed, text -> System.err.println("seed " + seed + ": " + text))
        .run(isNight() ? 20 : 1, null);
  }
}
