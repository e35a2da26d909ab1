// Purpose: several braid pools of one region each, side by side, for the two ways to use regions
// that no single list can show: a list a region by its writer, and a list a region by the key's
// hash. Both are compositions of whole stores, to be compared with a braided list.
//
// Thread safety: Open and Close from one thread, without sessions; everything else from any.
// Invariants: 1. pool number r holds region r's data only, and is opened with one region.
// Persistence: the pools' own. A write touches one pool, so that nothing spans them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/kv_engine.h"
#include "braid/db.h"
#include "media/thread_region.h"

namespace braid::bench {

class RegionalPools {
 public:
  /// Opens or makes the pools in `config.directory`/region-0 and so on. pool.regions of the
  /// settings is their number, 4 when it is 1 or not set; pool.region_paths, where given, are the
  /// folders of those behind the first. All other settings go to each pool; the memory budget is
  /// shared out. Errors: InvalidArgument, also for a folder with pools of another number; those of
  /// DB::Open.
  Status Open(const EngineConfig& config);
  Status Close();

  uint32_t regions() const noexcept { return static_cast<uint32_t>(pools_.size()); }
  DB* pool(uint32_t region) const noexcept { return pools_[region].get(); }
  /// The region's NUMA node, where each region has one of its own; else media::kNoNode.
  int NodeOf(uint32_t region) const noexcept;
  const WriteOptions& write_options() const noexcept { return write_options_; }
  const std::string& parameters() const noexcept { return parameters_; }

  /// A number for a new session: sessions take regions in turns where nodes do not tell them.
  uint32_t NextSession() noexcept;
  /// The region of the calling thread, which uses session `session`.
  uint32_t RegionOfThread(uint32_t session) const noexcept;

  /// Visits each key once, in order, with the values that the pools have for it, by region; pools
  /// without it are left out. Each pool is seen as it was when its turn of the opening came.
  using MergedVisitor =
      std::function<bool(std::string_view key, const std::vector<std::string_view>& values)>;
  Status Scan(const ScanRange& range, const MergedVisitor& visit) const;

  Status Settle();
  EngineCounters Counters() const;
  std::vector<Statistics> PoolStatistics() const;

 private:
  Status PrepareFolders(const Options& options, const std::string& directory,
                        std::vector<std::string>* folders) const;

  std::vector<std::unique_ptr<DB>> pools_;
  media::RegionMap map_;
  WriteOptions write_options_;
  std::string parameters_;
  std::atomic<uint32_t> sessions_{0};
};

/// The fields of all pools, added up; what is yes or no is yes when it is so in all of them.
std::vector<EngineField> SumOfFields(const std::vector<Statistics>& pools);

/// A number by the key that is the same in every process: pools are chosen by it.
uint64_t HashOfKey(std::string_view key) noexcept;

}  // namespace braid::bench
