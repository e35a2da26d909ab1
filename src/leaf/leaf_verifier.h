// Purpose: the complete check of a store of leaves while it is open: every leaf, every chunk, and
// who owns each of them: what is allocated must be reachable, what is free must not be.
// Thread safety: one thread. Reads go on, and so do writes: they are held up for a chunk at a time,
// and at the end for what is counted only. While chunks are looked at nothing is moved or given
// back.
// Invariants:
//   1. Nothing in the pool is changed.
// Persistence: none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>

#include "braid/db.h"
#include "leaf/leaf_list.h"
#include "leaf/leaf_reclaimer.h"
#include "leaf/leaf_writer.h"
#include "level/level_check.h"
#include "level/manifest.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"
#include "space/large_values.h"

namespace braid::leaf {

class LeafVerifier {
 public:
  /// What is checked; outlives the verifier.
  struct Store {
    pool::PmemPool* pool;
    const pool::ChunkUsage* usage;
    const level::Manifest* manifest;
    LeafList* list;
    space::LargeValues* large_values;
    const LeafReclaimer* reclaimer;
    LeafWriter* writer;
    bool image_served;                            // the image of the last close is freed
    const std::function<void(double)>* progress;  // a share of the whole; may hold nothing
  };

  explicit LeafVerifier(const Store& store)
      : store_(store), pool_(*store.pool), list_(*store.list) {}

  /// Once. The caller keeps a close out. Corruption, with the first problem, where there is one.
  Status Run(VerifyReport* report);

 private:
  void CheckLeaves();
  bool CheckLeaf(LeafNode* node);
  void CheckSpace();
  void CheckChunk(uint64_t chunk);
  bool IsNamed(uint64_t offset);
  void CheckExtents();
  void CheckExtent(uint64_t offset, const std::unordered_set<uint64_t>& retired, uint64_t* bodies);
  void Progress(double share) const {
    if (*store_.progress) (*store_.progress)(share);
  }
  void AddProblem(uint64_t offset, const char* object, const std::string& what) {
    totals_.AddProblem(pool_.CorruptionAt(offset, object, what));
  }

  const Store store_;
  pool::PmemPool& pool_;
  LeafList& list_;
  level::CheckTotals totals_;
  uint64_t live_entries_ = 0;  // while writes are paused
};

}  // namespace braid::leaf
