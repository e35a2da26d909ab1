// Purpose: links copies of entries into a list while they are written. Thread safety: one thread an
// object; nobody sees the list yet. Persistence: nothing is committed here; links and heads are
// flushed, and fenced by Close.
#pragma once

#include "base/mutants.h"
#include "format/layout.h"
#include "pmem/pool.h"

namespace braid::compaction {

/// Links copies, given in order, into a list; a strand each, as LinkFlush does.
class CopiedList {
 public:
  explicit CopiedList(pmem::PmemPool* pool)
      : pool_(pool), links_(pool->strands() * format::kMaxHeight) {
    for (size_t i = 0; i < links_; ++i) last_[i] = &heads_[i];
  }

  void Append(uint64_t offset) {
    auto* entry = pool_->As<format::EntryHeader>(offset);
    const uint64_t link = pool_->LinkTo(offset).raw;
    const uint32_t strand = pool_->StrandOf(offset);
    for (uint32_t layer = 0; layer < entry->height(); ++layer) {
      uint64_t*& waiting = last_[(layer == 0 ? 0 : strand * format::kMaxHeight) + layer];
      Store(waiting, link);
      waiting = entry->links() + layer;
    }
  }

  /// Ends the list and writes its heads; all of it is durable on return.
  void Close(uint64_t head) {
    pmem::PersistOps& ops = pool_->ops();
    for (size_t i = 0; i < links_; ++i) Store(last_[i], format::EntryPtr::End().raw);
    for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
      char* to = pool_->At(pool_->StrandHead(head, strand));
      ops.Copy(to, heads_ + strand * format::kMaxHeight, sizeof(format::TableHead));
      if (!BRAID_MUTANT(kCopiesHeadNotFlushed)) ops.Flush(to, sizeof(format::TableHead));
    }
    if (!BRAID_MUTANT(kCopiesNotFenced)) ops.Fence();
  }

 private:
  void Store(uint64_t* link, uint64_t value) {
    if (link >= heads_ && link < heads_ + links_) {
      *link = value;  // put together in DRAM
      return;
    }
    pool_->ops().StoreU64(link, value);
    if (!BRAID_MUTANT(kCopiesNotFlushed)) pool_->ops().Flush(link, sizeof *link);
  }

  pmem::PmemPool* pool_;
  size_t links_;
  uint64_t heads_[format::kMaxRegions * format::kMaxHeight];
  uint64_t* last_[format::kMaxRegions * format::kMaxHeight];
};

}  // namespace braid::compaction
