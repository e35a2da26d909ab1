// Purpose: the views that are alive: snapshots and iterators. Flushes and merges keep the versions
// they see; reclamation keeps the chunks they may stand on.
// Thread safety: any thread. Registration touches one of several shards.
// Invariants:
//   1. A view's sequence number is read under its shard's lock. So when Collect has left the shard,
//      a view that it did not see has a number at least as high as the last one drawn before
//      Collect.
//   2. An iterator's pin is the reclamation clock before it could learn any offset. Snapshots pin
//      no memory: each read through one loads the current state.
// Persistence: none.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <list>

#include "base/check.h"
#include "base/forks.h"
#include "base/mutex.h"
#include "base/thread_slot.h"
#include "index/retention.h"

namespace braid::level {

class ViewRegistry {
 public:
  struct View {
    uint64_t sequence;
    uint64_t pin;
  };
  /// Keeps its view alive; movable.
  class Handle {
   public:
    Handle() = default;
    Handle(Handle&& other) noexcept { *this = std::move(other); }
    Handle& operator=(Handle&& other) noexcept {
      Release();
      registry_ = other.registry_;
      shard_ = other.shard_;
      view_ = other.view_;
      other.registry_ = nullptr;
      return *this;
    }
    ~Handle() { Release(); }
    uint64_t sequence() const noexcept {
      BRAID_DCHECK(registry_ != nullptr);
      return view_->sequence;
    }

   private:
    friend class ViewRegistry;
    void Release() noexcept {
      if (registry_ == nullptr) return;
      // In a child the lock may never be free, and nobody merges.
      if (!registry_->origin_.IsThisProcess()) return;
      const base::MutexLock lock(registry_->shards_[shard_].mutex);
      BRAID_DCHECK(!registry_->shards_[shard_].views.empty());  // its own is there
      registry_->shards_[shard_].views.erase(view_);
      registry_ = nullptr;
    }
    ViewRegistry* registry_ = nullptr;
    uint32_t shard_ = 0;
    std::list<View>::iterator view_;
  };

  /// A view of the writes up to `sequence` as it is now. `clock`: null for a snapshot.
  Handle Register(const std::atomic<uint64_t>& sequence, const std::atomic<uint64_t>* clock) {
    return Add([&] { return sequence.load(std::memory_order_seq_cst); }, clock);
  }
  /// Another view of a sequence number that is registered already.
  Handle Register(uint64_t sequence, const std::atomic<uint64_t>* clock) {
    return Add([&] { return sequence; }, clock);
  }

  /// Sorted sequence numbers of all live views. Looks twice: an iterator may take a snapshot's
  /// number over in a shard that was looked at, before the snapshot goes from one that was not yet.
  index::LiveViews Collect() {
    const index::LiveViews first = LookOnce();
    const index::LiveViews second = LookOnce();
    index::LiveViews views;
    std::set_union(first.begin(), first.end(), second.begin(), second.end(),
                   std::back_inserter(views));
    return views;
  }
  /// The oldest pin, or ~0 when no view is alive.
  uint64_t OldestPin() {
    uint64_t oldest = kNoPin;
    for (Shard& shard : shards_) {
      const base::MutexLock lock(shard.mutex);
      for (const View& view : shard.views) oldest = std::min(oldest, view.pin);
    }
    return oldest;
  }
  uint64_t count() {
    uint64_t count = 0;
    for (Shard& shard : shards_) {
      const base::MutexLock lock(shard.mutex);
      count += shard.views.size();
    }
    return count;
  }

 private:
  static constexpr uint32_t kShards = 16;
  static constexpr uint64_t kNoPin = ~0ull;
  struct alignas(64) Shard {
    base::Mutex mutex;
    std::list<View> views BRAID_GUARDED_BY(mutex);
  };

  index::LiveViews LookOnce() {
    index::LiveViews views;
    for (Shard& shard : shards_) {
      const base::MutexLock lock(shard.mutex);
      for (const View& view : shard.views) views.push_back(view.sequence);
    }
    std::sort(views.begin(), views.end());
    return views;
  }
  template <class Sequence>
  Handle Add(Sequence&& sequence, const std::atomic<uint64_t>* clock) {
    Handle handle;
    handle.shard_ = base::ThreadSlot() % kShards;
    Shard& shard = shards_[handle.shard_];
    const base::MutexLock lock(shard.mutex);
    const uint64_t pin = clock == nullptr ? kNoPin : clock->load(std::memory_order_seq_cst);
    shard.views.push_front({sequence(), pin});
    handle.view_ = shard.views.begin();
    handle.registry_ = this;  // last: a handle without a view has nothing to give back
    return handle;
  }

  std::array<Shard, kShards> shards_;
  const base::Origin origin_;
};

}  // namespace braid::level
