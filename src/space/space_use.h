// Purpose: what the chunks of a pool are used for, live and obsolete, as statistics.
// Thread safety: any thread; chunks may come, go and fill meanwhile.
// Persistence: none; nothing is stored to the medium here.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "base/function_ref.h"
#include "braid/statistics.h"
#include "media/sparse_table.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"

namespace braid::space {

/// What the pool's files take, and what was given back of them. A system call a segment.
void FillHoles(const pool::PmemPool& pool, Statistics* statistics);

/// What the entries of a chunk belong to.
enum class EntryLevel : uint8_t { kLog, kL0, kL1, kUnknown };

/// Adds up the chunks of `pool`; `level_of` is asked for each that holds entries. Fills log_bytes,
/// l0_*, l1_*, value_bytes, uncounted_bytes, other_bytes and pool_free_bytes. Cost: a look at some
/// words in DRAM for each chunk.
void AddUpChunks(const pool::PmemPool& pool, const pool::ChunkUsage& usage,
                 base::FunctionRef<EntryLevel(uint64_t chunk, format::ChunkState state)> level_of,
                 Statistics* statistics);

/// Of `chunks` and `extents` that wait to be given back: retired_bytes, and value_obsolete_bytes,
/// which leave value_bytes.
void AddUpRetired(const pool::PmemPool& pool, uint64_t chunks,
                  const std::unordered_set<uint64_t>& extents, Statistics* statistics);

/// Which level the entries of chunks of logs belong to, by the tables that their headers name.
class LogLevels {
 public:
  /// Of the manifest.
  struct Tables {
    uint64_t flushed_id;          // logs above are in memtables only, except those of `shown`
    uint64_t merged_id;           // logs up to it hold entries of the last level only
    std::vector<uint64_t> shown;  // tables above flushed_id that readers see already
  };

  explicit LogLevels(const pool::PmemPool& pool);
  /// Of a chunk that holds entries. Reads its header, unless an earlier call has found it to be of
  /// the last level in the same life: it stays there.
  EntryLevel Of(const Tables& tables, uint64_t chunk, format::ChunkState state) const noexcept;

 private:
  const pool::PmemPool& pool_;
  // Generation of a chunk that is of the last level; 0: not known. Without memory it stays unused.
  media::SparseTable<std::atomic<uint32_t>> in_last_level_;
};

}  // namespace braid::space
