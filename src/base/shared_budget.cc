// Purpose: dividing a budget among databases.
// Thread safety, invariants, persistence: see shared_budget.h.
#include "base/shared_budget.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/no_throw.h"

namespace braid::base {

namespace {
/// Between two divisions that are due to nothing but time.
constexpr uint64_t kLookNanos = 10'000'000;
/// What a database may take more until it looks again: kept from the others, a quarter of an equal
/// part at most.
constexpr uint64_t kMostMargin = 32 << 20;
/// A change of a share by less than this part of it wakes nobody.
constexpr uint64_t kWorthTelling = 8;
/// Databases for which what can't be resized leaves room.
constexpr uint64_t kUsualDatabases = 8;
}  // namespace

SharedBudget::Share::~Share() {
  if (origin_.IsThisProcess()) budget_->Leave(this);
}

void SharedBudget::Share::Attach(std::function<uint64_t()> used, std::function<void()> changed) {
  const MutexLock lock(budget_->mutex_);
  BRAID_CHECK(!used_ && !changed_);
  used_ = std::move(used);
  changed_ = std::move(changed);
}

void SharedBudget::Share::Look(bool wants_more) noexcept {
  // Relaxed: a hint to the thread that divides next.
  wants_more_.store(wants_more, std::memory_order_relaxed);
  if (budget_->databases_.load(std::memory_order_relaxed) > 1) budget_->DivideIfDue();
}

void SharedBudget::Share::Close() noexcept {
  const MutexLock lock(budget_->mutex_);
  is_open_ = false;
  budget_->Divide();
}

uint64_t SharedBudget::BaseOfNext() const noexcept {
  const MutexLock lock(mutex_);
  return bytes_ / std::max<uint64_t>(kUsualDatabases, shares_.size() + 1);
}

Result<std::unique_ptr<SharedBudget::Share>> SharedBudget::Join(uint64_t fixed) {
  std::unique_ptr<Share> share(new Share(shared_from_this(), fixed));
  const MutexLock lock(mutex_);
  uint64_t sure = FloorOf(*share);
  for (const Share* const other : shares_) sure += FloorOf(*other);
  shares_.push_back(share.get());
  // One alone gets by with what there is.
  if (sure <= bytes_ || shares_.size() == 1) {
    databases_.store(shares_.size());
    Divide();
    return share;
  }
  const size_t open = static_cast<size_t>(std::count_if(
      shares_.begin(), shares_.end(), [](const Share* other) { return other->is_open_; }));
  return Status::InvalidArgument(
      "a memory budget of " + std::to_string(bytes_) + " bytes is too small for " +
      std::to_string(open) + " databases: with their caches they need " + std::to_string(sure) +
      "; raise memory_budget_bytes of the SharedResources to that at least, lower "
      "cache.lookup_bytes, or close a database");
}

void SharedBudget::Leave(Share* share) noexcept {
  const MutexLock lock(mutex_);
  std::erase(shares_, share);
  databases_.store(shares_.size());
  Divide();
}

SharedBudget::Usage SharedBudget::usage() const {
  const MutexLock lock(mutex_);
  Usage usage;
  for (const Share* const share : shares_) {
    usage.bytes += share->used_ ? share->used_() : 0;
    if (share->is_open_) ++usage.databases;
  }
  return usage;
}

void SharedBudget::DivideIfDue() noexcept {
  const uint64_t now = NowNanos();
  uint64_t last = divided_.load(std::memory_order_relaxed);
  if (now - last < kLookNanos && now >= last) return;
  if (!divided_.compare_exchange_strong(last, now)) return;  // another thread does it
  const MutexLock lock(mutex_);
  Divide();
}

/// The largest level at which all fits when each has what it needs, or so much of it.
uint64_t SharedBudget::LevelFor(uint64_t margin) const noexcept {
  const auto fits = [&](uint64_t level) {
    mutex_.AssertHeld();
    uint64_t sum = 0;
    for (const Share* const share : shares_) {
      if (!share->is_open_) {
        sum += share->takes_;
        continue;
      }
      const bool wants_more = share->wants_more_.load(std::memory_order_relaxed);
      const uint64_t needs = wants_more ? bytes_ : share->takes_ + margin;
      sum += std::max(FloorOf(*share), std::min(needs, level));
    }
    return sum <= bytes_;
  };
  if (fits(bytes_)) return bytes_;
  uint64_t low = 0;
  uint64_t high = bytes_;
  while (high - low > kLeast / 64) {
    const uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

void SharedBudget::Divide() noexcept {
  if (shares_.empty()) return;
  uint64_t open = 0;
  for (Share* const share : shares_) {
    if (share->used_) IgnoreExceptions([&] { share->takes_ = share->used_(); });
    if (share->is_open_) ++open;
  }
  // One that has the budget for itself has all of it.
  const uint64_t margin = std::min(kMostMargin, bytes_ / std::max<uint64_t>(open, 1) / 4);
  const bool is_alone = shares_.size() == 1;
  const uint64_t level = is_alone ? bytes_ : LevelFor(margin);
  BRAID_DCHECK(level <= bytes_);
  for (Share* const share : shares_) {
    const uint64_t bytes = is_alone ? bytes_ : std::max(FloorOf(*share), level);
    share->bytes_.store(bytes, std::memory_order_relaxed);
    const uint64_t change = std::max(bytes, share->told_) - std::min(bytes, share->told_);
    if (change <= share->told_ / kWorthTelling) continue;
    const bool grows = bytes > share->told_;
    share->told_ = bytes;
    const bool matters = grows ? share->wants_more_.load(std::memory_order_relaxed)
                               : share->takes_ > bytes - bytes / kWorthTelling;
    if (matters && share->is_open_ && share->changed_) IgnoreExceptions(share->changed_);
  }
}

}  // namespace braid::base
