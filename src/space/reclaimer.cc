// Purpose: what is retired, and when it is given back.
// Thread safety, invariants, persistence: see reclaimer.h.
#include "space/reclaimer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/epoch.h"

namespace braid::space {

void Reclaimer::Retire(Retired retired) {
  std::list<Batch> node;
  node.push_back({0, std::move(retired)});
  node.front().clock = clock_.fetch_add(1) + 1;
  BRAID_DCHECK(node.front().clock <=
               clock_.load());  // invariant 2: a reader of it from now on does not hold this back
  {
    const base::MutexLock lock(mutex_);
    batches_.splice(batches_.end(), node);
  }
  wake_();
}

void Reclaimer::RetireMemory(RetiredMemory memory) noexcept {
  {
    const base::MutexLock lock(mutex_);
    memory_.splice(memory_.end(), memory);
  }
  wake_();
}

Result<bool> Reclaimer::Reclaim(bool in_doubt) {
  // Who waits for space must find what another thread is just giving back.
  const base::MutexLock reclaim_lock(reclaim_mutex_);
  // First the clock, then the views: a view that is not seen has a pin at least as high as this,
  // and can't reach what was retired before.
  const uint64_t now = clock_.load();
  const uint64_t oldest = std::min(now, oldest_pin_());
  BRAID_DCHECK(oldest <= now);
  std::list<Batch> ready;
  RetiredMemory memory;
  {
    const base::MutexLock lock(mutex_);
    memory.swap(memory_);
    while (!batches_.empty() && batches_.front().clock <= oldest) {
      ready.splice(ready.end(), batches_, batches_.begin());
    }
  }
  if (ready.empty() && memory.empty()) return false;
  base::SynchronizeEpoch();
  memory.clear();
  if (ready.empty()) return true;
  if (in_doubt || pool_->failed()) return false;
  const bool frees = std::any_of(ready.begin(), ready.end(),
                                 [](const Batch& batch) { return !batch.retired.empty(); });
  if (frees) {
    if (Status s = pool_->media().Sync(media::Site::kReclaimSync); !s.ok()) return s;
  }
  for (const Batch& batch : ready) {
    BRAID_DCHECK(batch.clock <= oldest);  // invariant 1
    // Nobody else has freed them, or this would be the next life of one.
    BRAID_DCHECK(std::all_of(batch.retired.chunks.begin(), batch.retired.chunks.end(),
                             [this](const pool::ChunkId& id) {
                               return pool_->StateOf(id.chunk).generation() == id.generation;
                             }));
    for (const pool::ChunkId& chunk : batch.retired.chunks) pool_->FreeChunk(chunk.chunk);
    for (const uint64_t extent : batch.retired.extents) pool_->FreeExtent(extent);
    chunks_given_back_.fetch_add(batch.retired.chunks.size(), std::memory_order_relaxed);
  }
  if (frees) CountRoom();
  return true;
}

void Reclaimer::ReclaimMemory() noexcept {
  RetiredMemory memory;
  {
    const base::MutexLock lock(mutex_);
    memory.swap(memory_);
  }
  if (!memory.empty()) base::SynchronizeEpoch();
}

bool Reclaimer::HasRetired() const {
  const base::MutexLock lock(mutex_);
  return !batches_.empty() || !memory_.empty();
}

bool Reclaimer::HasRetiredMemory() const {
  const base::MutexLock lock(mutex_);
  return !memory_.empty();
}

bool Reclaimer::IsRetired(const pool::ChunkId& chunk) const {
  const base::MutexLock lock(mutex_);
  return std::any_of(batches_.begin(), batches_.end(), [&](const Batch& batch) {
    const auto& chunks = batch.retired.chunks;
    return std::find(chunks.begin(), chunks.end(), chunk) != chunks.end();
  });
}

uint64_t Reclaimer::RetiredChunks() const {
  const base::MutexLock lock(mutex_);
  uint64_t chunks = 0;
  for (const Batch& batch : batches_) chunks += batch.retired.chunks.size();
  return chunks;
}

std::unordered_set<uint64_t> Reclaimer::RetiredExtents() const {
  std::unordered_set<uint64_t> extents;
  const base::MutexLock lock(mutex_);
  for (const Batch& batch : batches_) {
    extents.insert(batch.retired.extents.begin(), batch.retired.extents.end());
  }
  return extents;
}

}  // namespace braid::space
