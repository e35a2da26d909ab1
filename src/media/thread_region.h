// Purpose: which region of a pool the calling thread belongs to: that of the NUMA node it runs on
// where each region lies on a node of its own, else one by its thread slot, so that the paths of
// several regions are taken on every machine.
// Thread safety: any thread.
// Invariants:
//   1. Any answer is right; a wrong one costs remote accesses, and nothing else depends on it.
// Persistence: none.
#pragma once

#include <array>
#include <cstdint>

#include "base/check.h"
#include "format/layout.h"

namespace braid::media {

inline constexpr int kNoNode = -1;

/// The node of the processor that the calling thread runs on; kNoNode when the system does not say.
/// Asked again only now and then: threads move seldom.
int ThreadNode() noexcept;

/// Regions of a pool and the nodes that they lie on.
class RegionMap {
 public:
  RegionMap() = default;
  /// `nodes`: of each region's device, kNoNode where it is not known.
  RegionMap(uint32_t regions, const std::array<int, format::kMaxRegions>& nodes) noexcept;

  uint32_t regions() const noexcept { return regions_; }
  int node(uint32_t region) const noexcept {
    BRAID_DCHECK(region < nodes_.size());
    return nodes_[region];
  }
  /// Whether threads belong to regions by the node they run on.
  bool by_node() const noexcept { return by_node_; }
  /// Cost with one region: a load.
  uint32_t OfThread() const noexcept { return regions_ == 1 ? 0 : OfThreadAmong(); }
  /// Of `shards` shards, of which number i belongs to region i % regions: one for the calling
  /// thread, of its region unless that has none.
  uint32_t ShardOfThread(uint32_t shards) const noexcept;

 private:
  uint32_t OfThreadAmong() const noexcept;

  uint32_t regions_ = 1;
  bool by_node_ = false;
  std::array<int, format::kMaxRegions> nodes_{kNoNode, kNoNode, kNoNode, kNoNode};
};

/// For tests and benchmarks: says which region of `regions` the calling thread belongs to, in the
/// place of the rule above; null: the rule above. Cost in OfThread with several regions: a load.
void SetRegionRule(uint32_t (*rule)(uint32_t regions)) noexcept;

}  // namespace braid::media
