package io.braid.hadoop.sim;

import java.util.function.ToDoubleFunction;

/**
 * The machines' processors, disks and network ports and the racks' uplinks, as shared resources. A
 * transfer uses all that lie on its way at the same time and is over when the slowest is. Confined
 * to the simulation's thread.
 */
final class Hardware {
  private final Engine engine;
  private final int[] rackOf;
  private final int nodesPerMachine;
  private final SharedResource[] cores;
  private final SharedResource[] disks;
  private final SharedResource[] in;
  private final SharedResource[] out;
  private final SharedResource[] rackIn;
  private final SharedResource[] rackOut;

  /**
   * A node's slowness divides its disk's rate; its processor's work is multiplied by the caller.
   */
  Hardware(Engine engine, ClusterSpec cluster, double[] slowness) {
    this.engine = engine;
    rackOf = cluster.rackOfNodes();
    nodesPerMachine = cluster.nodesPerMachine;
    int machines = (cluster.nodes + nodesPerMachine - 1) / nodesPerMachine;
    int racks = rackOf[rackOf.length - 1] + 1;
    cores = make(machines, cluster.cores, 1);
    disks = new SharedResource[cluster.nodes];
    for (int i = 0; i < cluster.nodes; ++i) {
      disks[i] =
          engine.resource(cluster.diskBytesPerSecond / slowness[i], SharedResource.UNLIMITED);
    }
    in = make(cluster.nodes, cluster.portBytesPerSecond, SharedResource.UNLIMITED);
    out = make(cluster.nodes, cluster.portBytesPerSecond, SharedResource.UNLIMITED);
    rackIn = make(racks, cluster.uplinkBytesPerSecond, SharedResource.UNLIMITED);
    rackOut = make(racks, cluster.uplinkBytesPerSecond, SharedResource.UNLIMITED);
  }

  private SharedResource[] make(int count, double capacity, double limit) {
    SharedResource[] made = new SharedResource[count];
    for (int i = 0; i < count; ++i) {
      made[i] = engine.resource(capacity, limit);
    }
    return made;
  }

  int[] rackOf() {
    return rackOf;
  }

  /** So many core seconds, on so many cores at once if they are free. */
  void compute(Activity activity, int node, double seconds, double threads) {
    engine.serve(cores[node / nodesPerMachine], seconds, threads, activity);
  }

  void disk(Activity activity, int node, double bytes) {
    engine.serve(disks[node], bytes, 1, activity);
  }

  /** From one node to another; nothing within a node. */
  void send(Activity activity, int from, int to, double bytes) {
    if (from == to) {
      return;
    }
    engine.serve(out[from], bytes, 1, activity);
    engine.serve(in[to], bytes, 1, activity);
    if (rackOf[from] != rackOf[to]) {
      engine.serve(rackOut[rackOf[from]], bytes, 1, activity);
      engine.serve(rackIn[rackOf[to]], bytes, 1, activity);
    }
  }

  double computed() {
    return sum(cores, resource -> resource.served(engine.now()));
  }

  double diskBytes() {
    return sum(disks, resource -> resource.served(engine.now()));
  }

  double networkBytes() {
    return sum(in, resource -> resource.served(engine.now()));
  }

  private static double sum(SharedResource[] all, ToDoubleFunction<SharedResource> value) {
    double total = 0;
    for (SharedResource resource : all) {
      total += value.applyAsDouble(resource);
    }
    return total;
  }
}
