// Purpose: opening a pool of leaves: from the image that an orderly close has left, by a scan of
// the leaves after a crash; and writing that image. A pool that was open when page-cache media lost
// the page cache is refused: there is no way to detect which of its pages are old.
// Thread safety: one thread, before anybody else knows the pool, or after the last one has left it.
// Invariants:
//   1. No byte is used before bounds and check.
//   2. Each step may be interrupted and repeated, and depends on no option.
//   3. The image is believed only if the pool was closed in order and every check of it matches; a
//      scan finds the same.
// Persistence: a refused pool is not written to. The scan changes nothing that counts: it takes
// empty leaves off the list, marks entries that nothing leads to as void, and frees chunks that
// hold nothing. Before that it flushes the leaves it believes in, since the process that died may
// not have come to it.
// Source: NV-Skiplist 3.6.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leaf/leaf_list.h"
#include "level/manifest.h"
#include "pool/chunk_usage.h"
#include "pool/pool.h"

namespace braid::leaf {

struct RecoveredLeaves {
  uint64_t last_sequence = 0;
  uint64_t entries = 0;
  uint64_t next_chunk_id = 2;  // table id of the next chunk of entries
  bool from_image = false;
};

class LeafRecovery {
 public:
  LeafRecovery(pool::PmemPool* pool, level::Manifest* manifest, LeafList* list,
               pool::ChunkUsage* usage)
      : pool_(pool), manifest_(manifest), list_(list), usage_(usage) {}

  Result<RecoveredLeaves> Run();

 private:
  bool LostPageCache() const;
  // By a scan:
  Status ScanLeaves();
  Status ScanLeaf(uint64_t offset);
  Status SweepChunks();
  Status SweepEntries(uint64_t chunk);
  Status SweepExtent(uint64_t chunk, uint64_t* bodies);
  bool IsLinked(uint64_t entry) const;
  // From the image:
  bool ReadImage(std::string* image) const;
  bool LoadImage();

  pool::PmemPool* pool_;
  level::Manifest* manifest_;
  LeafList* list_;
  pool::ChunkUsage* usage_;
  RecoveredLeaves state_;
  std::vector<uint64_t> linked_;  // offsets of the entries that leaves name
  std::string last_key_;          // greatest key of the leaves so far
  bool any_key_ = false;
};

/// Writes the image of the index, durably. Without room for it none is left behind, and OutOfSpace
/// says so: the next open scans.
Status WriteLeafImage(pool::PmemPool* pool, const LeafNode* first, const pool::ChunkUsage& usage,
                      const RecoveredLeaves& facts);
/// Frees the chunks of an image that has served; the pool is marked as open by then.
void FreeLeafImage(pool::PmemPool* pool);

}  // namespace braid::leaf
