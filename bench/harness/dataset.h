// Dataset: what a store must hold after the benchmarks that ran so far, so that each read can be
// checked without keeping the data.
//
// Thread safety: during a benchmark, workers call the const members, MarkDeleted, ClaimInsert and
// AcknowledgeInsert; everything else happens between benchmarks, on one thread.
// Invariants:
// 1. Every number below limit() was written and acknowledged, unless the presence says kMay.
// 2. A value in the store is of a generation in versions().
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "bench/harness/keys.h"
#include "bench/harness/values.h"
#include "bench/harness/workload_options.h"

namespace braid::bench {

enum class Presence { kMust, kMay, kMustNot };

class Dataset {
 public:
  explicit Dataset(const WorkloadOptions& options);

  const KeyMaker& keys() const { return keys_; }
  const ValueMaker& values() const { return values_; }
  bool empty() const { return empty_; }

  /// The store already holds data: any generation, and any key may be missing.
  void AssumeExisting();
  /// Starts a write benchmark; its values carry the generation that generation() tells, or, with
  /// several, one of the last `generations` up to it.
  void BeginWrites(uint32_t generations = 1);
  uint32_t generation() const { return versions_.newest; }
  /// Every number in [0, num) was written by the benchmark that BeginWrites started. `fresh`: into
  /// an empty store.
  void CompleteFill(bool fresh);
  /// Starts a benchmark that deletes.
  void BeginDeletes();
  void MarkDeleted(uint64_t number);

  /// Numbers below are chosen by reads.
  uint64_t limit() const { return limit_.load(std::memory_order_acquire); }
  VersionRange versions() const { return versions_; }
  Presence PresenceOf(uint64_t number) const;
  /// Records a full scan must show; empty when that is not known.
  std::optional<uint64_t> ExactCount() const;

  /// A number that no key was made of so far.
  uint64_t ClaimInsert();
  /// The put of a claimed number was acknowledged: reads may choose it once all numbers before it
  /// are acknowledged too.
  void AcknowledgeInsert(uint64_t number);

 private:
  void AdvanceLimit();

  static constexpr uint64_t kWindow = uint64_t{1} << 16;

  KeyMaker keys_;
  ValueMaker values_;
  uint64_t num_;
  bool empty_ = true;
  bool exact_count_ = false;
  Presence base_ = Presence::kMay;
  VersionRange versions_{0, 0};
  std::unique_ptr<std::atomic<uint64_t>[]> deleted_;  // a bit for each of [0, deleted_limit_)
  uint64_t deleted_limit_ = 0;
  std::atomic<uint64_t> deleted_count_{0};
  std::atomic<uint64_t> next_insert_;
  std::atomic<uint64_t> limit_;
  std::unique_ptr<std::atomic<bool>[]> acknowledged_;  // a ring: numbers from limit_ on
  std::atomic_flag advancing_;
};

}  // namespace braid::bench
