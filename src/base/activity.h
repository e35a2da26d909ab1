// Purpose: what the store is doing at this moment: how many jobs of each kind are running in this
// process. Tests that kill a process use it to choose the moment, and read afterwards in which job
// the process was killed.
// Thread safety: any thread; the board is set before any database is opened.
// Persistence: none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace braid::base {

enum class Activity : uint8_t { kOpen, kRecovery, kFlush, kMerge, kCollect, kGrowth, kCount };

using ActivityBoard = std::array<std::atomic<uint32_t>, static_cast<size_t>(Activity::kCount)>;

inline ActivityBoard process_activities;
/// Where the counts are kept: elsewhere when they must outlive the process.
inline ActivityBoard* activity_board = &process_activities;

/// Counts a job for as long as it lives.
class ActivityScope {
 public:
  explicit ActivityScope(Activity activity) noexcept
      : count_((*activity_board)[static_cast<size_t>(activity)]) {
    count_.fetch_add(1, std::memory_order_relaxed);
  }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;
  ~ActivityScope() { count_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t>& count_;
};

}  // namespace braid::base
