// KvEngine: what the harness asks of a store, so that one workload runs on braid and its peers.
//
// Thread safety: Open, Settle, Close and the facts from one thread at a time; NewSession too, but
// each session belongs to one worker thread and runs beside the others.
// Persistence: the store's own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "braid/options.h"
#include "braid/statistics.h"
#include "braid/status.h"

namespace braid::bench {

/// How a store is opened. What a store has no use for, it ignores.
struct EngineConfig {
  std::string directory;  ///< its files; made by Open when missing
  uint64_t expected_records = 0;
  size_t key_size = 16;
  size_t value_size = 100;
  int threads = 1;  ///< worker threads at most
  bool sync = false;
  std::string design = "braid";
  uint64_t memory_budget_bytes = uint64_t{1} << 30;
  uint64_t write_buffer_bytes = 0;  ///< LevelDB's; 0: 64 MiB
  /// A folder on a block device: braid's tier, or where another store has its files. Empty: braid
  /// has no tier.
  std::string tier_directory;
  uint64_t pool_max_bytes = 0;  ///< of a pool with a tier
  std::optional<MediaClass> force_media_class;
  std::vector<std::string> settings;  ///< "name=value", for Options::Set
};

/// Totals since Open; what a store does not tell stays empty.
struct EngineCounters {
  std::optional<uint64_t> lines_flushed;
  std::optional<uint64_t> fences;
  std::optional<uint64_t> stall_nanos;
  std::optional<uint64_t> bytes_written;             ///< to the medium, as far as it can be told
  std::optional<uint64_t> tier_gets = std::nullopt;  ///< gets that came to the tier
  std::optional<uint64_t> tier_gets_cached = std::nullopt;  ///< whose record it had in DRAM
};

/// A counter or a current value that a store tells, by its name.
struct EngineField {
  std::string name;
  uint64_t value = 0;
};

/// The latencies of a kind of call, by its name.
struct EngineLatency {
  std::string name;
  LatencyHistogram histogram;
};

struct BatchUpdate {
  std::string_view key;
  std::string_view value;
};

/// Where a scan starts and which way it goes. Without `start`: at the end of the order.
struct ScanRange {
  std::optional<std::string_view> start;  ///< forward scans only: the first key not before it
  bool reverse = false;
};

/// Called for each record of a scan; false ends the scan.
using ScanVisitor = std::function<bool(std::string_view key, std::string_view value)>;

/// One thread's way into a store.
class KvSession {
 public:
  virtual ~KvSession() = default;
  virtual Status Put(std::string_view key, std::string_view value) = 0;
  /// Copies the value; NotFound when there is none.
  virtual Status Get(std::string_view key, std::string* value) = 0;
  /// Gets all keys; `values` and `statuses` have a place for each. One by one, where the store has
  /// no call for many.
  virtual void MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values,
                        std::vector<Status>* statuses) {
    for (size_t i = 0; i < keys.size(); ++i) (*statuses)[i] = Get(keys[i], &(*values)[i]);
  }
  virtual Status Delete(std::string_view key) = 0;
  /// All puts at once, atomically.
  virtual Status Write(const std::vector<BatchUpdate>& batch) = 0;
  /// Makes a cursor at the newest state and visits records until the visitor or the data ends it.
  virtual Status Scan(const ScanRange& range, const ScanVisitor& visit) = 0;
};

class KvEngine {
 public:
  virtual ~KvEngine() = default;
  virtual std::string name() const = 0;
  virtual std::string version() const = 0;
  /// The store's options that matter, for the report.
  virtual std::string parameters() const = 0;
  /// Says what readers of the numbers should know, or nothing.
  virtual std::string caveat() const { return {}; }

  virtual Status Open(const EngineConfig& config) = 0;
  virtual std::unique_ptr<KvSession> NewSession() = 0;
  /// Returns when no background work is left that was caused by earlier writes.
  virtual Status Settle() = 0;
  virtual EngineCounters Counters() = 0;
  /// Everything the store tells about itself; beside running sessions, too.
  virtual std::vector<EngineField> Fields() { return {}; }
  /// Bytes of its files that the store has a use for, where it tells; beside sessions, too.
  virtual std::optional<uint64_t> UsedBytes() { return std::nullopt; }
  /// How long its calls took, by kind; the same.
  virtual std::vector<EngineLatency> Latencies() { return {}; }
  /// Sessions must be gone.
  virtual Status Close() = 0;
};

/// braid itself, over the public C++ API.
std::unique_ptr<KvEngine> MakeBraidEngine();
/// One of its designs, which the store is called by, whatever the configuration says.
std::unique_ptr<KvEngine> MakeDesignEngine(std::string_view design);

}  // namespace braid::bench
