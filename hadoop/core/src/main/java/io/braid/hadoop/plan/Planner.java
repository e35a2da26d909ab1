package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.List;

/** Puts blocks together into groups. Deterministic; linear in blocks; knows nothing of Hadoop. */
public final class Planner {
  private Planner() {}

  /** Plans the blocks for the nodes. */
  public static Plan plan(List<Block> blocks, List<Node> nodes, PlanSettings settings) {
    List<Group> groups = new ArrayList<>(blocks.size());
    for (int i = 0; i < blocks.size(); ++i) {
      Block block = blocks.get(i);
      List<String> hosts = block.hosts().subList(0, Math.min(3, block.hosts().size()));
      groups.add(new Group(new int[] {i}, block.length(), hosts.isEmpty() ? 0 : block.length(), hosts));
    }
    return new Plan(Policy.NONE, "a group a block", groups);
  }
}
