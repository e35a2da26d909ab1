// Purpose: pools side by side. Thread safety, invariants, persistence: see regional_pools.h.
#include "bench/engines/regional_pools.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/random.h"
#include "bench/harness/workload_options.h"
#include "media/file_media.h"

namespace braid::bench {
namespace {

namespace fs = std::filesystem;

std::string FolderOf(const std::string& directory, uint32_t region) {
  return directory + "/region-" + std::to_string(region);
}

std::string Describe(uint32_t regions, const EngineConfig& config) {
  std::string text = std::to_string(regions) + " pools of a region each, design " + config.design +
                     ", memory budget " + std::to_string(config.memory_budget_bytes >> 20) +
                     " MiB together" + (config.sync ? ", sync" : "");
  for (const std::string& setting : config.settings) text += ", " + setting;
  return text;
}

}  // namespace

Status RegionalPools::PrepareFolders(const Options& options, const std::string& directory,
                                     std::vector<std::string>* folders) const {
  const std::vector<std::string>& paths = options.pool.region_paths;
  const uint32_t regions = options.pool.regions;
  if (!paths.empty() && paths.size() + 1 != regions) {
    return Status::InvalidArgument("pool.region_paths names " + std::to_string(paths.size()) +
                                   " folders; " + std::to_string(regions) + " regions need " +
                                   std::to_string(regions - 1));
  }
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return Status::IOError("can't make " + directory + ": " + error.message());
  bool any = false;
  bool all = true;
  for (uint32_t region = 0; region < regions; ++region) {
    folders->push_back(region == 0 || paths.empty() ? FolderOf(directory, region)
                                                    : paths[region - 1]);
    const bool there = fs::exists(folders->back());
    // Folders that the user names may have been made for us.
    if (paths.empty()) any = any || there;
    all = all && there;
  }
  if ((any && !all) || (paths.empty() && fs::exists(FolderOf(directory, regions)))) {
    return Status::InvalidArgument(directory + " has not the pools of " + std::to_string(regions) +
                                   " regions; remove it, or set pool.regions to their number");
  }
  return Status::OK();
}

Status RegionalPools::Open(const EngineConfig& config) {
  Options options;
  options.design = config.design;
  options.pool.force_media_class = config.force_media_class;
  if (Status s = ApplySettings(config.settings, &options); !s.ok()) return s;
  if (options.pool.regions == 1) options.pool.regions = format::kMaxRegions;
  if (options.pool.regions < 1 || options.pool.regions > format::kMaxRegions) {
    return Status::InvalidArgument("pool.regions must be between 1 and " +
                                   std::to_string(format::kMaxRegions));
  }
  const uint32_t regions = options.pool.regions;
  std::vector<std::string> folders;
  if (Status s = PrepareFolders(options, config.directory, &folders); !s.ok()) return s;
  options.memory_budget_bytes = config.memory_budget_bytes / regions;
  options.pool.regions = 1;
  options.pool.region_paths.clear();
  std::array<int, format::kMaxRegions> nodes{};
  nodes.fill(media::kNoNode);
  for (uint32_t region = 0; region < regions; ++region) {
    Result<std::unique_ptr<DB>> db = DB::Open(options, folders[region]);
    if (!db.ok()) return db.status();
    pools_.push_back(std::move(db).value());
    nodes[region] = media::NodeOfFolder(folders[region]);
  }
  map_ = media::RegionMap(regions, nodes);
  write_options_.sync = config.sync;
  parameters_ = Describe(regions, config);
  return Status::OK();
}

Status RegionalPools::Close() {
  Status first;
  for (std::unique_ptr<DB>& pool : pools_) {
    Status s = pool->Close();
    if (first.ok()) first = std::move(s);
  }
  pools_.clear();
  return first;
}

int RegionalPools::NodeOf(uint32_t region) const noexcept {
  return map_.by_node() ? map_.node(region) : media::kNoNode;
}

uint32_t RegionalPools::NextSession() noexcept {
  // Relaxed: the number must be new, and nothing else is published with it.
  return sessions_.fetch_add(1, std::memory_order_relaxed);
}

uint32_t RegionalPools::RegionOfThread(uint32_t session) const noexcept {
  // By thread slots, the pools' own threads would leave some regions with more sessions.
  return map_.by_node() ? map_.OfThread() : session % regions();
}

Status RegionalPools::Scan(const ScanRange& range, const MergedVisitor& visit) const {
  std::vector<std::unique_ptr<Iterator>> cursors;
  for (const std::unique_ptr<DB>& pool : pools_) {
    cursors.push_back(pool->NewIterator(ReadOptions()));
    if (range.reverse) {
      cursors.back()->SeekToLast();
    } else if (range.start) {
      cursors.back()->Seek(*range.start);
    } else {
      cursors.back()->SeekToFirst();
    }
  }
  const auto before = [&](std::string_view a, std::string_view b) {
    return range.reverse ? b < a : a < b;
  };
  std::vector<Iterator*> at_key;
  std::vector<std::string_view> values;
  for (;;) {
    at_key.clear();
    for (const std::unique_ptr<Iterator>& cursor : cursors) {
      if (!cursor->Valid()) {
        if (!cursor->status().ok()) return cursor->status();
        continue;
      }
      if (!at_key.empty() && before(at_key.front()->key(), cursor->key())) continue;
      if (!at_key.empty() && before(cursor->key(), at_key.front()->key())) at_key.clear();
      at_key.push_back(cursor.get());
    }
    if (at_key.empty()) return Status::OK();
    values.clear();
    for (const Iterator* cursor : at_key) values.push_back(cursor->value());
    if (!visit(at_key.front()->key(), values)) return Status::OK();
    for (Iterator* cursor : at_key) range.reverse ? cursor->Prev() : cursor->Next();
  }
}

Status RegionalPools::Settle() {
  for (const std::unique_ptr<DB>& pool : pools_) {
    Status s = pool->Compact();
    // A design without merges has nothing to wait for.
    if (!s.ok() && !s.IsNotSupported()) return s;
  }
  return Status::OK();
}

EngineCounters RegionalPools::Counters() const {
  EngineCounters sum{0, 0, 0, 0};
  for (const Statistics& pool : PoolStatistics()) {
    *sum.lines_flushed += pool.lines_flushed;
    *sum.fences += pool.fences;
    *sum.stall_nanos += pool.stall_micros * 1000;
    *sum.bytes_written += pool.lines_flushed * 64;
  }
  return sum;
}

std::vector<Statistics> RegionalPools::PoolStatistics() const {
  std::vector<Statistics> all;
  for (const std::unique_ptr<DB>& pool : pools_) all.push_back(pool->GetStatistics());
  return all;
}

std::vector<EngineField> SumOfFields(const std::vector<Statistics>& pools) {
  static const std::set<std::string_view> switches = {"index_complete", "clean_open"};
  std::vector<EngineField> sum;
  for (const Statistics& pool : pools) {
    const std::vector<StatisticsField> fields = ListFields(pool);
    const bool first = sum.empty();
    for (size_t i = 0; i < fields.size(); ++i) {
      if (first) {
        sum.push_back({fields[i].name, fields[i].value});
      } else if (switches.contains(fields[i].name)) {
        sum[i].value = std::min(sum[i].value, fields[i].value);
      } else {
        sum[i].value += fields[i].value;
      }
    }
  }
  return sum;
}

uint64_t HashOfKey(std::string_view key) noexcept {
  // FNV-1a over the bytes; mixed, since few of its bits depend on the last bytes.
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return Mix64(hash);
}

}  // namespace braid::bench
