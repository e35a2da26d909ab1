// Purpose: puts, deletes, batches; sealing a full memtable. Thread safety, invariants, persistence:
// see lsm_engine.h.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/mutants.h"
#include "base/no_throw.h"
#include "base/thread_random.h"
#include "engine/lsm_engine.h"
#include "index/version_links.h"

namespace braid::engine {

using format::EntryOp;
using pmem::AllocationClass;

namespace {

Status SequencesUsedUp() noexcept {
  return base::NoThrow([] {
    return Status::IOError(
        "the sequence numbers of this pool are used up; copy its content to a new one");
  });
}

}  // namespace

Status LsmEngine::Put(const WriteOptions& options, Slice key, Slice value) {
  if (Status s = CheckKey(key); !s.ok()) return s;
  if (Status s = CheckValue(value); !s.ok()) return s;
  counters_.Add(EngineCounter::kPuts);
  counters_.Add(EngineCounter::kBytesPut, key.size() + value.size());
  log::Draft draft;
  draft.op = EntryOp::kPut;
  draft.key = key;
  draft.value = value;
  return Update(options, draft);
}

Status LsmEngine::Delete(const WriteOptions& options, Slice key) {
  if (Status s = CheckKey(key); !s.ok()) return s;
  counters_.Add(EngineCounter::kDeletes);
  log::Draft draft;
  draft.op = EntryOp::kDelete;
  draft.key = key;
  return Update(options, draft);
}

/// Before each attempt of a write, of whatever kind.
Status LsmEngine::AdmitWrite() {
  controller_.Admit();
  if (failed() || medium_failed()) return WriteError();
  return blocked_.load() ? BlockedReason() : Status::OK();
}

/// A write may be the first to meet what ends all of them.
Status LsmEngine::WhyRefused(Status status) {
  if (!failed() && !closed()) {
    // Of a growth: the pool was given back to what it was, but the medium is not to be trusted.
    if (Status s = pool_->media().SyncError(); !s.ok()) Fail(s);
  }
  return failed() ? WriteError() : status;
}

Status LsmEngine::Update(const WriteOptions& options, log::Draft draft) {
  draft.key_hash = base::Hash64(draft.key);
  const Stalls::WriteWatch watch(controller_.stalls());
  LargeValues::Scope large(&large_values_, {&draft, 1});
  Status s = AttemptUntilDone(Writer::kUser, [&] {
    Status copied = large.wants_copy() ? CopyLarge(&large, pmem::ClassOf(draft.op)) : Status::OK();
    return copied.ok() ? TryUpdate(&draft) : copied;
  });
  return s.ok() ? AfterWrite(options) : s;
}

/// Why writes have ended.
Status LsmEngine::WriteError() const {
  if (closed()) return Status::Closed();
  return medium_failed() ? MediumStatus() : background_error();
}

/// One attempt. TryAgain when the memtable was sealed meanwhile.
Status LsmEngine::TryUpdate(log::Draft* draft) {
  const pmem::EpochGuard guard;
  if (closed()) return Status::Closed();
  // Acquire pairs with SwapState.
  return Insert(state_.load(std::memory_order_acquire)->active.get(), draft, nullptr);
}

/// Inside an EpochGuard. TryAgain when `target` was sealed, or does not meet the condition (null:
/// none), or the key is in a range that is being deleted.
Status LsmEngine::Insert(LoggedMemTable* target, log::Draft* draft, const Condition* condition) {
  const uint32_t shard = ShardOfThread();
  const auto lock =
      LockWatched<std::unique_lock<std::mutex>>(shards_[shard].mutex, controller_.stalls());
  if (failed() && !BRAID_MUTANT(kFailureMissedByInsert)) return WriteError();  // invariant 9
  if (IsBeingDeleted(draft->key)) return Status::TryAgain("");
  if (Status s = PlaceWatched(target, shard, draft); !s.ok()) return s;
  WriteWatched(target, draft);
  Status refused = Status::OK();
  const auto commit = [&](uint64_t older) -> uint64_t {
    if (condition != nullptr && older != 0 &&
        pool_->As<format::EntryHeader>(older)->sequence() != condition->sequence) {
      return 0;
    }
    // Sequentially consistent, and in this order: see LoggedMemTable::sealed.
    const uint64_t sequence = sequence_.fetch_add(1) + 1;
    if (target->sealed.load()) return 0;
    if (sequence > format::kMaxSequence) {
      refused = SequencesUsedUp();
      return 0;
    }
    target->log.Seal(*draft, sequence, format::kFirstOfUnit, older);
    if (!BRAID_MUTANT(kEntryFenceSkipped) && !BRAID_MUTANT(kEntryShownBeforeFence)) {
      pool_->ops().Fence();
    }
    // Stored where nothing is kept: nobody may see it.
    return pool_->failed() ? 0 : draft->offset;
  };
  bool inserted = false;
  // Memory runs out before commit is called, or not at all: then nothing is there but room taken.
  const Status s = base::NoThrow([&] {
    inserted = target->table->Insert(draft->key, commit);
    return Status::OK();
  });
  if (BRAID_MUTANT(kEntryShownBeforeFence)) pool_->ops().Fence();
  if (!inserted) {
    if (pool_->failed()) return pool_->FaultStatus();  // and what was taken stays as it is
    target->log.Abandon(shard, draft, 1);
    if (!s.ok()) return s;
    return refused.ok() ? Status::TryAgain("") : refused;
  }
  target->log.Accept(shard);
  target->table->Account(format::EntryHeader::EntryBytes(
                             draft->key.size(), draft->stored_value().size(), draft->height),
                         1);
  return Status::OK();
}

/// Room for `draft`, which the pool may have to make first.
Status LsmEngine::PlaceWatched(LoggedMemTable* target, uint32_t shard, log::Draft* draft) {
  const AllocationClass allocation = pmem::ClassOf(draft->op);
  const uint64_t most =
      format::EntryHeader::EntryBytes(draft->key.size(), draft->value.size(), format::kMaxHeight);
  if (most <= target->log.room(shard)) [[likely]] {
    return target->log.Place(shard, draft, 1, base::ThreadRandom(), allocation);
  }
  const Stalls::Watch watch(controller_.stalls(), StallReason::kRoom);
  return target->log.Place(shard, draft, 1, base::ThreadRandom(), allocation);
}

/// Key and value. Where the entry is the first one in a page, the system may have to find it.
void LsmEngine::WriteWatched(LoggedMemTable* target, log::Draft* draft) {
  constexpr uint64_t kPage = 4096;
  const uint64_t end =
      draft->offset + format::EntryHeader::EntryBytes(draft->key.size(), draft->value.size(), 1);
  if ((draft->offset - 1) / kPage == (end - 1) / kPage) [[likely]] {
    return target->log.WritePayload(draft);
  }
  const Stalls::Watch watch(controller_.stalls(), StallReason::kPages);
  target->log.WritePayload(draft);
}

/// The updates of `batch`, whose bytes they point to; counts them.
Result<std::vector<log::Draft>> LsmEngine::DraftsOf(const WriteBatch& batch) {
  struct Collector final : WriteBatch::Handler {
    std::vector<log::Draft> drafts;
    uint64_t bytes = 0;
    Status status;
    void Add(EntryOp op, Slice key, Slice value) {
      if (status.ok()) status = CheckKey(key);
      if (status.ok()) status = CheckValue(value);
      log::Draft draft;
      draft.op = op;
      draft.key = key;
      draft.value = value;
      draft.key_hash = base::Hash64(key);
      drafts.push_back(draft);
      bytes += key.size() + value.size();
    }
    void Put(Slice key, Slice value) override { Add(EntryOp::kPut, key, value); }
    void Delete(Slice key) override { Add(EntryOp::kDelete, key, {}); }
  } collector;
  batch.Iterate(&collector);
  if (!collector.status.ok()) return collector.status;
  if (collector.bytes > kMaxBatchBytes) {
    return Status::InvalidArgument("the batch has " + std::to_string(collector.bytes) +
                                   " bytes; the limit is " + std::to_string(kMaxBatchBytes));
  }
  counters_.Add(EngineCounter::kBatches);
  counters_.Add(EngineCounter::kBytesPut, collector.bytes);
  return std::move(collector.drafts);
}

Status LsmEngine::Write(const WriteOptions& options, const WriteBatch& batch) {
  Result<std::vector<log::Draft>> drafts = DraftsOf(batch);
  if (!drafts.ok()) return drafts.status();
  if (drafts->empty()) {
    if (closed()) return Status::Closed();
    return options.sync ? AfterWrite(options) : Status::OK();  // what was written before
  }
  if (drafts->size() == 1) return Update(options, drafts->front());
  return WriteDrafts(options, std::move(drafts).value(), Writer::kUser, nullptr);
}

Status LsmEngine::WriteDrafts(const WriteOptions& options, std::vector<log::Draft> drafts,
                              Writer writer, BatchCondition* condition) {
  const bool only_deletes = std::all_of(drafts.begin(), drafts.end(), [](const log::Draft& draft) {
    return draft.op == EntryOp::kDelete;
  });
  const AllocationClass allocation =
      only_deletes ? AllocationClass::kDelete : AllocationClass::kWrite;
  const Stalls::WriteWatch watch(controller_.stalls());
  LargeValues::Scope large(&large_values_, drafts);
  Status s = AttemptUntilDone(writer, [&] {
    Status ready = condition != nullptr ? LookBeforeBatch(condition) : Status::OK();
    if (ready.ok() && large.wants_copy()) ready = CopyLarge(&large, allocation);
    return ready.ok() ? TryBatch(&drafts, allocation, writer, condition) : ready;
  });
  return s.ok() ? AfterWrite(options) : s;
}

/// All of them, in order.
std::vector<std::unique_lock<std::mutex>> LsmEngine::LockShards() {
  const Stalls::Watch watch(controller_.stalls(), StallReason::kLock);
  std::vector<std::unique_lock<std::mutex>> locks;
  locks.reserve(shards_.size());
  for (ShardLock& each : shards_) locks.emplace_back(each.mutex);
  return locks;
}

/// One attempt. TryAgain while a bulk load is shown, or when `condition` (may be null) must look
/// again; Busy when it is not met.
Status LsmEngine::TryBatch(std::vector<log::Draft>* drafts, AllocationClass allocation,
                           Writer writer, const BatchCondition* condition) {
  // Also keeps the memtable from being sealed.
  const auto batch_lock =
      LockWatched<std::unique_lock<std::mutex>>(batch_mutex_, controller_.stalls());
  const pmem::EpochGuard guard;
  if (closed()) return Status::Closed();
  LoggedMemTable* target = state_.load(std::memory_order_acquire)->active.get();
  if (target->sealed.load()) return Status::TryAgain("");
  const uint32_t shard = ShardOfThread();
  const std::vector<std::unique_lock<std::mutex>> locks = LockShards();

  if (failed() && !BRAID_MUTANT(kFailureMissedByInsert)) return WriteError();  // invariant 9
  if (writer == Writer::kUser && deleting_.load(std::memory_order_relaxed) != nullptr &&
      std::any_of(drafts->begin(), drafts->end(),
                  [this](const log::Draft& draft) { return IsBeingDeleted(draft.key); })) {
    return Status::TryAgain("");
  }
  if (condition != nullptr) {
    if (Status s = CheckInMemTables(*condition); !s.ok()) return s;
  }
  const size_t count = drafts->size();
  {
    const Stalls::Watch watch(controller_.stalls(), StallReason::kRoom);
    Status s = target->log.Place(shard, drafts->data(), count, base::ThreadRandom(), allocation);
    if (!s.ok()) return s;
  }
  // No other write is under way (invariant 2), so the numbers can be used before they are
  // published.
  const uint64_t base_sequence = sequence_.load();
  if (base_sequence + count > format::kMaxSequence) {
    target->log.Abandon(shard, drafts->data(), count);
    return SequencesUsedUp();
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    log::Draft& draft = (*drafts)[i];
    target->log.WritePayload(&draft);
    const bool first = i == 0 || BRAID_MUTANT(kBatchAsSingles);
    const bool more = i + 1 < count && !BRAID_MUTANT(kBatchAsSingles);
    const uint8_t flags =
        static_cast<uint8_t>((first ? format::kFirstOfUnit : 0) | (more ? format::kMoreOfUnit : 0));
    target->log.Seal(draft, base_sequence + 1 + i, flags, 0);
    bytes += format::EntryHeader::EntryBytes(draft.key.size(), draft.stored_value().size(),
                                             draft.height);
  }
  if (!BRAID_MUTANT(kEntryFenceSkipped) && !BRAID_MUTANT(kBatchShownBeforeFence)) {
    pool_->ops().Fence();
  }
  if (BRAID_MUTANT(kBatchPublishedBeforeInsert)) sequence_.store(base_sequence + count);
  if (pool_->failed()) return pool_->FaultStatus();
  const Status inserted = base::NoThrow([&] {
    InsertBatch(target, *drafts);
    return Status::OK();
  });
  if (!inserted.ok()) {
    // The batch is durable, and a part of it is in the memtable, where its numbers hide it. No
    // other write may use them: writes end here, and the next open finds the whole batch.
    Fail(inserted);
    return inserted;
  }
  // Release pairs with ReadView::Sees: whoever sees the number sees all entries.
  sequence_.store(base_sequence + count);
  if (BRAID_MUTANT(kBatchShownBeforeFence)) pool_->ops().Fence();
  target->log.Accept(shard);
  target->table->Account(bytes, count);
  return Status::OK();
}

void LsmEngine::InsertBatch(LoggedMemTable* target, const std::vector<log::Draft>& drafts) {
  for (const log::Draft& draft : drafts) {
    target->table->Insert(draft.key, [&](uint64_t older) {
      if (older != 0) {
        // Version links are not covered by the checks and need no flush: replay makes the bottom
        // ones anew, and upper ones are hints.
        std::array<uint64_t, format::kMaxHeight> links;
        links[0] = pool_->LinkTo(older).raw;
        index::LinkOlderVersions(*pool_, older, draft.height, links.data());
        auto* entry = pool_->As<format::EntryHeader>(draft.offset);
        for (uint32_t layer = 0; layer < draft.height; ++layer) {
          if (links[layer] != 0) pool_->ops().StoreU64(entry->links() + layer, links[layer]);
        }
      }
      return draft.offset;
    });
  }
}

Status LsmEngine::AfterWrite(const WriteOptions& options) {
  WakeSleepers();
  const LoggedMemTable* full = nullptr;
  {
    const pmem::EpochGuard guard;
    const LoggedMemTable* active = state_.load(std::memory_order_acquire)->active.get();
    if (IsFull(*active)) full = active;
  }
  if (full != nullptr) {
    // The write is done. Where memory for the next memtable is missing, the next write tries again.
    base::Try([&] {
      const CallGate::Call call(&calls_);
      if (call.entered()) SealActive(full);
    });
  }
  if (options.sync && pool_->ops().media_class() == MediaClass::kPage) return SyncPool();
  return Status::OK();
}

/// Puts an empty memtable in the place of `expected` (null: of whatever is active, unless empty).
void LsmEngine::SealActive(const LoggedMemTable* expected) {
  {
    using Lock = std::unique_lock<std::mutex>;
    const auto batch_lock = LockWatched<Lock>(batch_mutex_, controller_.stalls());
    const auto lock = LockWatched<Lock>(structure_mutex_, controller_.stalls());
    const ReadState& current = *state_owner_;
    if (expected != nullptr && current.active.get() != expected) return;
    if (current.active->table->entries() == 0) return;
    // The writers wait in Admit until there is room again; those past it write a little more here.
    if (expected != nullptr && current.immutables.size() >= options_.memtable.max_immutable) {
      if (!blocked_.load()) {
        controller_.Update(current.version->l0.size(), current.immutables.size(), true);
      }
      return;
    }
    NextState next = CopyState();
    next.state->immutables.insert(next.state->immutables.begin(), next.state->active);
    next.state->active = std::make_shared<LoggedMemTable>(
        pool_.get(), next_table_id_++, static_cast<uint32_t>(shards_.size()), options_);
    current.active->table->Advance(memtable::State::kSealed);
    current.active->sealed.store(true);
    SwapState(std::move(next));
  }
  if (options_.background_threads) {
    Wake();
  } else {
    const Stalls::Watch watch(controller_.stalls(), StallReason::kBackground);
    RunInline();
  }
}

Status LsmEngine::SyncPool() {
  const Stalls::Asked asked;
  const CallGate::Call call(&calls_);
  if (!call.entered()) return Status::Closed();
  return syncs_.Run([this] {
    counters_.Add(EngineCounter::kSyncs);
    Status s = SyncUnless(BRAID_MUTANT(kSyncPutNotSynced));
    if (!s.ok()) Fail(s);  // the medium gives the same error to all who sync after this
    return s;
  });
}

/// After a full pool: lets the background give back what it can. True when there is room again, as
/// there is at once when another thread has given some back since the attempt.
bool LsmEngine::WaitForSpace(uint64_t reclaims) {
  const Stalls::Timer timer(controller_.stalls(), StallReason::kFullPool);
  const CallGate::Call call(&calls_);
  if (!call.entered()) return false;
  // What is free is counted between two steps of the background: one under way may hold most of it
  // for copies that it gives back. And without the reserve, which a flush of copied logs makes
  // smaller.
  int64_t before = 0;
  if (reclaimer_.times() == reclaims) {
    const std::lock_guard merge_lock(merge_mutex_);
    const auto reclaim_lock = reclaimer_.Hold();
    before = pool_->spare_chunks();
  }
  if (reclaimer_.times() != reclaims) return true;
  SealActive(nullptr);
  if (Status s = WaitUntilIdle(true); !s.ok()) return false;
  if (Status s = Checkpoint(); !s.ok()) return false;
  while (Guarded(&LsmEngine::Reclaim)) {
  }
  const std::lock_guard merge_lock(merge_mutex_);
  return pool_->spare_chunks() > before || large_values_.HasWantedRun();
}

}  // namespace braid::engine
