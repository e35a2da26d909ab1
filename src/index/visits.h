// Purpose: which nodes of lists a lookup has visited: near or far from the thread that reads, in
// upper layers or at the bottom. What the NUMA figures of ListDB count (6.8.3).
// Thread safety: Visits is one lookup's; VisitCounters from any thread.
// Invariants:
//   1. A node counts each time its key is read on the way; one that is known to lie too far right
//      already is not read again.
// Persistence: none.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/counters.h"
#include "pool/pool.h"

namespace braid::index {

/// What one lookup has visited.
struct Visits {
  explicit Visits(const pool::PmemPool& pool) : region(pool.region_map().OfThread()) {}

  void Count(const pool::PmemPool& pool, const void* node, uint32_t layer) noexcept {
    const uint32_t remote = pool.RegionOf(pool.OffsetOf(node)) == region ? 0 : 1;
    ++nodes[layer == 0 ? 1 : 0][remote];
  }
  uint64_t total() const noexcept { return nodes[0][0] + nodes[0][1] + nodes[1][0] + nodes[1][1]; }

  uint32_t region;            ///< of the thread that reads
  uint64_t nodes[2][2] = {};  ///< [at the bottom][remote]
};

/// Paths of 0 nodes, 1, 2 to 3, 4 to 7 and so on; the last bucket has all longer ones.
inline constexpr uint32_t kPathBuckets = 16;

class VisitCounters {
 public:
  void Add(const Visits& visits) noexcept {
    for (uint32_t bottom = 0; bottom < 2; ++bottom) {
      for (uint32_t remote = 0; remote < 2; ++remote) {
        counters_.Add(bottom * 2 + remote, visits.nodes[bottom][remote]);
      }
    }
    const auto bucket = static_cast<uint32_t>(std::bit_width(visits.total()));
    counters_.Add(kFirstPath + std::min(bucket, kPathBuckets - 1));
  }
  uint64_t nodes(uint32_t bottom, uint32_t remote) const noexcept {
    BRAID_DCHECK(bottom < 2 && remote < 2);
    return counters_.Sum(bottom * 2 + remote);
  }
  uint64_t paths(uint32_t bucket) const noexcept {
    BRAID_DCHECK(bucket < kPathBuckets);
    return counters_.Sum(kFirstPath + bucket);
  }

 private:
  static constexpr uint32_t kFirstPath = 4;
  static_assert(kFirstPath == sizeof(Visits::nodes) / sizeof(uint64_t));

  base::Counters<uint32_t, kFirstPath + kPathBuckets> counters_;
};

}  // namespace braid::index
