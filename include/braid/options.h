// Options of braid. Sub-structs are named for the step they tune; units are in the names.
// Defaults are what is benchmarked. Nothing is clamped silently: Validate() names the first
// offence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "braid/status.h"

namespace braid {

class Snapshot;

/// What makes a write durable on the medium below a pool (docs/persistence.md).
enum class MediaClass : uint8_t {
  kPage = 1,       ///< page cache: survives a process crash; power loss only with sync
  kCacheLine = 2,  ///< flushed cache lines survive power loss (ADR, CXL)
  kByte = 3,       ///< every store that is visible survives power loss (eADR)
};

/// "page", "cache_line" or "byte".
const char* MediaClassName(MediaClass media_class);

/// Where the data lies and how much room it may take.
struct PoolOptions {
  uint64_t initial_bytes = 64ull << 20;  ///< size of a new pool; it grows online
  uint64_t max_bytes = 0;  ///< the pool never grows beyond; 0: as far as the device goes
  uint64_t chunk_bytes =
      1ull << 20;  ///< unit of allocation, power of two, 4 KiB to 64 MiB; new pools only
  /// Treat the medium as this class instead of asking libpmem2, for tests and benchmarks:
  /// kCacheLine on tmpfs issues the flushes of real persistent memory.
  std::optional<MediaClass> force_media_class;
  bool allow_world_writable = false;  ///< accept a pool directory that others may write to
  /// A SIGBUS in the pool's mapping (a file truncated under us, a bad block) becomes IOError: every
  /// later call returns it until the pool is opened again. Installs a handler for the process while
  /// a pool is open; signals of other addresses go to the handler that was there before. false: the
  /// process gets the signal.
  bool catch_sigbus = true;
};

/// The volatile, ordered index over the newest log entries.
struct MemTableOptions {
  uint64_t bytes = 64ull << 20;  ///< log bytes after which the memtable is sealed
  uint32_t max_immutable = 4;    ///< sealed tables waiting for their flush before writers wait
};

/// Merging L0 tables into L1.
struct CompactionOptions {
  uint32_t l0_trigger = 1;        ///< L0 tables that start a merge
  uint32_t l0_slowdown = 16;      ///< L0 tables from which writers are slowed down smoothly
  uint32_t l0_stop = 48;          ///< L0 tables at which writers wait; at most 56
  uint32_t batch_entries = 4096;  ///< entries whose links one redo record covers
  double gc_live_ratio = 0.5;     ///< chunks with a smaller share of live bytes are collected
};

/// How thoroughly a pool is checked when it is opened.
enum class VerifyOnOpen : uint8_t {
  kQuick = 0,  ///< headers, manifest, chunk states, the log's tail: work that does not grow
  kFull = 1,   ///< every entry and link before the first operation
};

/// How a database is opened.
struct Options {
  std::string design = "braid";   ///< a recipe: see docs/designs/
  bool create_if_missing = true;  ///< make the pool when the path does not exist
  bool error_if_exists = false;   ///< fail when the pool is there already
  bool verify_checksums = true;   ///< check entries when they are read
  VerifyOnOpen verify_on_open = VerifyOnOpen::kQuick;
  uint64_t memory_budget_bytes = 1ull << 30;  ///< DRAM for memtables, indexes and filters together
  uint32_t log_shards = 0;  ///< logs written side by side; 0: twice the processors, at most 32
  bool background_threads = true;  ///< false: flushes and merges run inside the writer's calls
  PoolOptions pool;
  MemTableOptions memtable;
  CompactionOptions compaction;
  /// Called with lines worth telling an operator (recovery, slow-down, error); may be empty.
  /// Called from any thread; must not call back into the database.
  std::function<void(std::string_view line)> logger;

  /// The first option outside its limits, by name, or ok.
  Status Validate() const;
};

/// How one write is done.
struct WriteOptions {
  /// On page-cache media: survive power loss too, together with every write acknowledged before.
  /// Costs one fdatasync, shared by the writers that wait at the same time. On other media every
  /// write is durable when it returns, and this changes nothing.
  bool sync = false;
};

/// How one read is done.
struct ReadOptions {
  const Snapshot* snapshot = nullptr;      ///< read as of this snapshot; null: the newest state
  std::optional<std::string> lower_bound;  ///< iterators: first key that is shown (inclusive)
  std::optional<std::string> upper_bound;  ///< iterators: first key that is not (exclusive)
};

/// Limits that are refused with Status::InvalidArgument.
inline constexpr size_t kMaxKeyBytes = 64 * 1024;
inline constexpr uint64_t kMaxValueBytes = 0xFFFFFFFFull;
inline constexpr uint64_t kMaxBatchBytes = 1ull << 30;

}  // namespace braid
