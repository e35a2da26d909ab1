// Purpose: counters and facts of a database, all since it was opened unless a field says otherwise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "braid/options.h"

namespace braid {

/// Why a writer was held back.
enum class StallReason : uint8_t {
  kL0,          ///< L0 has many tables: slowed down, or stopped, until some are merged
  kMemtables,   ///< all memtables are full: waits for a flush
  kIngest,      ///< a bulk load is being shown
  kFullPool,    ///< the pool is full: waits for space that merges and collection give back
  kRoom,        ///< a chunk, an extent or a segment had to be made
  kLock,        ///< another write, a batch above all, or a change of the tables
  kRange,       ///< its key is in a range that is being deleted
  kPages,       ///< the system had to find pages for what was written
  kBackground,  ///< did background work itself, where background_threads is false
  kSystem,      ///< the rest of writes that took long: most likely the scheduler
  kProcessors   ///< background work lacks processors, and others read: writers let it catch up
};
inline constexpr size_t kStallReasons = 11;

/// "l0", "memtables", "ingest", "full_pool", "room", "lock", "range", "pages", "background",
/// "system", "processors".
constexpr const char* StallReasonName(StallReason reason) {
  constexpr const char* kNames[kStallReasons] = {
      "l0",    "memtables", "ingest",     "full_pool", "room",      "lock",
      "range", "pages",     "background", "system",    "processors"};
  return static_cast<size_t>(reason) < kStallReasons ? kNames[static_cast<size_t>(reason)] : "";
}

/// What is timed.
enum class LatencyKind : uint8_t {
  kPut,       ///< a write of one key: Put, Delete, CompareAndSwap, and batches of one update
  kBatch,     ///< a write of several keys at once
  kGet,       ///< Get and GetPinned
  kMultiGet,  ///< MultiGet, all its keys together
  kSeek,      ///< Seek, SeekForPrev, SeekToFirst and SeekToLast of iterators
  kNext,      ///< Next and Prev, those that were not served from what was read ahead
  kSync,      ///< an fdatasync round that writes with `sync` waited for
  kFlush,     ///< a memtable turned into an L0 table
  kMerge,     ///< one merge of tables, to its end or to where it was interrupted
  kStall      ///< a stall (see stall_micros)
};
inline constexpr size_t kLatencyKinds = 10;

/// "put", "batch", "get", "multi_get", "seek", "next", "sync", "flush", "merge", "stall".
constexpr const char* LatencyKindName(LatencyKind kind) {
  constexpr const char* kNames[kLatencyKinds] = {"put",  "batch", "get",   "multi_get", "seek",
                                                 "next", "sync",  "flush", "merge",     "stall"};
  return static_cast<size_t>(kind) < kLatencyKinds ? kNames[static_cast<size_t>(kind)] : "";
}

/// How long the calls of a kind took, in nanoseconds. Background work, stalls and syncs are all
/// timed. Of the rest a store times the first 1,024 of a kind, and from then on one call in 64,
/// which counts as 64; a write that takes longer than a fraction of a millisecond always counts by
/// itself. So `count` is near the number of calls, and `max_nanos` of reads may be missing the
/// longest one.
struct LatencyHistogram {
  /// Below 16 ns a bucket each, above eight in each power of two, up to 2^37 ns (137 s).
  static constexpr size_t kBuckets = 280;

  uint64_t count = 0;
  uint64_t sum_nanos = 0;
  uint64_t max_nanos = 0;
  std::array<uint64_t, kBuckets> buckets{};

  /// The time that `percent` of all calls do not exceed (nearest rank), within 6 %. 0 when there
  /// was none.
  uint64_t Percentile(double percent) const noexcept;
  uint64_t MeanNanos() const noexcept { return count == 0 ? 0 : sum_nanos / count; }
  /// What was recorded since `earlier`, an earlier state of the same histogram; the longest of it
  /// is known to a bucket only. All of it, where `earlier` is of another one.
  LatencyHistogram Since(const LatencyHistogram& earlier) const noexcept;

  /// The bucket of a time; the last one has all that are longer.
  static size_t BucketOf(uint64_t nanos) noexcept;
  /// The least and the greatest time of a bucket, both inclusive.
  static uint64_t LowerNanos(size_t bucket) noexcept;
  static uint64_t UpperNanos(size_t bucket) noexcept;
};

/// What the background does.
enum class BackgroundWork : uint8_t {
  kFlush,      ///< makes tables of memtables
  kMerge,      ///< merges tables
  kIndex,      ///< builds indexes over tables, fills caches
  kCollect,    ///< copies live entries out of chunks that are mostly obsolete
  kRecluster,  ///< copies entries next to their neighbours by key, drops what only views kept
  kCount       ///< counts what lives in chunks of earlier sessions
};
inline constexpr size_t kBackgroundWorks = 6;

/// "flush", "merge", "index", "collect", "recluster", "count".
constexpr const char* BackgroundWorkName(BackgroundWork work) {
  constexpr const char* kNames[kBackgroundWorks] = {"flush",   "merge",     "index",
                                                    "collect", "recluster", "count"};
  return static_cast<size_t>(work) < kBackgroundWorks ? kNames[static_cast<size_t>(work)] : "";
}

/// What DB::GetStatistics returns. Counters are summed over threads without stopping them.
struct Statistics {
  uint64_t puts = 0;
  uint64_t deletes = 0;
  uint64_t batches = 0;
  uint64_t gets = 0;
  uint64_t gets_found = 0;
  uint64_t iterators = 0;
  uint64_t passed_entries = 0;  ///< deleted keys that iterators had to pass on their way
  uint64_t bytes_put = 0;       ///< key and value bytes accepted
  uint64_t lines_flushed = 0;   ///< cache lines written back to the medium
  uint64_t fences = 0;
  uint64_t syncs = 0;    ///< fdatasync rounds on page-cache media
  uint64_t flushes = 0;  ///< memtables turned into L0 tables
  uint64_t flushed_entries = 0;
  uint64_t flush_micros = 0;  ///< time these flushes took, waits for a medium included
  uint64_t merges = 0;  ///< L0 tables merged into L1; or compactions (compaction.kind=rewrite)
  uint64_t merged_entries = 0;
  uint64_t overwritten_tables = 0;   ///< merged tables that newer ones had overwritten
  uint64_t full_merges = 0;          ///< merges of all of L0 with all of L1 into a new L1
  uint64_t merge_micros = 0;         ///< time these merges took
  uint64_t collected_chunks = 0;     ///< chunks freed by garbage collection
  uint64_t reclustered_entries = 0;  ///< entries copied next to their neighbours by key
  uint64_t region_fallbacks = 0;     ///< allocations that another region than theirs has served
  /// With ListOptions::count_visits: nodes of lists that gets have visited, by layer, and whether
  /// they lie in the region of the thread that reads. Trees and caches in DRAM are not counted.
  uint64_t upper_visits_local = 0;
  uint64_t upper_visits_remote = 0;
  uint64_t bottom_visits_local = 0;
  uint64_t bottom_visits_remote = 0;
  /// Gets by the number of nodes they have visited: none, 1, 2 to 3, 4 to 7, and so on; the last
  /// bucket has all longer ones.
  std::array<uint64_t, 16> lookup_paths{};
  /// Time writers were slowed down or waited, summed. Waits for background work count however short
  /// they are, all else from a millisecond on. The wait of a synced write for its sync is none.
  uint64_t stall_micros = 0;
  uint64_t stalls = 0;
  uint64_t longest_stall_micros = 0;                      ///< the longest of them
  std::array<uint64_t, kStallReasons> stall_micros_by{};  ///< stall_micros by StallReason
  uint64_t stalled_writers = 0;        ///< now: writers that are held back, 64 at most
  uint64_t stalled_writer_micros = 0;  ///< now: how long the first of them has been
  uint64_t stalled_writer_reason = 0;  ///< now: why that one is: 1 + its StallReason; 0: none is
  std::array<LatencyHistogram, kLatencyKinds> latencies{};  ///< by LatencyKind
  /// By BackgroundWork: pieces under way now, and the time all took, those under way up to now.
  std::array<uint64_t, kBackgroundWorks> work_running{};
  std::array<uint64_t, kBackgroundWorks> work_micros{};

  uint64_t memtable_entries = 0;       ///< now: in the mutable and immutable memtables
  uint64_t memtable_bytes = 0;         ///< now: log bytes they cover
  uint64_t immutable_memtables = 0;    ///< now
  uint64_t l0_tables = 0;              ///< now
  uint64_t l0_entries = 0;             ///< now
  uint64_t waiting_tables = 0;         ///< now: L0 tables that wait for their checkpoint
  uint64_t l1_entries = 0;             ///< now: of all levels below L0
  uint64_t index_entries = 0;          ///< now: L1 entries the DRAM index covers
  uint64_t index_complete = 0;         ///< 1 when the DRAM index covers what it is meant to cover
  uint64_t lookup_cache_entries = 0;   ///< now: buckets of the lookup cache that are in use
  uint64_t lookup_cache_hits = 0;      ///< gets that the lookup cache answered
  uint64_t lookup_cache_absences = 0;  ///< gets of keys that it knew to be in no table
  uint64_t lookup_cache_misses = 0;    ///< gets that asked it and had to go on to the tables
  uint64_t second_chance_entries = 0;  ///< now: L1 entries in the second-chance cache
  uint64_t memory_bytes = 0;           ///< now: DRAM of memtables, indexes and filters
  uint64_t memory_budget_bytes = 0;    ///< now: what that may grow to; a share, of shared resources
  /// Now, of the whole that it has a share of; all 0 where it was opened without SharedResources.
  uint64_t shared_memory_bytes = 0;  ///< memory_bytes of all databases that share it
  uint64_t shared_budget_bytes = 0;  ///< what they may take together
  uint64_t shared_databases = 0;     ///< that are open, this one among them
  uint64_t pool_bytes = 0;           ///< now: bytes of all segments
  uint64_t pool_used_bytes = 0;      ///< now: bytes of allocated chunks
  uint64_t pool_max_bytes = 0;       ///< 0: no limit of its own
  /// Now: bytes that its files take on the file system (st_blocks), holes not among them; 0: not
  /// known.
  uint64_t pool_allocated_bytes = 0;
  uint64_t pool_hole_bytes = 0;     ///< now: of free chunks whose pages were given back, or may be
  uint64_t given_back_bytes = 0;    ///< since the open, by holes in the files
  uint64_t holes_filled_bytes = 0;  ///< since the open, asked for again
  /// Now: what the pool's bytes are used for; all but the last sum up to pool_bytes. Obsolete is
  /// what merges and overwrites have left in chunks that still hold something live, with the room
  /// that was left unused there; what becomes obsolete in a log or in L0 is known once it is
  /// merged.
  uint64_t log_bytes = 0;             ///< chunks of logs of memtables
  uint64_t l0_bytes = 0;              ///< live entries of L0, and of lists above the last level
  uint64_t l0_obsolete_bytes = 0;     ///< the rest of their chunks
  uint64_t l1_bytes = 0;              ///< live entries of the last level
  uint64_t l1_obsolete_bytes = 0;     ///< the rest of their chunks
  uint64_t value_bytes = 0;           ///< large values, which have chunks of their own
  uint64_t value_obsolete_bytes = 0;  ///< those of them that were overwritten or deleted
  uint64_t uncounted_bytes = 0;   ///< entries of earlier sessions whose live ones are being counted
  uint64_t other_bytes = 0;       ///< headers, redo records, indexes
  uint64_t pool_free_bytes = 0;   ///< free chunks
  uint64_t retired_bytes = 0;     ///< of these: given back once readers and snapshots have left
  uint64_t tier_bytes = 0;        ///< now: of the tier, on its device
  uint64_t tier_entries = 0;      ///< now: keys and deletes; a key that went again counts twice
                                  ///< until RocksDB has put its versions together
  uint64_t tier_gets = 0;         ///< gets that came to the tier
  uint64_t tier_gets_found = 0;   ///< those of them that it had a value for
  uint64_t tier_gets_cached = 0;  ///< those of them whose record, or delete, was in DRAM
  uint64_t tier_moved_entries = 0;  ///< from the pool to the tier
  uint64_t tier_moved_bytes = 0;    ///< keys and values of these
  uint64_t last_sequence = 0;
  uint64_t snapshots = 0;  ///< now: live snapshots and iterators

  uint64_t open_micros = 0;        ///< time DB::Open took
  uint64_t recovered_entries = 0;  ///< log entries replayed by DB::Open
  uint64_t clean_open = 0;         ///< 1 when the last close was clean
  MediaClass media_class = MediaClass::kPage;
  bool media_class_forced = false;
  std::string design;

  const LatencyHistogram& latency(LatencyKind kind) const noexcept {
    return latencies[static_cast<size_t>(kind)];
  }
};

/// One counter by name, for tools; `monotonic` tells counters from current values.
struct StatisticsField {
  const char* name;
  uint64_t value;
  bool monotonic;
};

/// Every numeric field of `statistics`, in the order of the struct. Of each histogram
/// `latency_KIND_count`, `_sum_nanos`, `_p50_nanos`, `_p99_nanos`, `_p999_nanos` and `_max_nanos`;
/// its buckets are in Statistics only.
std::vector<StatisticsField> ListFields(const Statistics& statistics);

/// What becomes of the bytes of a device when power is lost.
enum class PowerLoss : uint8_t {
  kUnknown = 0,  ///< the kernel does not say what the device is
  kKept = 1,     ///< what was made durable is kept
  kGone = 2,     ///< ordinary memory, gone at power loss: tmpfs, DRAM set aside by `memmap=`
  kAsHost = 3,   ///< a virtual device: kept if its host keeps it, gone if it is in the host's cache
};

/// "unknown", "kept", "gone" or "as_host".
const char* PowerLossName(PowerLoss power_loss);

/// Sectors of 512 bytes that the kernel knows to be unreadable.
struct BadBlocks {
  uint64_t first_sector = 0;
  uint64_t sectors = 0;
};

/// The device below a folder, as the kernel describes it in sysfs. What it does not say is empty.
struct DeviceInfo {
  std::string name;                ///< "pmem0", "nvme0n1p2"
  std::string filesystem;          ///< "tmpfs", where there is no device; otherwise empty
  std::string provider;            ///< of persistent memory: "ACPI.NFIT", "CXL", "e820", "virtio1"
  std::string persistence_domain;  ///< of its region: "memory_controller", "cpu_cache"
  PowerLoss power_loss = PowerLoss::kUnknown;
  std::string power_loss_reason;  ///< in a sentence
  /// Times that its memory modules were shut down without having saved everything, in sum.
  std::optional<uint64_t> dirty_shutdowns;
  std::vector<BadBlocks> bad_blocks;  ///< of the whole device, wherever the pool lies on it
};

/// A region of a pool.
struct RegionInfo {
  std::string path;  ///< folder of its segments
  int node = -1;     ///< NUMA node of its device; -1 when that is not known
  uint64_t bytes = 0;
  uint64_t chunks = 0;
  uint64_t chunks_free = 0;
  DeviceInfo device;
};

/// Facts about a pool that can be read without opening it for writing.
struct PoolInfo {
  std::string path;
  std::string uuid;
  uint32_t format_version = 0;
  std::string design;
  std::string comparator;                      ///< name of the order of its keys (key_order.h)
  MediaClass media_class = MediaClass::kPage;  ///< of the medium the path is on now
  bool media_class_forced = false;
  std::string flush_instruction;  ///< clwb, clflushopt, clflush, none or msync
  uint64_t chunk_bytes = 0;
  uint64_t pool_bytes = 0;
  uint64_t allocated_bytes = 0;  ///< that its files take on the file system (st_blocks)
  /// Why pages of free chunks are not given back to the file system there; empty: they are, unless
  /// the options of the process that writes say otherwise.
  std::string why_no_holes;
  uint64_t segments = 0;
  uint64_t chunks = 0;
  uint64_t chunks_free = 0;
  uint64_t chunks_of_entries = 0;  ///< of logs and tables, obsolete entries among them
  uint64_t chunks_of_values = 0;   ///< of large values
  uint64_t entries = 0;            ///< in tables, by the manifest; log entries not counted
  uint64_t l0_tables = 0;          ///< by the manifest
  uint64_t l0_entries = 0;         ///< of `entries`
  std::vector<RegionInfo> regions;
  ListKind list_kind = ListKind::kOblivious;  ///< with several regions: how lists lead through them
  std::string tier;     ///< where its tier was when it was opened to write last; empty: it has none
  bool clean = false;   ///< closed in order after the last write
  bool in_use = false;  ///< a process has it open
  bool in_use_for_reading = false;  ///< some have, and none of them for writing
  int64_t in_use_by_pid = 0;        ///< one of them; 0 when unknown
  /// What becomes of the pool when power is lost: the worst of its regions' devices.
  PowerLoss power_loss = PowerLoss::kUnknown;
  std::string promise;  ///< what an acknowledged write survives, in a sentence
  /// Dirty shutdowns of its devices when the pool was opened to write last; none: they were not
  /// told then.
  std::optional<uint64_t> dirty_shutdowns_at_open;
  /// It was not closed in order, and devices were shut down dirty since: what was acknowledged may
  /// be missing. The next open verifies all of it.
  bool media_loss_possible = false;
};

/// `info` as one JSON object, with the fields of docs/guide/json.md; names that are no UTF-8 with
/// \x escapes.
std::string ToJson(const PoolInfo& info);

/// What DB::Verify found.
struct VerifyReport {
  uint64_t entries = 0;       ///< entries whose checksums were verified
  uint64_t live_entries = 0;  ///< keys that a scan shows, log entries included
  uint64_t links = 0;         ///< links followed
  uint64_t chunks = 0;        ///< chunks accounted for
  uint64_t bytes = 0;         ///< bytes read
  std::vector<std::string>
      problems;  ///< each names file, offset and object; empty when all is well
};

}  // namespace braid
