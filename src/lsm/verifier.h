// Purpose: the complete check of a store while it is open: every table, every chunk, and who owns
// each of them: what is allocated must be reachable, what is free must not be.
// Thread safety: one thread. The caller keeps merges, flushes and checkpoints out from the first
// check to the last; reads and writes go on except during CheckSpace.
// Invariants:
//   1. Nothing in the pool is changed.
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <unordered_set>

#include "base/function_ref.h"
#include "level/level_check.h"
#include "level/version_set.h"
#include "merge/merge_job.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"
#include "space/large_values.h"
#include "space/reclaimer.h"

namespace braid::lsm {

class Verifier {
 public:
  /// What is checked; outlives the verifier.
  struct Store {
    pool::PmemPool* pool;
    const pool::ChunkUsage* usage;
    level::VersionSet* versions;
    const space::Reclaimer* reclaimer;
    const space::LargeValues* large_values;
    const std::atomic<uint64_t>* sequence;  // last one drawn
    const merge::OpenMerges* open_merges;
    const std::function<void(double)>* progress;  // a share of the whole; may hold nothing
  };

  explicit Verifier(const Store& store)
      : store_(store), pool_(*store.pool), manifest_(store.versions->Lock().RecordToCome()) {}

  /// Walks all tables, then all chunks. False when `is_closed` came true meanwhile.
  bool CheckTables(base::FunctionRef<bool()> is_closed);
  /// Chunks, extents and logs. Nobody allocates or frees meanwhile: the caller holds every lock of
  /// writers, LargeValues::Hold and Reclaimer::Hold.
  void CheckSpace();
  /// Whether an entry that a table links is marked obsolete: readers take it for one that a merge
  /// has just unlinked, and look again forever.
  bool links_obsolete() const noexcept { return totals_.links_obsolete; }
  void AddProblem(const Status& problem) { totals_.AddProblem(problem); }
  /// What was found. Corruption, with the first problem, where there is one.
  Status Report(VerifyReport* report);

 private:
  bool AreLiveEntriesLinked() const;
  void CheckTable(const format::TableRecord& record);
  void CheckChunk(uint64_t chunk);
  bool IsBeingLoaded(uint64_t chunk, uint64_t loading) const;
  void CheckUsage(const level::VersionSet::ConstLocked& versions);
  void CheckExtents(const level::VersionSet::ConstLocked& versions);
  void CheckExtent(uint64_t extent, const level::VersionSet::ConstLocked& versions,
                   const std::unordered_set<uint64_t>& retired);
  uint64_t CheckLogs(const level::VersionSet::ConstLocked& versions);
  void CheckLog(uint64_t chunk, format::ChunkKind kind, uint64_t table_id, bool flushed,
                const level::VersionSet::ConstLocked& versions);
  merge::BatchProgress ProgressOf(uint64_t table_id) const;
  void Progress(double share) const {
    if (*store_.progress) (*store_.progress)(share);
  }
  void AddProblem(uint64_t offset, const char* object, const std::string& what) {
    AddProblem(pool_.CorruptionAt(offset, object, what));
  }

  const Store store_;
  pool::PmemPool& pool_;
  const format::ManifestState manifest_;
  level::CheckTotals totals_;
  std::unordered_set<uint32_t> heads_;  // of the tables that were checked
  uint64_t chunks_ = 0;
  bool are_live_entries_linked_ = false;
};

}  // namespace braid::lsm
