// Purpose: brings a pool, closed cleanly or not, to a state that the engine can run on, without
// copying data and without work that grows with the database.
// Thread safety: runs before the pool is visible to others; reads logs with several threads when
// large.
// Invariants:
//   1. Every step may be interrupted and repeated.
//   2. Nothing depends on options of the last session.
//   3. Sequence numbers found in any intact header, torn ones included, are never reused.
// Persistence: steps and their commit points:
//  1. manifest: newest intact copy.
//  2. after a power loss on page-cache media: rebuild (rebuild.h) instead of 3 to 5.
//  3. merge in progress: the newest intact redo batch is made again; of a merge without records the
//     entry under way is taken back (pointer_persistence.h).
//  4. logs above flushed_table_id are read into a memtable. Nothing is committed; the flush does
//     that.
//  5. sweep: chunks and extents that nothing can reach are freed, each by its state word.
// Of a pool that is opened for reading all of that is done on private copies of pages (media.h):
// nothing commits, and the next open finds what this one found.
// Source: ListDB 6.7, Algorithm 8.
#pragma once

#include <memory>
#include <vector>

#include "braid/options.h"
#include "level/manifest.h"
#include "log/log_reader.h"
#include "memtable/recovered_entries.h"
#include "merge/redo_log.h"
#include "pool/chunk_usage.h"
#include "tier/store.h"

namespace braid::recovery {

struct RecoveredState {
  std::unique_ptr<memtable::RecoveredEntries> entries;  // null when no log holds anything
  uint64_t log_id = 0;                                  // of the newest of these logs
  merge::OpenMerges open_merges;
  uint64_t next_table_id = 0;
  uint64_t last_sequence = 0;
  uint64_t replayed_entries = 0;
  bool write_ahead = false;  // some of it lies in chunks of that kind
  bool rebuilt = false;
};

class RecoveryJob {
 public:
  RecoveryJob(pool::PmemPool* pool, level::Manifest* manifest, pool::ChunkUsage* usage,
              const Options& options)
      : pool_(pool), manifest_(manifest), usage_(usage), options_(options) {}

  /// What is below the pool; null: nothing. Before Run.
  void SetTier(const tier::Store* tier) noexcept { tier_ = tier; }
  Result<RecoveredState> Run();

 private:
  RecoveredState TakeCut(const media::Media::Cut& cut);
  Status ReserveCopies(bool rebuild);
  static uint64_t PagesOf(const std::vector<format::RedoUpdate>& updates);
  Status FinishMerges();
  Status Redo(const format::MergeRecord& merge);
  Status SettleMerge(const format::MergeRecord& merge);
  Status CheckHeads() const;
  static bool IsNamed(const format::ManifestState& manifest, uint64_t redo_chunk);
  Status ClassifyChunks();
  Status ReplayLogs();
  void FlushLastWrites(const std::vector<log::ShardLog>& logs);
  Status SweepExtents();
  bool NeedsRebuild() const;

  pool::PmemPool* pool_;
  level::Manifest* manifest_;
  pool::ChunkUsage* usage_;
  const Options& options_;
  const tier::Store* tier_ = nullptr;
  std::vector<uint64_t> log_chunks_;  // to be replayed
  std::vector<uint64_t> extents_;
  RecoveredState state_;
};

/// Who owns an extent, by the entry that its header names.
enum class ExtentOwner : uint8_t {
  kAlive,     ///< an intact, live entry names it
  kObsolete,  ///< the entry is marked obsolete: the extent is about to be freed
  kNobody,    ///< no intact entry names it
};
ExtentOwner OwnerOf(const pool::PmemPool& pool, uint64_t extent);

}  // namespace braid::recovery
