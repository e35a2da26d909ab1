package io.braid.hadoop.slots;

import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.plan.Block;
import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.MRJobConfig;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Slots as the ResourceManager's nodes have room for map containers, less what the application
 * master takes, and no more than the queue may have. Nodes that don't run (unhealthy, lost,
 * decommissioned) and nodes of a label that the job does not ask for are left out. Immutable.
 */
final class YarnSlots implements SlotSource {
  private final Configuration conf;
  private final YarnCluster cluster;
  private final boolean isFreeWanted;
  private final double share;
  private final int reserve;
  private final int timeoutMillis;

  YarnSlots(Configuration conf) {
    this(conf, null);
  }

  /** {@code cluster} is for tests; null means the one that the configuration names. */
  YarnSlots(Configuration conf, YarnCluster cluster) {
    this.conf = new Configuration(conf);
    // The scheduler's own, for what the ResourceManager does not tell; not all clients have it.
    this.conf.addResource("capacity-scheduler.xml");
    this.cluster = cluster;
    isFreeWanted = Keys.SLOT_CAPACITY.choice(conf).equals("free");
    share = Keys.SLOT_SHARE.real(conf);
    reserve = Keys.SLOT_RESERVE.whole(conf);
    timeoutMillis = Keys.SLOT_TIMEOUT.whole(conf);
    Keys.SLOT_VCORES.check(conf);
    Keys.SLOT_USER_FACTOR.check(conf);
  }

  @Override
  public Slots slots(List<Block> blocks) throws IOException, InterruptedException {
    UserGroupInformation user = UserGroupInformation.getCurrentUser();
    PrivilegedExceptionAction<Slots> ask = this::ask;
    return TimeLimit.call(
        () -> user.doAs(ask),
        timeoutMillis,
        "the ResourceManager (" + Keys.SLOT_TIMEOUT.name() + " is its time limit)");
  }

  private Slots ask() throws IOException {
    if (cluster != null) {
      return count(cluster.queue(), cluster.nodes());
    }
    try (YarnConnection connection = new YarnConnection(conf, timeoutMillis)) {
      return count(connection.queue(), connection.nodes());
    }
  }

  private Slots count(YarnCluster.QueueState queue, List<YarnCluster.NodeState> nodes)
      throws IOException {
    boolean isFair =
        queue.scheduler != null
            ? queue.scheduler.toLowerCase(Locale.ROOT).contains("fair")
            : ContainerSize.isFair(conf);
    boolean isWithVcores = ContainerSize.areVcoresCounted(conf, isFair);
    ContainerSize map = ContainerSize.ofMap(conf, isFair);
    List<Room> rooms = rooms(queue, nodes);
    if (rooms.isEmpty()) {
      throw new IOException(
          "none of the "
              + nodes.size()
              + " nodes that run takes the job's "
              + "containers (node label \""
              + label(queue)
              + "\")");
    }
    if (label(queue, MRJobConfig.AM_NODE_LABEL_EXP).equals(label(queue))) {
      placeMaster(rooms, map, ContainerSize.ofMaster(conf, isFair), isWithVcores);
    }
    Map<String, Integer> perHost = new TreeMap<>();
    long byMemory = 0;
    long byVcores = 0;
    for (Room room : rooms) {
      perHost.merge(room.host, map.fitting(room.memory, room.vcores, isWithVcores), Integer::sum);
      byMemory += map.fitting(room.memory, 0, false);
      byVcores += map.fitting(Long.MAX_VALUE, room.vcores, true);
    }
    Slots all =
        Slots.of(
            perHost,
            "YARN, maps of "
                + map.memory()
                + " MB and "
                + map.vcores()
                + " vcores: "
                + byMemory
                + " by memory, "
                + byVcores
                + " by vcores"
                + (isWithVcores ? "" : ", which do not count"));
    if (all.nodes().isEmpty()) {
      throw new IOException(
          "no node has room for a map of "
              + map.memory()
              + " MB"
              + (isWithVcores ? " and " + map.vcores() + " virtual cores" : "")
              + " beside the application master"
              + (isFreeWanted
                  ? " now; " + Keys.SLOT_CAPACITY.name() + "=total counts what other jobs hold, too"
                  : ""));
    }
    return limited(all, queue, isFair, shareOfMemory(queue, nodes));
  }

  /** What one user may have of the cluster under the capacity scheduler; 1 if there is no limit. */
  private double shareOfUser(YarnCluster.QueueState queue, boolean isFair) {
    double factor =
        Keys.SLOT_USER_FACTOR.isSet(conf)
            ? Keys.SLOT_USER_FACTOR.real(conf)
            : conf.getDouble("yarn.scheduler.capacity." + queue.path + ".user-limit-factor", 1);
    boolean isLimited = !isFair && queue.capacityShare > 0 && factor > 0;
    return isLimited ? Math.min(1, queue.capacityShare * factor) : 1;
  }

  /** What is left on a node. */
  private static final class Room {
    final String host;
    long memory;
    long vcores;

    Room(String host, long memory, long vcores) {
      this.host = host;
      this.memory = memory;
      this.vcores = vcores;
    }
  }

  private List<Room> rooms(YarnCluster.QueueState queue, List<YarnCluster.NodeState> nodes) {
    String label = label(queue);
    List<Room> rooms = new ArrayList<>();
    for (YarnCluster.NodeState node : nodes) {
      boolean isOurs = label.isEmpty() ? node.labels.isEmpty() : node.labels.contains(label);
      if (isOurs) {
        rooms.add(
            new Room(
                node.host,
                node.memory - (isFreeWanted ? node.usedMemory : 0),
                node.vcores - (isFreeWanted ? node.usedVcores : 0)));
      }
    }
    rooms.sort(
        Comparator.<Room, String>comparing(room -> room.host)
            .thenComparingLong(room -> -room.memory));
    return rooms;
  }

  private String label(YarnCluster.QueueState queue) {
    return label(queue, MRJobConfig.MAP_NODE_LABEL_EXP);
  }

  private String label(YarnCluster.QueueState queue, String key) {
    return conf.getTrimmed(key, conf.getTrimmed(MRJobConfig.JOB_NODE_LABEL_EXP, queue.label));
  }

  /** The label that the job asks for; null if it leaves that to the queue. */
  static String mapLabel(Configuration conf) {
    return conf.getTrimmed(
        MRJobConfig.MAP_NODE_LABEL_EXP, conf.getTrimmed(MRJobConfig.JOB_NODE_LABEL_EXP));
  }

  /** Takes the master off the node with the most room: schedulers spread, so it is likely there. */
  private static void placeMaster(
      List<Room> rooms, ContainerSize map, ContainerSize master, boolean isWithVcores) {
    Room widest = rooms.get(0);
    for (Room room : rooms) {
      if (map.fitting(room.memory, room.vcores, isWithVcores)
          > map.fitting(widest.memory, widest.vcores, isWithVcores)) {
        widest = room;
      }
    }
    widest.memory -= master.memory();
    widest.vcores -= master.vcores();
  }

  private static double shareOfMemory(
      YarnCluster.QueueState queue, List<YarnCluster.NodeState> nodes) {
    long sum = 0;
    for (YarnCluster.NodeState node : nodes) {
      sum += node.memory;
    }
    return queue.maximumMemory > 0 && sum > 0 ? (double) queue.maximumMemory / sum : 1;
  }

  private Slots limited(Slots all, YarnCluster.QueueState queue, boolean isFair, double ofMemory) {
    Slots slots = all;
    double maximum = Math.min(queue.maximumShare, ofMemory);
    double ofUser = shareOfUser(queue, isFair);
    if (Math.min(maximum, ofUser) < 1) {
      slots =
          slots.atMost(
              part(slots.total(), Math.min(maximum, ofUser)),
              "the queue may have "
                  + percent(maximum)
                  + " of them, a user in it "
                  + percent(Math.min(maximum, ofUser)));
    }
    if (share < 1) {
      slots = slots.atMost(part(slots.total(), share), Keys.SLOT_SHARE.name() + " " + share);
    }
    if (reserve > 0) {
      slots = slots.atMost(Math.max(1, slots.total() - reserve), reserve + " left free");
    }
    int running = conf.getInt(MRJobConfig.JOB_RUNNING_MAP_LIMIT, 0);
    return running > 0 ? slots.atMost(running, MRJobConfig.JOB_RUNNING_MAP_LIMIT) : slots;
  }

  private static String percent(double share) {
    return Math.round(100 * share) + " %";
  }

  private static int part(int total, double share) {
    // A hair more, so that 0.3 of 10 is 3 in binary fractions too.
    return Math.max(1, (int) Math.floor(total * share + 1e-6));
  }
}
