// Purpose: back-pressure: keeps writers from outrunning background work, first by a smooth delay,
// then by a wait.
// Thread safety: any thread.
// Invariants:
//   1. A writer waits only while the background has work that will end the wait; when the
//      background has failed, writers are let through to get its error.
// Persistence: none.
// Source: ZipperDB 5.2.2.5 (slow-down instead of stop).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/mutex.h"
#include "base/stalls.h"
#include "braid/options.h"

namespace braid::write {

class WriteController {
 public:
  explicit WriteController(const Options& options)
      : slowdown_(Merges(options) ? options.compaction.l0_slowdown : kNever),
        stop_(Merges(options) ? options.compaction.l0_stop : kNever),
        max_immutable_(options.memtable.max_immutable),
        stalls_(options.listener.get()) {
    BRAID_CHECK(slowdown_ <= stop_);
  }

  /// How long a write is held back while so many tables wait in L0, fewer than the stop: doubles
  /// every four tables, gentle where the background nearly keeps up, and at the end slower than any
  /// merge.
  static uint32_t DelayNanos(uint64_t l0_tables, uint32_t slowdown) {
    if (l0_tables < slowdown) return 0;
    return 500u << std::min<uint64_t>((l0_tables - slowdown) / 4, 8);
  }

  /// Before every write; costs one load when there is no pressure.
  void Admit() {
    if (pressure_.load(std::memory_order_relaxed) != 0) Delay();
  }
  /// The background tells how far it is behind.
  void Update(uint64_t l0_tables, uint64_t immutables, bool active_full);
  /// Writers wait until Resume, whatever the background says; for moments only. They may have
  /// passed Admit just before.
  void Pause() noexcept;
  /// `l0_tables` and the rest as for Update.
  void Resume(uint64_t l0_tables, uint64_t immutables, bool active_full);
  /// Nobody waits any more (closing, or a sticky error).
  void Release();

  /// Of all who were held back here; the engine adds its own.
  base::Stalls* stalls() noexcept { return &stalls_; }

 private:
  void Delay();
  /// Where nothing is merged, waiting for L0 to shrink would not end.
  static bool Merges(const Options& options) { return options.compaction.kind != MergeKind::kNone; }

  static constexpr uint32_t kNever = ~0u;
  static constexpr uint32_t kStop = ~0u;
  static_assert((500ull << 8) < kStop);  // the longest delay is no stop
  const uint32_t slowdown_;
  const uint32_t stop_;
  const uint32_t max_immutable_;
  std::atomic<uint32_t> pressure_{0};  // 0 none, kStop wait, else nanoseconds of delay a write
  std::atomic<bool> released_{false};
  bool held_ BRAID_GUARDED_BY(mutex_) = false;
  std::atomic<StallReason> reason_{StallReason::kL0};  // of the pressure
  base::Stalls stalls_;
  base::Mutex mutex_;
  base::CondVar changed_;
};

}  // namespace braid::write
