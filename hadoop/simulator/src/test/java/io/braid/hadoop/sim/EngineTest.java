package io.braid.hadoop.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Processor sharing against what can be worked out by hand. */
class EngineTest {
  private final Engine engine = new Engine();
  private final List<String> ends = new ArrayList<>();

  private Activity named(String name) {
    return new Activity() {
      @Override
      void done() {
        ends.add(name + "@" + Math.round(engine.now() * 1e6) / 1e6);
      }
    };
  }

  private void serve(SharedResource resource, double amount, double weight, String name) {
    Activity activity = named(name);
    engine.serve(resource, amount, weight, activity);
    engine.begin(activity);
  }

  @Test
  void aSingleDemandHasTheWholeResource() {
    SharedResource disk = engine.resource(100, SharedResource.UNLIMITED);
    serve(disk, 250, 1, "a");
    engine.run();
    assertEquals(List.of("a@2.5"), ends);
    assertEquals(250, disk.served(engine.now()), 1e-9);
  }

  @Test
  void demandsShareEvenlyAndALaterOneSlowsTheFirst() {
    SharedResource disk = engine.resource(100, SharedResource.UNLIMITED);
    serve(disk, 300, 1, "a"); // alone until 1 (100), then half: 200 more take 4 s
    engine.after(1, () -> serve(disk, 50, 1, "b")); // 50 at half speed: 1 s
    engine.run();
    // b ends at 2, when a has had 150; the other 150 take 1.5 s.
    assertEquals(List.of("b@2.0", "a@3.5"), ends);
    assertEquals(350, disk.served(engine.now()), 1e-9);
  }

  @Test
  void aDemandGetsNoMoreThanItsLimit() {
    SharedResource cores = engine.resource(4, 1);
    serve(cores, 3, 1, "one thread");
    serve(cores, 6, 3, "three threads");
    engine.run();
    assertEquals(List.of("three threads@2.0", "one thread@3.0"), ends);
  }

  @Test
  void weightsShareACrowdedResource() {
    SharedResource cores = engine.resource(4, 1);
    for (int i = 0; i < 8; ++i) {
      serve(cores, 6.7, 2.5, "c" + i); // 20 threads on 4 cores: 8 * 6.7 / 4 s
    }
    engine.run();
    assertEquals(8, ends.size());
    assertEquals("c7@13.4", ends.get(7));
  }

  @Test
  void anActivityEndsWithItsSlowestResource() {
    SharedResource fast = engine.resource(10, SharedResource.UNLIMITED);
    SharedResource slow = engine.resource(1, SharedResource.UNLIMITED);
    Activity both = named("both");
    engine.serve(fast, 10, 1, both);
    engine.serve(slow, 7, 1, both);
    engine.begin(both);
    engine.run();
    assertEquals(List.of("both@7.0"), ends);
  }

  @Test
  void anActivityWithoutDemandsEndsAtOnce() {
    serve(engine.resource(1, 1), 0, 1, "nothing");
    engine.run();
    assertEquals(List.of("nothing@0.0"), ends);
  }

  @Test
  void eventsOfOneMomentKeepTheirOrder() {
    SharedResource disk = engine.resource(1, SharedResource.UNLIMITED);
    for (int i = 0; i < 5; ++i) {
      serve(disk, 1, 1, "d" + i);
    }
    engine.run();
    assertEquals(List.of("d0@5.0", "d1@5.0", "d2@5.0", "d3@5.0", "d4@5.0"), ends);
  }

  @Test
  void manyDemandsOnManyResourcesLoseNothing() {
    Noise noise = new Noise(3);
    List<SharedResource> resources = new ArrayList<>();
    double asked = 0;
    for (int i = 0; i < 50; ++i) {
      resources.add(engine.resource(1 + i, 1 + i % 3));
    }
    for (int i = 0; i < 5000; ++i) {
      double amount = 1 + noise.uniform(Noise.Stream.BLOCK, i) * 1e6;
      SharedResource resource = resources.get(noise.below(Noise.Stream.SOURCE, i, 50));
      String name = "d" + i;
      asked += amount;
      engine.after(
          noise.uniform(Noise.Stream.START, i) * 1e6, () -> serve(resource, amount, 1, name));
    }
    engine.run();
    double served = 0;
    for (SharedResource resource : resources) {
      served += resource.served(engine.now());
    }
    assertEquals(5000, ends.size());
    assertEquals(asked, served, asked * 1e-9);
  }

  @Test
  void aResourceWithoutCapacityIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> engine.resource(0, 1));
  }
}
