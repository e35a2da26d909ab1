// Purpose: regions of threads.
// Thread safety, invariants, persistence: see thread_region.h.
#include "media/thread_region.h"

#include <sched.h>

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "base/thread_slot.h"

namespace braid::media {

namespace {

std::atomic<uint32_t (*)(uint32_t)> region_rule{nullptr};

/// Calls answered from what was learnt before: about a millisecond of a busy thread.
constexpr uint32_t kCallsANode = 1024;

}  // namespace

int ThreadNode() noexcept {
  thread_local uint32_t calls_left = 0;
  thread_local int node = kNoNode;
  if (calls_left-- != 0) return node;
  calls_left = kCallsANode;
  unsigned cpu = 0;
  unsigned found = 0;
  // Without libnuma: the kernel keeps both numbers where a process reads them without a call.
  node = ::getcpu(&cpu, &found) == 0 ? static_cast<int>(found) : kNoNode;
  return node;
}

RegionMap::RegionMap(uint32_t regions, const std::array<int, format::kMaxRegions>& nodes) noexcept
    : regions_(regions), nodes_(nodes) {
  BRAID_CHECK(regions >= 1 && regions <= format::kMaxRegions);
  by_node_ = regions > 1;
  for (uint32_t i = 0; i < regions; ++i) {
    const auto end = nodes_.cbegin() + i;
    by_node_ =
        by_node_ && nodes_[i] != kNoNode && std::find(nodes_.cbegin(), end, nodes_[i]) == end;
  }
}

uint32_t RegionMap::OfThreadAmong() const noexcept {
  // Relaxed: a rule is set before the pool is used.
  if (auto* rule = region_rule.load(std::memory_order_relaxed); rule != nullptr) {
    return rule(regions_) % regions_;
  }
  if (by_node_) {
    const int node = ThreadNode();
    for (uint32_t i = 0; i < regions_; ++i) {
      if (nodes_[i] == node) return i;
    }
  }
  return base::ThreadSlot() % regions_;
}

uint32_t RegionMap::ShardOfThread(uint32_t shards) const noexcept {
  BRAID_DCHECK(shards > 0);
  const uint32_t slot = base::ThreadSlot();
  if (regions_ == 1) return slot % shards;
  const uint32_t region = OfThread();
  if (region >= shards) return slot % shards;
  const uint32_t of_region = (shards - region + regions_ - 1) / regions_;
  BRAID_DCHECK(of_region > 0 && region + regions_ * (of_region - 1) < shards);  // the last of them
  // By slot modulo regions the threads of a region have every R-th slot.
  const uint32_t number = by_node_ ? slot : slot / regions_;
  return region + regions_ * (number % of_region);
}

void SetRegionRule(uint32_t (*rule)(uint32_t regions)) noexcept {
  region_rule.store(rule, std::memory_order_relaxed);
}

}  // namespace braid::media
