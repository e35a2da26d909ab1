package io.braid.hadoop.sim;

import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Group;
import io.braid.hadoop.plan.Node;
import io.braid.hadoop.plan.Plan;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Planner;
import java.util.ArrayList;
import java.util.List;

/** How a job's input becomes splits. */
public interface Splitter {
  /** What came of it. */
  final class Outcome {
    final List<Split> splits;
    final String policy;
    final String reason;

    /** {@code policy} and {@code reason} are for reports. */
    public Outcome(List<Split> splits, String policy, String reason) {
      this.splits = splits;
      this.policy = policy;
      this.reason = reason;
    }
  }

  /** Splits the file whose blocks lie on nodes of so many slots each. */
  Outcome split(FileView file, int nodes, int slots);

  /** A file's blocks: their lengths, and on which nodes they lie. */
  interface FileView {
    int blocks();

    long length(int block);

    /** The nodes that hold a block. */
    int[] nodes(int block);
  }

  /** By the planner that the input format uses, told the true slots. */
  static Splitter planned(PlanSettings settings) {
    return (file, nodes, slots) -> {
      String[] names = new String[nodes];
      List<Node> cluster = new ArrayList<>(nodes);
      for (int i = 0; i < nodes; ++i) {
        names[i] = "node" + i;
        cluster.add(new Node(names[i], slots));
      }
      List<Block> blocks = new ArrayList<>(file.blocks());
      for (int i = 0; i < file.blocks(); ++i) {
        int[] on = file.nodes(i);
        String[] hosts = new String[on.length];
        for (int copy = 0; copy < on.length; ++copy) {
          hosts[copy] = names[on[copy]];
        }
        blocks.add(new Block(file.length(i), List.of(hosts)));
      }
      Plan plan = Planner.plan(blocks, cluster, settings);
      List<Split> splits = new ArrayList<>(plan.groups().size());
      for (Group group : plan.groups()) {
        int[] members = new int[group.size()];
        for (int i = 0; i < members.length; ++i) {
          members[i] = group.block(i);
        }
        int[] on = new int[group.hosts().size()];
        for (int i = 0; i < on.length; ++i) {
          on[i] = Integer.parseInt(group.hosts().get(i).substring("node".length()));
        }
        splits.add(new Split(members, on));
      }
      return new Outcome(splits, plan.policy().label(), plan.reason());
    };
  }
}
