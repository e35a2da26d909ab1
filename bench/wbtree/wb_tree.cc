// Purpose: the operations of the wB+-tree while it is open. Thread safety, invariants, persistence:
// see wb_tree.h. Recovery is in wb_recovery.cc.
#include "bench/wbtree/wb_tree.h"

#include <sched.h>

#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/thread_slot.h"

namespace braid::bench::wbtree {
namespace {

/// Waits a little longer each time: whoever holds the lock waits for the medium.
void Pause(uint32_t tries) {
  if (tries % 128 == 127) {
    sched_yield();
  } else {
    __builtin_ia32_pause();
  }
}

/// The even version of the leaf. Acquire pairs with the release of the unlock.
uint64_t AwaitVersion(const std::atomic<uint64_t>& version) {
  for (uint32_t tries = 0;; ++tries) {
    const uint64_t now = version.load(std::memory_order_acquire);
    if ((now & 1) == 0) [[likely]]
      return now;
    Pause(tries);
  }
}

void PrefetchLeaf(const Leaf* leaf) {
  __builtin_prefetch(leaf);
  __builtin_prefetch(leaf->slots);
}

}  // namespace

/// Holds the leaf that is responsible for a key.
class WbTree::LeafLock {
 public:
  LeafLock(const WbTree* tree, uint64_t key) {
    for (;;) {
      number_ = tree->inner_.Find(key);
      PrefetchLeaf(tree->LeafAt(number_));
      state_ = tree->StateOf(number_);
      for (uint32_t tries = 0;; ++tries) {
        version_ = AwaitVersion(state_->version);
        // Acquire pairs with the unlock of the holder before; relaxed on failure: tried again.
        if (state_->version.compare_exchange_weak(version_, version_ + 1, std::memory_order_acquire,
                                                  std::memory_order_relaxed)) {
          break;
        }
        Pause(tries);
      }
      if (key <= state_->last.load(std::memory_order_relaxed)) return;  // relaxed: locked
      // Nothing has changed, so the version need not grow. Release, as every unlock.
      state_->version.store(version_, std::memory_order_release);
    }
  }
  LeafLock(const LeafLock&) = delete;
  LeafLock& operator=(const LeafLock&) = delete;
  // Release pairs with AwaitVersion: who sees this version sees the change.
  ~LeafLock() { state_->version.store(version_ + 2, std::memory_order_release); }

  LeafNumber number() const { return number_; }

 private:
  LeafState* state_;
  uint64_t version_;
  LeafNumber number_;
};

Status WbTree::Put(uint64_t key, uint64_t value) {
  for (;;) {
    LeafLock lock(this, key);
    Leaf* leaf = LeafAt(lock.number());
    const LeafPosition at = FindInLeaf(*leaf, key);
    if (at.found && options_.update_in_place) {
      OverwriteValue(&ops_, leaf, at.entry, value);
      return Status::OK();
    }
    if (leaf->count() < kLeafEntries) {
      if (at.found) {
        ReplaceEntry(&ops_, leaf, at.rank, {key, value});
      } else {
        InsertEntry(&ops_, leaf, at.rank, {key, value});
      }
      return Status::OK();
    }
    if (Status split = Split(lock.number()); !split.ok()) return split;
  }
}

bool WbTree::Get(uint64_t key, uint64_t* value) const {
  for (;;) {
    const LeafNumber number = inner_.Find(key);
    const Leaf* leaf = LeafAt(number);
    PrefetchLeaf(leaf);
    const LeafState* state = StateOf(number);
    const uint64_t version = AwaitVersion(state->version);
    // Acquire, as all fields that are read under the version.
    if (key > state->last.load(std::memory_order_acquire)) continue;
    const LeafPosition at = FindInLeaf(*leaf, key);
    const uint64_t found = at.found ? LoadWord(leaf->entries[at.entry].value) : 0;
    if (state->version.load(std::memory_order_acquire) != version) [[unlikely]]
      continue;
    if (at.found) *value = found;
    return at.found;
  }
}

bool WbTree::Delete(uint64_t key) {
  LeafLock lock(this, key);
  Leaf* leaf = LeafAt(lock.number());
  const LeafPosition at = FindInLeaf(*leaf, key);
  if (at.found) EraseEntry(&ops_, leaf, at.rank);
  return at.found;
}

/// The leaf that is responsible for `key`, as it was at one moment, entries in key order. `hint`: a
/// leaf that was responsible for it.
void WbTree::CopyLeaf(uint64_t key, std::optional<LeafNumber> hint, LeafCopy* copy) const {
  for (;; hint.reset()) {
    const LeafNumber number = hint ? *hint : inner_.Find(key);
    const Leaf* leaf = LeafAt(number);
    const LeafState* state = StateOf(number);
    const uint64_t version = AwaitVersion(state->version);
    copy->last = state->last.load(std::memory_order_acquire);  // as all fields under the version
    if (key > copy->last) continue;
    copy->low = LoadWord(leaf->low);
    copy->next = LoadWord(leaf->next);
    copy->count = std::min(LoadSlot(*leaf, 0), kLeafEntries);
    for (uint32_t i = 0; i < copy->count; ++i) {
      const Entry& entry = leaf->entries[LoadSlot(*leaf, i + 1)];
      copy->entries[i] = {LoadWord(entry.key), LoadWord(entry.value)};
    }
    if (state->version.load(std::memory_order_acquire) == version) return;
  }
}

void WbTree::MakeState(LeafNumber number, uint64_t last) {
  std::atomic<StatePage*>& page = state_pages_[number / kStatesAPage];
  // Relaxed: pages are made under pool_mutex_, or by recovery, which is alone.
  if (page.load(std::memory_order_relaxed) == nullptr) {
    owned_pages_.push_back(std::make_unique<StatePage>());
    // Release pairs with StateOf: who sees the page sees it filled.
    page.store(owned_pages_.back().get(), std::memory_order_release);
  }
  // Relaxed: nobody knows this leaf before the index or the chain leads to it.
  StateOf(number)->last.store(last, std::memory_order_relaxed);
}

Status WbTree::AddSegment(uint64_t bytes, bool first) {
  if (Status added = media_->AddSegment(bytes); !added.ok()) return added;
  media_->Prefault(published_bytes_, bytes);
  if (first) {
    if (Status created = Create(); !created.ok()) return created;
  }
  if (Status published = media_->PublishSegment(); !published.ok()) {
    // What cannot be published must not be found by the next open either.
    Status dropped = media_->DropSegment();
    return dropped.ok() ? published : dropped;
  }
  published_bytes_ += bytes;
  return Status::OK();
}

Result<LeafNumber> WbTree::AllocateLeaf() {
  const std::lock_guard lock(pool_mutex_);
  LeafNumber number = 0;
  if (!free_leaves_.empty()) {
    number = free_leaves_.back();
    free_leaves_.pop_back();
  } else {
    if (next_leaf_ >= kStatesAPage * kStatePages) {
      return Status::OutOfSpace("the wB+-tree has its largest number of leaves");
    }
    while (next_leaf_ > LeavesIn(published_bytes_)) {
      if (Status s = AddSegment(options_.growth_bytes, false); !s.ok()) return s;
    }
    number = next_leaf_++;
  }
  MakeState(number, 0);
  return number;
}

/// Writes the new leaf of a split. It is not yet linked.
void WbTree::MakeNewLeaf(Leaf* leaf, const Leaf& image) {
  const size_t bytes = LeafBytes(image.count());
  Leaf content{};
  std::memcpy(&content, &image, bytes);
  content.redo_source = content.redo_target = content.redo_check = 0;
  ops_.Copy(leaf, &content, bytes);
  ops_.Flush(leaf, bytes, media::Site::kOutside);
}

/// Halves a full leaf. The caller holds its lock.
Status WbTree::Split(LeafNumber number) {
  Result<LeafNumber> allocated = AllocateLeaf();
  if (!allocated.ok()) return allocated.status();
  const LeafNumber right_number = *allocated;
  Leaf* left = LeafAt(number);
  const uint32_t count = left->count();
  const uint32_t kept = count / 2;
  BRAID_CHECK(kept > 0);

  Leaf image{};
  Slots slots{};
  uint64_t left_bits = 0;
  for (uint32_t rank = 0; rank < count; ++rank) {
    const uint32_t place = LoadSlot(*left, rank + 1);
    if (rank < kept) {
      left_bits |= uint64_t{1} << place;
    } else {
      image.entries[rank - kept] = left->entries[place];
      slots[rank - kept + 1] = static_cast<uint8_t>(rank - kept);
    }
  }
  slots[0] = static_cast<uint8_t>(count - kept);
  std::memcpy(image.slots, slots.data(), sizeof slots);
  image.bitmap = ((uint64_t{1} << (count - kept)) - 1) | kSlotsValid;
  image.next = left->next;
  image.low = image.entries[0].key;
  image.redo_source = number;
  image.redo_target = right_number;
  image.redo_check = RedoCheck(image);

  {
    const size_t record = base::ThreadSlot() % kRedoRecords;
    const std::lock_guard lock(redo_locks_[record].mutex);
    ops_.Copy(RedoRecord(record), &image, LeafBytes(image.count()));
    ops_.Persist(RedoRecord(record), LeafBytes(image.count()),
                 media::Site::kOutside);  // from here on it will happen

    MakeNewLeaf(LeafAt(right_number), image);
    std::memcpy(slots.data(), left->slots, sizeof slots);
    slots[0] = static_cast<uint8_t>(kept);  // the lower keys stay where they are
    StoreSlots(&ops_, left, slots);
    ops_.Flush(left->slots, sizeof left->slots, media::Site::kOutside);
    // Everything but the line that ends the split: while next is the old one, recovery repeats it.
    ops_.Fence(media::Site::kOutside);

    ops_.StoreU64(&left->bitmap, left_bits | kSlotsValid);
    ops_.StoreU64(&left->next, right_number);
    ops_.Persist(left, media::kLineBytes, media::Site::kOutside);
  }
  LeafState* left_state = StateOf(number);
  // Relaxed: the left leaf is locked, and nobody knows the right one.
  StateOf(right_number)
      ->last.store(left_state->last.load(std::memory_order_relaxed), std::memory_order_relaxed);
  inner_.Insert(image.low, right_number);
  // Release, as every store that a reader of the version may see.
  left_state->last.store(image.low - 1, std::memory_order_release);
  splits_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
  return Status::OK();
}

WbTreeStatistics WbTree::Statistics() const {
  WbTreeStatistics statistics;
  const std::lock_guard lock(pool_mutex_);
  statistics.leaves = next_leaf_ - 1 - free_leaves_.size();
  statistics.splits = splits_.load(std::memory_order_relaxed);  // relaxed: a statistic
  statistics.redone_splits = redone_splits_;
  statistics.rebuilt_slots = rebuilt_slots_;
  statistics.lines_flushed = ops_.lines_flushed();
  statistics.fences = ops_.fences();
  statistics.inner_bytes = inner_.memory_bytes() + owned_pages_.size() * sizeof(StatePage);
  return statistics;
}

}  // namespace braid::bench::wbtree
