// Purpose: options of braid. Sub-structs are named for the step they tune; units are in the names.
// Defaults are what is benchmarked. Nothing is clamped silently: Validate() names the first
// offence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "braid/status.h"

namespace braid {

class EventListener;
class SharedResources;
class Snapshot;

/// What makes a write durable on the medium below a pool (docs/guide/durability.md).
enum class MediaClass : uint8_t {
  kPage = 1,       ///< page cache: survives a process crash; power loss only with sync
  kCacheLine = 2,  ///< flushed cache lines survive power loss (ADR, CXL)
  kByte = 3,       ///< every store that is visible survives power loss (eADR)
};

/// "page", "cache_line" or "byte".
const char* MediaClassName(MediaClass media_class);

/// Where the data lies and how much room it may take.
struct PoolOptions {
  /// Size of a new pool; it grows online. What stays free beyond is given back to the file system
  /// later (user guide, Space), so its files take so much at least.
  uint64_t initial_bytes = 64ull << 20;
  uint64_t max_bytes = 0;  ///< the pool never grows beyond; 0: as far as the device goes
  uint64_t chunk_bytes =
      1ull << 20;  ///< unit of allocation, power of two, 4 KiB to 64 MiB; new pools only
  /// Treat the medium as this class instead of asking libpmem2, for tests and benchmarks:
  /// kCacheLine on tmpfs issues the flushes of real persistent memory.
  std::optional<MediaClass> force_media_class;
  /// Parts of the pool, one for each NUMA node; 1 to 4; fixed when the pool is made. 1: an existing
  /// pool's own number. Each gets an equal share of initial_bytes, at least what its headers take.
  uint32_t regions = 1;
  /// Folders of the regions behind the first, whose segments lie in the pool's own folder; on the
  /// device of a node each. Empty: all regions lie in the pool's folder. New pools only.
  std::vector<std::string> region_paths;
  /// For measurements: write-backs on class kCacheLine behave as on slower persistent memory. Each
  /// line costs this many nanoseconds more, waited for at the next fence of its thread; 0: off.
  uint32_t emulate_write_ns = 0;
  /// For measurements: at most so many million bytes are written back a second, by all threads
  /// together; 0: no limit.
  uint32_t emulate_write_mb_s = 0;
  bool allow_world_writable = false;  ///< accept a pool directory that others may write to
  /// A SIGBUS in the pool's mapping (a file truncated under us, a bad block) becomes IOError: every
  /// later call returns it until the pool is opened again. Installs a handler for the process while
  /// a pool is open; signals of other addresses go to the handler that was there before. false: the
  /// process gets the signal.
  bool catch_sigbus = true;
};

/// How writes are logged.
enum class LogKind : uint8_t {
  kIndexUnified = 1,  ///< entries have the shape of list nodes; a flush links them where they are
  kWriteAhead = 2,    ///< entries are records only; a flush copies them, and the log is freed
  /// Each memtable's log is write-ahead where the entries of the memtable before it were small on
  /// average, 256 bytes at most, else index-unified.
  kBySize = 3,
};

/// The log that makes writes durable. A kind that is not set is the design's choice, here and
/// below. Each kind can be changed from open to open, unless its line says otherwise.
struct LogOptions {
  std::optional<LogKind> kind;
  uint32_t shards = 0;  ///< logs written side by side; 0: twice the processors, at most 32
};

/// The ordered structure that holds the newest entries.
enum class MemTableKind : uint8_t {
  kBTree = 1,     ///< in DRAM: B+-tree with prefixes of keys in its nodes
  kSkipList = 2,  ///< in DRAM: skip list
  /// Skip list in persistent memory, without a log: a write links its entry where it stays, and a
  /// full memtable is a table of L0 as it is. An open after a crash reads it back, as it does logs.
  kPersistent = 3,
  /// A skip list in DRAM, and persistent ones for as long as the last one of DRAM waits for its
  /// flush: that DRAM is full keeps no writer waiting.
  kAlternating = 4,
};

/// What the newest entries are found by.
struct MemTableOptions {
  std::optional<MemTableKind> kind;
  uint64_t bytes = 64ull << 20;  ///< log bytes after which a memtable is full
  uint32_t max_immutable = 4;  ///< immutable memtables waiting for their flush before writers wait
};

/// Making an L0 table of a full memtable. From a write-ahead log it copies the entries in the order
/// of their keys, so that scans read what lies side by side and overwritten versions are left
/// behind; in an index-unified log it sets links between them, and writes nothing twice.
struct FlushOptions {
  /// Tables whose links are written back to the medium together, with one fence. 1: each table at
  /// once. More: later and cheaper, and an open after a crash replays the logs of the tables that
  /// were not written back yet. 0: the design's choice. At most 32.
  uint32_t group_tables = 0;
};

/// How lists are cut and linked across the regions of a pool (PoolOptions::regions).
enum class ListKind : uint8_t {
  kOblivious = 1,  ///< one list a table; links lead anywhere
  kBraided = 2,    ///< one list a table; upper layers lead within a region, the bottom one anywhere
};

/// "oblivious" or "braided".
const char* ListKindName(ListKind kind);

/// The lists of tables in persistent memory.
struct ListOptions {
  std::optional<ListKind> kind;  ///< fixed when the pool is made; not set: the pool's, or braided
  bool count_visits = false;  ///< count visits of nodes by region, in statistics; costs some speed
};

/// How an L0 table gets into L1.
enum class MergeKind : uint8_t {
  kZipper = 1,  ///< links change, entries stay
  kCopy = 2,    ///< entries are copied together in key order first
  kNone = 3,    ///< not at all, for measurements: writes fail when L0 has no room for more tables
  /// Levels are of several lists each: tables of L0, or a list, and those of the next level that
  /// they meet become new ones. For designs with several levels.
  kRewrite = 4,
};

/// How a merge survives a crash.
enum class MergePersistence : uint8_t {
  kRedoLog = 1,  ///< a batch of updates is logged, then made: two fences a batch
  kPointer = 2,  ///< each update is made durable before the next: two fences an entry
};

/// Merging L0 tables into L1.
struct CompactionOptions {
  std::optional<MergeKind> kind;
  std::optional<MergePersistence> persistence;
  /// L0 tables that start a merge. While there are writes and no reads, fewer than five may wait
  /// for newer ones to overwrite them.
  uint32_t l0_trigger = 1;
  uint32_t l0_slowdown = 16;      ///< L0 tables from which writers are slowed down smoothly
  uint32_t l0_stop = 48;          ///< L0 tables at which writers wait; at most 56
  uint32_t batch_entries = 1024;  ///< entries whose links one redo record covers
  double gc_live_ratio = 0.5;     ///< chunks with a smaller share of live bytes are collected
  /// A part of L1 is copied into the order of its keys when more than this share of its entries do
  /// not directly follow their predecessor in memory: in Compact(), and after a second without
  /// writes when as large a share of L1 is new. Takes as much space again for the time of it. 0:
  /// never. Not set: the design's choice; where that is not never, it is a quarter, and an L1 of
  /// less than 16384 entries is left as it is.
  std::optional<double> recluster_share;
};

/// Lists below L0, for designs that keep several: each level is one list, and a list that has grown
/// beyond its level's size is merged into the next one.
struct LevelOptions {
  /// Levels, L0 among them, 3 to 8; fixed when the pool is made. 0: the pool's, or the design's.
  uint32_t count = 0;
  /// Size from which L1 is merged into L2; 0: the design's choice, 16 times memtable.bytes.
  uint64_t l1_bytes = 0;
  uint32_t growth = 0;  ///< sizes of neighbouring levels, 2 to 100 to one; 0: the design's choice
  /// Levels from L1 on between which entries stay where they are; from one such group into the next
  /// they are copied, in the order of their keys. 1: each merge copies; 0: the design's choice.
  uint32_t per_group = 0;
  /// Bytes after which a persistent memtable is full, where memtable.kind makes such; 0: the
  /// design's choice, 4 times memtable.bytes. Other designs: memtable.bytes.
  uint64_t persistent_bytes = 0;
  /// With compaction.kind=rewrite: size from which a list of a level takes no more keys, the values
  /// that it refers to included, and at least a sixteenth of pool.chunk_bytes; 0: the design's
  /// choice, half of memtable.bytes.
  uint64_t list_bytes = 0;
  /// With compaction.kind=rewrite: values of so many bytes and more stay where a flush has written
  /// them, and new lists refer to them; shorter ones are copied. 0: the design's choice, 64.
  uint64_t reference_bytes = 0;
};

/// What is kept in DRAM to speed reads up, within memory_budget_bytes.
struct CacheOptions {
  std::optional<bool> index;  ///< an ordered index over L1, as fine as the budget allows
  /// Hash table from keys to addresses of entries, filled by flushes; 0: none.
  std::optional<uint64_t> lookup_bytes;
  /// Skip list of the tallest entries of L1, from which searches start; 0: none.
  std::optional<uint64_t> second_chance_bytes;
};

/// A store without log and memtable: sorted leaves in persistent memory below an index in DRAM.
struct LeafOptions {
  uint32_t ranges = 0;  ///< parts of the key space with an index of their own at first; 0: design's
  std::optional<bool> divide_ranges;  ///< split ranges that get large, merge small ones
  uint32_t span = 0;  ///< nodes passed on a level after which a search raises one; 0: design's
};

/// A RocksDB database below the pool, on a block device, for data larger than persistent memory
/// (docs/guide/tier.md). Not for designs that keep their data in leaves.
struct TierOptions {
  /// Folder of the tier; made with the pool, or when the pool is first opened to write with it.
  /// From then on the pool does not open without it. Needs pool.max_bytes: when entries and large
  /// values that are live take more than half of that, what was written longest ago goes to the
  /// tier. Empty: no tier.
  std::string path;
};

/// How thoroughly a pool is checked when it is opened.
enum class VerifyOnOpen : uint8_t {
  kQuick = 0,  ///< headers, manifest, chunk states, the log's tail: work that does not grow
  kFull = 1,   ///< every entry and link before the first operation
};

/// How a database is opened.
struct Options {
  std::string design = "braid";  ///< a recipe: see docs/internals/designs/
  /// Make the pool when the path does not exist; false: the open is NotFound then. On in C++; off
  /// in C and Python, as in LevelDB and plyvel.
  bool create_if_missing = true;
  bool error_if_exists = false;  ///< fail when the pool is there already
  /// Opens without changing the pool: its files may be on a filesystem that is mounted read-only,
  /// and any number of handles and processes may have it open so at once.
  /// While another handle writes, in this process or another one, reads see the database as of
  /// Open. When the writer has to compact, it revokes the grant: reads return TryAgain; reopen to
  /// continue. Busy, with the reason, where the writer does not grant that
  /// (docs/internals/decisions/0014-readers.md).
  /// Writes, Flush and Compact are NotSupported. What a crash has left undone is done on private
  /// copies of the pages concerned, which count against memory_budget_bytes. No threads run.
  bool read_only = false;
  bool verify_checksums = true;  ///< check entries when they are read
  VerifyOnOpen verify_on_open = VerifyOnOpen::kQuick;
  uint64_t memory_budget_bytes = 1ull << 30;  ///< DRAM for memtables, indexes and filters together
  bool background_threads = true;  ///< false: flushes and merges run inside the writer's calls
  PoolOptions pool;
  LogOptions log;
  MemTableOptions memtable;
  FlushOptions flush;
  ListOptions lists;
  CompactionOptions compaction;
  LevelOptions levels;
  CacheOptions cache;
  LeafOptions leaf;
  TierOptions tier;
  /// Called with lines worth telling an operator (recovery, slow-down, error); may be empty.
  /// Called from any thread; must not call back into the database.
  std::function<void(std::string_view line)> logger;
  /// Told of flushes, merges, stalls, recovery and errors (event_listener.h); may be null.
  std::shared_ptr<EventListener> listener;
  /// A memory budget and background threads that the database shares with others
  /// (shared_resources.h). Null: a budget of its own, memory_budget_bytes, which does not count
  /// otherwise.
  std::shared_ptr<SharedResources> resources;

  /// The first option outside its limits, by name, or ok.
  Status Validate() const;

  /// Sets an option by the name it has here, "log.kind" for example, from text: numbers (with K, M,
  /// G or T for powers of 1024), true and false, or the name of a kind as OptionNames() lists it.
  /// Errors: InvalidArgument, with the names or values there are.
  Status Set(std::string_view name, std::string_view value);
};

/// An option as it is set by name.
struct OptionName {
  std::string name;    ///< "compaction.kind"
  std::string values;  ///< "zipper, copy, none", or what a number counts
  std::string preset;  ///< the default; "design's" where the design chooses
  std::string summary;
};
/// All options that Options::Set knows, in the order of the structs above.
std::vector<OptionName> OptionNames();

/// How one write is done.
struct WriteOptions {
  /// On page-cache media: survive power loss too, together with every write acknowledged before; on
  /// memory that is gone at power loss (tmpfs, `memmap=`) nothing does (PoolInfo::power_loss).
  /// Costs one fdatasync, shared by the writers that wait at the same time. On other media every
  /// write is durable when it returns, and this changes nothing. Designs that can't keep that
  /// promise (Capabilities::survives_power_loss_on_page_media) answer NotSupported.
  bool sync = false;
};

/// How one read is done.
struct ReadOptions {
  const Snapshot* snapshot = nullptr;      ///< read as of this snapshot; null: the newest state
  std::optional<std::string> lower_bound;  ///< iterators: first key that is shown (inclusive)
  std::optional<std::string> upper_bound;  ///< iterators: first key that is not (exclusive)
  /// The same without a copy: the bytes stay the caller's, unchanged, until the iterator is gone.
  /// They count instead of the two above.
  std::optional<Slice> lower_slice;
  std::optional<Slice> upper_slice;
};

/// Limits that are refused with Status::InvalidArgument.
inline constexpr size_t kMaxKeyBytes = 128 * 1024 - 1;
inline constexpr uint64_t kMaxValueBytes = 0xFFFFFFFFull;
inline constexpr uint64_t kMaxBatchBytes = 1ull << 30;
inline constexpr size_t kMaxTierPath = 239;

}  // namespace braid
