// Purpose: retiring entries, and giving back what they took.
// Thread safety, invariants, persistence: see leaf_reclaimer.h.
#include "leaf/leaf_reclaimer.h"

#include <utility>
#include <vector>

#include "base/check.h"
#include "base/epoch.h"

namespace braid::leaf {

using format::EntryHeader;

LeafReclaimer::RetiredEntry LeafReclaimer::PrepareToRetire(uint64_t entry) const {
  RetiredEntry retired;
  if (const uint64_t extent = pool_.ExtentOf(entry); extent != 0) retired.extent.push_back(extent);
  return retired;
}

void LeafReclaimer::Retire(uint64_t entry, RetiredEntry* retired) noexcept {
  BRAID_DCHECK(retired->extent.size() <= 1);
  auto* header = pool_.As<EntryHeader>(entry);
  const uint64_t size = header->size();
  pool_.ops().StoreByte(header->state_byte(), format::kStateObsolete);
  // Durable with the next fence of anybody: only a salvage looks at it.
  pool_.ops().Flush(header->state_byte(), 1, media::Site::kLeafObsoleteMark);
  uint64_t bytes = size;
  if (!retired->extent.empty()) {
    bytes += pool_.chunk_bytes();
    const base::MutexLock lock(mutex_);
    extents_.splice(extents_.end(), retired->extent);
  }
  // Last: a chunk without live bytes is freed, and what is said of its entries is said by then.
  store_.usage->Remove(pool_.ChunkOf(entry), size);
  garbage_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

bool LeafReclaimer::Reclaim(bool open_too) {
  const base::MutexLock reclaim(reclaim_mutex_);
  if (pool_.failed()) return false;
  garbage_bytes_.store(0, std::memory_order_relaxed);
  const std::vector<uint64_t> chunks = store_.heap->EmptyChunks(open_too);
  std::list<uint64_t> extents;
  {
    const base::MutexLock lock(mutex_);
    extents.swap(extents_);
  }
  LeafList::Garbage garbage = store_.list->TakeGarbage();
  if (chunks.empty() && extents.empty() && garbage.empty()) return false;
  base::SynchronizeEpoch();
  if (pool_.failed()) {
    store_.list->PutBack(std::move(garbage));
    return false;
  }
  for (const uint64_t extent : extents) pool_.FreeExtent(extent);
  for (const uint64_t chunk : chunks) pool_.FreeChunk(chunk);
  chunks_given_back_.fetch_add(chunks.size(), std::memory_order_relaxed);
  store_.list->Release(std::move(garbage));
  // Relaxed: see times().
  if (!chunks.empty() || !extents.empty()) times_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

std::unordered_set<uint64_t> LeafReclaimer::RetiredExtents() const {
  const base::MutexLock lock(mutex_);
  return {extents_.begin(), extents_.end()};
}

}  // namespace braid::leaf
