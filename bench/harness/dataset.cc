#include "bench/harness/dataset.h"

#include <thread>

namespace braid::bench {

Dataset::Dataset(const WorkloadOptions& options)
    : keys_(options.key_size, options.hash_keys),
      values_(options.value_size),
      num_(options.num),
      next_insert_(options.num),
      limit_(options.num),
      acknowledged_(std::make_unique<std::atomic<bool>[]>(kWindow)) {}

void Dataset::AssumeExisting() {
  empty_ = false;
  exact_count_ = false;
  base_ = Presence::kMay;
  versions_ = VersionRange{};
}

void Dataset::BeginWrites(uint32_t generations) {
  // A store with unknown data already allows all generations.
  if (versions_.newest != VersionRange{}.newest) versions_.newest += generations;
  empty_ = false;
  if (deleted_ != nullptr) {
    // Deleted keys come back one by one from now on; which ones is not recorded.
    deleted_.reset();
    base_ = Presence::kMay;
    exact_count_ = false;
  }
}

void Dataset::CompleteFill(bool fresh) {
  base_ = Presence::kMust;
  if (!fresh) return;
  versions_.oldest = versions_.newest;
  exact_count_ = true;
  next_insert_ = num_;
  limit_ = num_;
}

void Dataset::BeginDeletes() {
  if (deleted_ != nullptr) return;
  deleted_limit_ = limit();
  deleted_ = std::make_unique<std::atomic<uint64_t>[]>(deleted_limit_ / 64 + 1);
  deleted_count_ = 0;
}

void Dataset::MarkDeleted(uint64_t number) {
  const uint64_t bit = uint64_t{1} << (number % 64);
  if ((deleted_[number / 64].fetch_or(bit) & bit) == 0) ++deleted_count_;
}

Presence Dataset::PresenceOf(uint64_t number) const {
  if (deleted_ != nullptr && number < deleted_limit_ &&
      (deleted_[number / 64].load() >> (number % 64) & 1) != 0) {
    return Presence::kMustNot;
  }
  return base_;
}

std::optional<uint64_t> Dataset::ExactCount() const {
  if (!exact_count_) return std::nullopt;
  return limit() - (deleted_ != nullptr ? deleted_count_.load() : 0);
}

uint64_t Dataset::ClaimInsert() {
  const uint64_t number = next_insert_.fetch_add(1);
  // Only when some thread's put takes as long as 65,536 puts of the others.
  while (number - limit() >= kWindow) {
    AdvanceLimit();
    std::this_thread::yield();
  }
  return number;
}

void Dataset::AcknowledgeInsert(uint64_t number) {
  acknowledged_[number % kWindow].store(true);
  AdvanceLimit();
}

void Dataset::AdvanceLimit() {
  // After giving the flag back, look again: an acknowledgement may have come while it was held.
  while (acknowledged_[limit() % kWindow].load()) {
    if (advancing_.test_and_set()) return;
    uint64_t limit = limit_.load();
    while (acknowledged_[limit % kWindow].exchange(false)) {
      // release: pairs with the acquire in limit(); the put is visible to who chooses its number.
      limit_.store(++limit, std::memory_order_release);
    }
    advancing_.clear();
  }
}

}  // namespace braid::bench
