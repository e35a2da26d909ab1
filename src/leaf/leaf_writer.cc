// Purpose: puts, deletes, conditional puts; splitting and uniting leaves.
// Thread safety, invariants, persistence: see leaf_writer.h.
#include "leaf/leaf_writer.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "base/thread_slot.h"
#include "engine/engine.h"
#include "leaf/leaf_split.h"
#include "write/attempts.h"

namespace braid::leaf {

using format::EntryOp;
using format::kLeafBitmapMask;
using format::kLeafSlots;
using pool::AllocationClass;

namespace {

/// A leaf with at most so many entries is united with a neighbour, if both then fill half a leaf.
constexpr int kSmallLeaf = kLeafSlots / 8;
constexpr int kUnitedLeaf = kLeafSlots / 2;
static_assert(kSmallLeaf > 0 && kSmallLeaf < kUnitedLeaf);  // what is united is not small at once

}  // namespace

LeafWriter::Pause::Pause(LeafWriter* writer) : writer_(*writer), lock_(writer->pause_mutex_) {
  BRAID_DCHECK(!writer_.paused_.load());  // one at a time
  writer_.paused_.store(true);
  base::SynchronizeEpoch();  // those that did not see it have ended
}

LeafWriter::Pause::~Pause() {
  BRAID_DCHECK(writer_.paused_.load());
  writer_.paused_.store(false);
}

void LeafWriter::Begin(uint64_t last_sequence, uint64_t entries) noexcept {
  BRAID_DCHECK(sequence_.load() == 0 && this->entries() == 0);  // once, before any write
  sequence_.store(last_sequence);
  opened_entries_ = entries;
}

void LeafWriter::Fill(Statistics* statistics) const {
  statistics->puts = counters_.Sum(Counter::kPuts);
  statistics->deletes = counters_.Sum(Counter::kDeletes);
  statistics->batches = counters_.Sum(Counter::kBatches);
  statistics->bytes_put = counters_.Sum(Counter::kBytesPut);
  statistics->l1_entries = entries();
  statistics->last_sequence = last_sequence();
}

Status LeafWriter::Put(const WriteOptions& options, Slice key, Slice value) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  if (Status s = engine::CheckValue(value); !s.ok()) return s;
  counters_.Add(Counter::kPuts);
  counters_.Add(Counter::kBytesPut, key.size() + value.size());
  log::PendingEntry pending;
  pending.op = EntryOp::kPut;
  pending.key = key;
  pending.value = value;
  return Update(options, pending, nullptr);
}

Status LeafWriter::Delete(const WriteOptions& options, Slice key) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  counters_.Add(Counter::kDeletes);
  log::PendingEntry pending;
  pending.op = EntryOp::kDelete;
  pending.key = key;
  return Update(options, pending, nullptr);
}

Status LeafWriter::Write(const WriteOptions& options, const WriteBatch& batch) {
  struct Collector final : WriteBatch::Handler {
    log::PendingEntry pending;
    Status status;
    void Add(EntryOp op, Slice key, Slice value) {
      if (status.ok()) status = engine::CheckKey(key);
      if (status.ok()) status = engine::CheckValue(value);
      pending.op = op;
      pending.key = key;
      pending.value = value;
    }
    void Put(Slice key, Slice value) override { Add(EntryOp::kPut, key, value); }
    void Delete(Slice key) override { Add(EntryOp::kDelete, key, {}); }
    void DeleteRange(std::optional<Slice>, std::optional<Slice>) override {}  // refused below
  } collector;
  batch.Iterate(&collector);
  if (!collector.status.ok()) return collector.status;
  if (closed()) return Status::Closed();
  if (batch.Ranges() > 0) {
    return Status::NotSupported(
        "this design can't delete a range in a batch; use DeleteRange of the database, "
        "which deletes key by key, or a pool of the design \"braid\"");
  }
  if (batch.Count() > 1) {
    return Status::NotSupported(
        "this design has no atomic batches of more than one update; write the updates one by one, "
        "or use a pool of the design \"braid\"");
  }
  // Also of an empty batch: with sync it asks for what was written before.
  if (Status s = CheckSync(options); !s.ok()) return s;
  counters_.Add(Counter::kBatches);
  if (batch.Count() == 0) return options.sync ? Admit() : Status::OK();
  counters_.Add(Counter::kBytesPut, collector.pending.key.size() + collector.pending.value.size());
  return Update(options, collector.pending, nullptr);
}

Result<bool> LeafWriter::CompareAndSwap(const WriteOptions& options, Slice key,
                                        std::optional<Slice> expected, Slice desired) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  if (Status s = engine::CheckValue(desired); !s.ok()) return s;
  Condition condition{expected};
  log::PendingEntry pending;
  pending.op = EntryOp::kPut;
  pending.key = key;
  pending.value = desired;
  const Status s = Update(options, pending, &condition);
  if (pool_.failed()) return pool_.FaultStatus();
  if (!s.ok()) return s;
  if (condition.met) {
    counters_.Add(Counter::kPuts);
    counters_.Add(Counter::kBytesPut, key.size() + desired.size());
  }
  return condition.met;
}

/// After a sync pages go on to reach page-cache media in any order, so a power loss may leave newer
/// pages beside older ones, and leaves can't tell them apart.
Status LeafWriter::CheckSync(const WriteOptions& options) const {
  if (!options.sync || pool_.ops().media_class() != MediaClass::kPage) return Status::OK();
  return Status::NotSupported(
      "a write with sync: on page-cache media this design can't make writes survive a power loss "
      "before the pool is closed; use a pool of the design \"braid\", or a medium that keeps "
      "what was flushed");
}

Status LeafWriter::Update(const WriteOptions& options, log::PendingEntry pending,
                          Condition* condition) {
  if (Status s = CheckSync(options); !s.ok()) return s;
  pending.key_hash = base::Hash64(pending.key);
  const base::Stalls::WriteWatch watch(store_.stalls);
  space::LargeValues::Scope large(store_.large_values, {&pending, 1});
  struct Host {
    LeafWriter& writer;
    Status Admit() const { return writer.Admit(); }
    uint64_t TimesReclaimed() const { return writer.store_.reclaimer->times(); }
    void AwaitTurn() {
      // Verify counts, and lets writes go on when it has.
      const base::Stalls::Timer timer(writer.store_.stalls, StallReason::kLock);
      const base::MutexLock wait(writer.pause_mutex_);
    }
    bool WaitForSpace(uint64_t reclaimed) {
      return writer.store_.scheduler->WaitForSpace(reclaimed);
    }
    Status WhyRefused(Status s) {
      writer.store_.errors->NoteSyncError();  // of a growth
      return s;
    }
  };
  const Status s = write::AttemptUntilDone(Host{*this}, [&] {
    Status attempt;
    if (large.wants_copy() && (condition == nullptr || condition->wants_copy)) {
      const base::Stalls::Asked asked;  // a large value takes its time
      attempt = large.Copy(base::ThreadSlot() % pool_.regions(), pool::ClassOf(pending.op));
    }
    if (attempt.ok()) attempt = TryUpdate(&pending, condition);
    const bool once_more = attempt.ok() && condition != nullptr && condition->wants_copy;
    return once_more ? Status::TryAgain("") : attempt;
  });
  if (s.ok() && (condition == nullptr || condition->met) && store_.reclaimer->IsDue()) {
    store_.scheduler->GarbageIsDue();
  }
  return s;
}

/// One attempt. TryAgain while writes are paused.
Status LeafWriter::TryUpdate(log::PendingEntry* pending, Condition* condition) {
  bool shrink = false;
  {
    const base::EpochGuard guard;
    if (closed()) return Status::Closed();
    // Sequentially consistent: Pause sets it and then waits for the read sections that did not see
    // it.
    if (paused_.load()) return Status::TryAgain("");
    for (;;) {
      LeafNode* node = nullptr;
      base::MutexHold lock;
      if (Status s = list_.Lock(pending->key, &lock, &node); !s.ok()) return s;
      const Status s = UpdateLeaf(node, pending, condition);
      const int left = std::popcount(node->bitmap.load(std::memory_order_relaxed));
      lock.unlock();
      if (s.IsTryAgain()) {  // the leaf is full
        const base::Stalls::Watch split_watch(store_.stalls, StallReason::kRoom);
        if (Status split = Split(node, pool::ClassOf(pending->op)); !split.ok()) return split;
        continue;
      }
      if (!s.ok()) return s;
      shrink = pending->op == EntryOp::kDelete && node->offset != 0 && left <= kSmallLeaf;
      break;
    }
    if (shrink) {
      // The delete is done. What is left over now is united by a later one, or by Compact.
      const Status united = base::CatchToStatus([&] { return Shrink(pending->key); });
      if (pool_.failed()) return pool_.FaultStatus();
      (void)united;
    }
  }
  return Status::OK();
}

/// Under the leaf's mutex. TryAgain: it has no free slot.
Status LeafWriter::UpdateLeaf(LeafNode* node, log::PendingEntry* pending, Condition* condition) {
  node->mutex.AssertHeld();
  BRAID_DCHECK(!node->replaced.load() && pending->key_hash == base::Hash64(pending->key));
  LeafLookup found;
  if (node->offset != 0) found = list_.Find(*node, pending->key, pending->key_hash);
  if (pool_.failed()) return pool_.FaultStatus();
  if (found.state == LeafLookup::State::kCorrupt) {
    return pool_.CorruptionAt(found.offset, "leaf or entry", "its check does not match");
  }
  const bool there = found.state == LeafLookup::State::kFound;
  if (condition != nullptr) {
    condition->met = there == condition->expected.has_value();
    if (there && condition->met) {
      std::string_view value;
      if (Status s = list_.ValueOf(found.offset, &value); !s.ok()) return s;
      condition->met = value == *condition->expected;
    }
    if (pool_.failed()) return pool_.FaultStatus();
    // Not under the leaf's mutex: it takes its time, and readers and writers would wait.
    condition->wants_copy = condition->met && pending->reserved == 0 &&
                            pending->value.size() > log::LargestInlineValue(pool_);
    if (!condition->met || condition->wants_copy) return Status::OK();
  }
  if (pending->op == EntryOp::kDelete) {
    return there ? RemoveFromLeaf(node, found) : Status::OK();
  }
  if (node->offset == 0) {
    if (Status s = MakeFirstLeaf(node, AllocationClass::kWrite); !s.ok()) return s;
    return Status::TryAgain("");
  }
  if ((~node->bitmap.load(std::memory_order_relaxed) & kLeafBitmapMask) == 0) {
    return Status::TryAgain("");
  }
  return PutInLeaf(node, found, pending);
}

/// Algorithm 1: the entry and a free slot that names it are made durable, then the bitmap, which
/// shows the new slot and no longer the old one.
Status LeafWriter::PutInLeaf(LeafNode* node, const LeafLookup& found, log::PendingEntry* pending) {
  const bool there = found.state == LeafLookup::State::kFound;
  LeafReclaimer::RetiredEntry retired;
  if (there) retired = store_.reclaimer->PrepareToRetire(found.offset);
  if (Status s = store_.heap->Reserve(base::ThreadSlot(), pending, AllocationClass::kWrite);
      !s.ok())
    return s;
  const uint64_t sequence = sequence_.fetch_add(1) + 1;
  if (sequence > format::kMaxSequence) {
    store_.usage->Remove(pool_.ChunkOf(pending->offset), log::EntryHeap::SizeOf(*pending));
    if (pending->extent != 0) pool_.FreeExtent(pending->extent);
    pending->extent = pending->reserved = 0;
    return Status::IOError(
        "the sequence numbers of this pool are used up; copy its content to a new one");
  }
  const uint64_t bitmap = node->bitmap.load(std::memory_order_relaxed);
  const auto slot = static_cast<uint32_t>(std::countr_one(bitmap));
  BRAID_DCHECK(slot < kLeafSlots);  // UpdateLeaf has seen that one is free
  BRAID_DCHECK(!there || (bitmap >> found.slot & 1) != 0);
  store_.heap->Write(pending, sequence);
  uint64_t next = bitmap | 1ull << slot;
  list_.Stage(node, slot, {pending->offset, pending->key_hash});
  // Between the two: the bit must not become durable before what it shows.
  pool_.ops().Fence(media::Site::kLeafSlotFence);
  if (there) next &= ~(1ull << found.slot);
  list_.Commit(node, next);
  if (pool_.failed()) return pool_.FaultStatus();  // stored where nothing is kept
  if (there) {
    store_.reclaimer->Retire(found.offset, &retired);
  } else {
    counters_.Add(Counter::kInserted);
  }
  return Status::OK();
}

/// Algorithm 3.
Status LeafWriter::RemoveFromLeaf(LeafNode* node, const LeafLookup& found) {
  BRAID_DCHECK(found.state == LeafLookup::State::kFound);
  LeafReclaimer::RetiredEntry retired = store_.reclaimer->PrepareToRetire(found.offset);
  list_.Commit(node, node->bitmap.load(std::memory_order_relaxed) & ~(1ull << found.slot));
  if (pool_.failed()) return pool_.FaultStatus();
  store_.reclaimer->Retire(found.offset, &retired);
  counters_.Add(Counter::kRemoved);
  return Status::OK();
}

Status LeafWriter::MakeFirstLeaf(LeafNode* head, AllocationClass allocation) {
  BRAID_DCHECK(head->offset == 0);
  return list_.Replace(head, {}, {LeafPlan{}}, allocation);
}

/// What a leaf holds, in no order. Under its mutex.
Result<std::vector<LeafItem>> LeafWriter::ItemsOf(const LeafNode& node) const {
  std::vector<LeafItem> items;
  for (uint64_t bits = node.bitmap.load(std::memory_order_relaxed); bits != 0; bits &= bits - 1) {
    Status status;
    const auto* entry = list_.EntryOf(node, static_cast<uint32_t>(std::countr_zero(bits)), &status);
    if (entry == nullptr) return status;
    items.push_back({pool_.OffsetOf(entry), base::Hash64(entry->key())});
  }
  BRAID_DCHECK(items.size() ==
               static_cast<size_t>(std::popcount(node.bitmap.load(std::memory_order_relaxed))));
  return items;
}

/// Puts two leaves in the place of a full one. Ok, too, when somebody else has.
Status LeafWriter::Split(LeafNode* node, AllocationClass allocation) {
  if (node->offset == 0) return Status::OK();
  base::MutexHold before_lock;
  base::MutexHold lock;
  LeafNode* before = nullptr;
  if (!LeafList::LockWithPrevious(node, &before_lock, &lock, &before)) return Status::OK();
  if (node->bitmap.load(std::memory_order_relaxed) != kLeafBitmapMask) return Status::OK();
  Result<std::vector<LeafItem>> items = ItemsOf(*node);
  if (!items.ok()) return items.status();
  std::vector<std::string_view> keys;
  for (const LeafItem& item : *items) keys.push_back(pool_.KeyAt(item.entry));
  const LeafCut cut = CutLeaf(keys);
  BRAID_DCHECK(cut.right.size() == items->size());
  std::vector<LeafPlan> plans(2);
  plans[0].low = node->low;
  plans[1].low = cut.low;
  for (size_t i = 0; i < items->size(); ++i) {
    plans[cut.right[i] ? 1 : 0].items.push_back((*items)[i]);
  }
  // Keys that differ leave none on one side. An image of the leaves may have hidden that some do
  // not.
  if (plans[0].items.empty() || plans[1].items.empty()) {
    return pool_.CorruptionAt(node->offset, "leaf", "it names two entries of one key");
  }
  if (Status s = list_.Replace(before, {node}, plans, allocation); !s.ok()) return s;
  return Status::OK();
}

/// Takes an empty leaf off the list, or unites a small one with the next.
Status LeafWriter::Shrink(std::string_view key) {
  LeafNode* node = list_.upper().Find(key, nullptr);
  base::MutexHold before_lock;
  base::MutexHold lock;
  LeafNode* before = nullptr;
  if (node->offset == 0 || !LeafList::LockWithPrevious(node, &before_lock, &lock, &before)) {
    return Status::OK();
  }
  if (Status s = list_.LoadLocked(node); !s.ok()) return s;
  const int count = std::popcount(node->bitmap.load(std::memory_order_relaxed));
  if (count == 0) {
    if (Status s = list_.Replace(before, {node}, {}, AllocationClass::kDelete); !s.ok()) return s;
    return Status::OK();
  }
  LeafNode* next = node->next.load();
  if (count > kSmallLeaf || next == nullptr) return Status::OK();
  const base::MutexLock next_lock(next->mutex);
  if (Status s = list_.LoadLocked(next); !s.ok()) return s;
  if (count + std::popcount(next->bitmap.load(std::memory_order_relaxed)) > kUnitedLeaf) {
    return Status::OK();
  }
  std::vector<LeafPlan> plans(1);
  plans[0].low = node->low;
  for (const LeafNode* leaf : {node, next}) {
    Result<std::vector<LeafItem>> items = ItemsOf(*leaf);
    if (!items.ok()) return items.status();
    plans[0].items.insert(plans[0].items.end(), items->begin(), items->end());
  }
  if (Status s = list_.Replace(before, {node, next}, plans, AllocationClass::kDelete); !s.ok()) {
    return s;
  }
  return Status::OK();
}

}  // namespace braid::leaf
