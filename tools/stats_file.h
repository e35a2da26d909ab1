// How a process that holds a pool tells others what it does: a small file beside the pool's folder,
// replaced once a second, only when it was asked for (--publish-stats). A pool is open in one
// process at a time, so there is one writer; `braid top` reads. The file is not in the folder,
// which is the store's own: removing a pool must find nothing there that it does not know.
//
// Thread safety: a StatsPublisher is made and destroyed by one thread and has one of its own, which
// calls `collect`. The other functions have no state.
// Persistence: the file is renamed into place, so that readers see all of it or none; it is not
// synced, and tells nothing after a crash.
// Invariants:
//   1. The file names the process that wrote it and is removed when that stops publishing in order;
//      a file that outlived its process is recognized by its age or by the missing process.
//   2. What can't be written is skipped: publishing never ends the work it tells of.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "braid/statistics.h"
#include "braid/status.h"

namespace braid::tools {

inline constexpr auto kPublishInterval = std::chrono::milliseconds(1000);

/// What a process said about its pool at one moment.
struct StatsSnapshot {
  int64_t pid = 0;
  std::string about;   ///< design and media class, in words
  double seconds = 0;  ///< since it began to publish, which is when it opened the pool
  std::vector<std::pair<std::string, uint64_t>> values;  ///< fields of Statistics, by name
  std::vector<std::pair<std::string, LatencyHistogram>> latencies;  ///< by LatencyKindName

  /// The field's value; none when the process does not know it.
  std::optional<uint64_t> Value(std::string_view name) const;
  /// Null when the process does not know the kind.
  const LatencyHistogram* Latency(std::string_view kind) const;
};

/// Without pid and seconds, which the publisher knows.
StatsSnapshot MakeSnapshot(const Statistics& statistics);

/// POOL.stats.json, links followed, so that everybody finds the same one.
std::string StatsFilePath(const std::string& pool);
std::string FormatSnapshot(const StatsSnapshot& snapshot);
/// Corruption when `text` is not what FormatSnapshot writes.
Result<StatsSnapshot> ParseSnapshot(std::string_view text);

/// What became of the process that publishes.
enum class Seen : uint8_t { kSnapshot, kNoFile, kStale, kUnreadable };
/// Reads the pool's file. With kStale and kUnreadable `why` says what is wrong.
Seen ReadStatsFile(const std::string& pool, StatsSnapshot* snapshot, std::string* why);

class StatsPublisher {
 public:
  using Collect = std::function<StatsSnapshot()>;

  /// Writes the file once and goes on until it is destroyed, which removes it. `collect` is called
  /// on another thread.
  static Result<std::unique_ptr<StatsPublisher>> Start(
      const std::string& pool, Collect collect,
      std::chrono::milliseconds interval = kPublishInterval);
  ~StatsPublisher();
  StatsPublisher(const StatsPublisher&) = delete;
  StatsPublisher& operator=(const StatsPublisher&) = delete;

 private:
  StatsPublisher(const std::string& pool, Collect collect, std::chrono::milliseconds interval);
  Status Publish();
  void Loop();

  const std::string path_;
  const Collect collect_;
  const std::chrono::milliseconds interval_;
  const std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace braid::tools
