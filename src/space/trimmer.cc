// Purpose: when pages of free chunks are given back.
// Thread safety, invariants, persistence: see trimmer.h.
#include "space/trimmer.h"

#include <algorithm>

#include "base/check.h"
#include "base/no_throw.h"

namespace braid::space {

namespace {

/// Free chunks that have pages beyond those that writes must leave alone: more than GrowAhead fills
/// in a store at rest, or both would work against each other.
constexpr uint64_t kSlack = pool::PmemPool::kLeastReady + 2;

}  // namespace

uint64_t Trimmer::KeepOf(uint64_t soon) const noexcept {
  const uint64_t regions = pool_.regions();
  const uint64_t kept = pool_.ChunksIn(pool_.media().kept_bytes());
  const uint64_t used = pool_.used_chunks();
  const uint64_t first = kept > used ? (kept - used + regions - 1) / regions : 0;  // invariant 3
  return std::max(first, (pool_.reserve_chunks() + regions - 1) / regions +
                             std::max(kSlack, soon / regions + 1));
}

uint64_t Trimmer::Surplus(uint32_t region) const noexcept {
  const uint64_t resident = pool_.resident_chunks_of(region);
  const uint64_t keep = KeepOf(0);
  return resident > keep ? resident - keep : 0;
}

bool Trimmer::IsSettled() const noexcept {
  if (pool_.holes().WhyNot() != nullptr || pool_.failed()) return true;
  if (in_vain_.load(std::memory_order_relaxed)) return true;
  for (uint32_t region = 0; region < pool_.regions(); ++region) {
    if (Surplus(region) != 0) return false;
  }
  return true;
}

void Trimmer::Step(uint64_t now) noexcept {
  if (pool_.holes().WhyNot() != nullptr || pool_.failed()) return;
  const uint64_t most = std::max<uint64_t>(pool_.ChunksIn(kStepBytes), 1);
  // What happened while nobody looked is not known, as after a sleep.
  if (now < stepped_ || now - stepped_ > kWindowNanos / 4) {
    window_began_ = now;
    least_.fill(kNone);
    due_.fill(0);
  }
  stepped_ = now;
  for (uint32_t region = 0; region < pool_.regions(); ++region) {
    least_[region] = std::min(least_[region], pool_.resident_chunks_of(region));
  }
  if (now - window_began_ >= kWindowNanos) {
    const uint64_t keep = KeepOf(0);
    bool any = false;
    for (uint32_t region = 0; region < pool_.regions(); ++region) {
      // Invariant 2.
      due_[region] = least_[region] > keep ? least_[region] - keep : 0;
      any = any || due_[region] != 0;
      least_[region] = kNone;
    }
    window_began_ = now;
    in_vain_.store(false, std::memory_order_relaxed);
    if (!any) return;
  }
  for (uint32_t region = 0; region < pool_.regions(); ++region) {
    if (due_[region] == 0) continue;
    uint64_t given = 0;
    base::IgnoreExceptions([&] {
      const auto done = pool_.holes().GiveBack(region, std::min(most, due_[region]), KeepOf(0));
      if (done.ok()) given = *done;
    });
    due_[region] = given == 0 ? 0 : due_[region] - std::min(due_[region], given);
    if (given == 0) in_vain_.store(true, std::memory_order_relaxed);
  }
}

void Trimmer::TrimAll(uint64_t soon) noexcept {
  const uint64_t most = std::max<uint64_t>(pool_.ChunksIn(kStepBytes), 1);
  for (uint32_t region = 0; region < pool_.regions(); ++region) {
    base::IgnoreExceptions([&] {
      for (;;) {
        const auto done = pool_.holes().GiveBack(region, most, KeepOf(soon));
        if (!done.ok() || *done == 0) return;
      }
    });
  }
}

void Trimmer::TrimInline() noexcept {
  if (pool_.holes().WhyNot() != nullptr || pool_.failed()) return;
  for (uint32_t region = 0; region < pool_.regions(); ++region) {
    least_[region] = std::min(least_[region], pool_.resident_chunks_of(region));
  }
  if (++calls_ < kWindowCalls) return;
  calls_ = 0;
  for (uint32_t region = 0; region < pool_.regions(); ++region) {
    const uint64_t keep = KeepOf(0);
    const uint64_t due = least_[region] > keep ? least_[region] - keep : 0;
    least_[region] = kNone;
    // Invariant 2.
    if (due == 0) continue;
    base::IgnoreExceptions([&] { (void)pool_.holes().GiveBack(region, due, keep); });
  }
}

}  // namespace braid::space
