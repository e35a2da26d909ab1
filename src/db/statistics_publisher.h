// Purpose: how a process that holds a pool tells others what it does: a small file beside the
// pool's folder, replaced once a second while it is asked for. `braid top` and `braid metrics` read
// it (tools/stats_file.h). It is not in the folder, where a removal must find nothing unknown.
// Thread safety: made and destroyed by one thread; `collect` is called by one of its own.
// Invariants:
//   1. The file names the process that wrote it, and is removed when publishing ends in order.
//   2. What can't be written later on is skipped: publishing ends no work that it tells of.
// Persistence: the file is renamed into place, so that readers see all of it or none; it is not
// synced, and says nothing after a crash.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "braid/statistics.h"
#include "braid/status.h"

namespace braid {

class StatisticsPublisher {
 public:
  using Collect = std::function<Statistics()>;

  /// Writes the file of the pool at `pool` and goes on. Errors: IOError (it can't be written),
  /// OutOfMemory (no thread).
  static Result<std::unique_ptr<StatisticsPublisher>> Start(
      const std::string& pool, Collect collect,
      std::chrono::milliseconds interval = std::chrono::seconds(1));
  /// In the process that has made it.
  ~StatisticsPublisher();
  StatisticsPublisher(const StatisticsPublisher&) = delete;
  StatisticsPublisher& operator=(const StatisticsPublisher&) = delete;

  /// POOL.stats.json, links followed, so that everybody finds the same one.
  static std::string PathOf(const std::string& pool);

 private:
  StatisticsPublisher(const std::string& pool, Collect collect, std::chrono::milliseconds interval);
  Status Publish() const;
  void Loop() noexcept;

  const std::string path_;
  const Collect collect_;
  const std::chrono::milliseconds interval_;
  const std::chrono::steady_clock::time_point start_;
  base::Mutex mutex_;
  base::CondVar wake_;
  bool stopped_ BRAID_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace braid
