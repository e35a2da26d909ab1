// Purpose: batches. Thread safety, invariants, persistence: see writer.h.
#include <algorithm>
#include <array>

#include "base/mutants.h"
#include "base/no_throw.h"
#include "base/thread_random.h"
#include "engine/writer.h"
#include "index/version_links.h"
#include "pmem/epoch.h"

namespace braid::engine {

using format::EntryOp;
using pmem::AllocationClass;

/// The updates of `batch`, whose bytes they point to; counts them.
Result<std::vector<log::Draft>> Writer::DraftsOf(const WriteBatch& batch) {
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
  counters_.Add(Counter::kBatches);
  counters_.Add(Counter::kBytesPut, collector.bytes);
  return std::move(collector.drafts);
}

Status Writer::Write(const WriteOptions& options, const WriteBatch& batch) {
  Result<std::vector<log::Draft>> drafts = DraftsOf(batch);
  if (!drafts.ok()) return drafts.status();
  if (drafts->empty()) {
    if (closed()) return Status::Closed();
    return options.sync ? AfterWrite(options) : Status::OK();  // what was written before
  }
  if (drafts->size() == 1) return Update(options, drafts->front());
  return WriteDrafts(options, std::move(drafts).value(), For::kUser, nullptr);
}

Status Writer::WriteDrafts(const WriteOptions& options, std::vector<log::Draft> drafts, For whom,
                           BatchCondition* condition) {
  const bool only_deletes = std::all_of(drafts.begin(), drafts.end(), [](const log::Draft& draft) {
    return draft.op == EntryOp::kDelete;
  });
  const AllocationClass allocation =
      only_deletes ? AllocationClass::kDelete : AllocationClass::kWrite;
  const Stalls::WriteWatch watch(store_.controller->stalls());
  LargeValues::Scope large(store_.large_values, drafts);
  Status s = AttemptUntilDone(whom, [&] {
    Status ready = condition != nullptr ? LookBeforeBatch(condition) : Status::OK();
    if (ready.ok() && large.wants_copy()) ready = CopyLarge(&large, allocation);
    return ready.ok() ? TryBatch(&drafts, allocation, whom, condition) : ready;
  });
  return s.ok() ? AfterWrite(options) : s;
}

/// One attempt. TryAgain while a bulk load is shown, or when `condition` (may be null) must look
/// again; Busy when it is not met.
Status Writer::TryBatch(std::vector<log::Draft>* drafts, AllocationClass allocation, For whom,
                        const BatchCondition* condition) {
  // Also keeps the memtable from being sealed.
  const auto batch_lock = HoldBatchesWatched();
  const pmem::EpochGuard guard;
  if (closed()) return Status::Closed();
  LoggedMemTable* target = store_.versions->shown().active.get();
  if (target->sealed.load()) return Status::TryAgain("");
  const uint32_t shard = ShardOfThread();
  const std::vector<std::unique_lock<std::mutex>> locks = [this] {
    const Stalls::Watch watch(store_.controller->stalls(), StallReason::kLock);
    return LockShards();
  }();

  if (failed() && !BRAID_MUTANT(kFailureMissedByInsert)) return WhyEnded();  // invariant 3
  if (whom == For::kUser && kept_range_.IsShown() &&
      std::any_of(drafts->begin(), drafts->end(),
                  [this](const log::Draft& draft) { return kept_range_.Covers(draft.key); })) {
    return Status::TryAgain("");
  }
  if (condition != nullptr) {
    if (Status s = CheckInMemTables(*condition); !s.ok()) return s;
  }
  const size_t count = drafts->size();
  {
    const Stalls::Watch watch(store_.controller->stalls(), StallReason::kRoom);
    Status s = target->log.Place(shard, drafts->data(), count, base::ThreadRandom(), allocation);
    if (!s.ok()) return s;
  }
  // No other write is under way (invariant 2), so the numbers can be used before they are
  // published.
  const uint64_t base_sequence = store_.sequence->load();
  if (base_sequence + count > format::kMaxSequence) {
    target->log.Abandon(shard, drafts->data(), count);
    return NumbersUsedUp();
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
    pool_.ops().Fence();
  }
  if (BRAID_MUTANT(kBatchPublishedBeforeInsert)) store_.sequence->store(base_sequence + count);
  if (pool_.failed()) return pool_.FaultStatus();
  const Status inserted = base::NoThrow([&] {
    InsertBatch(target, *drafts);
    return Status::OK();
  });
  if (!inserted.ok()) {
    // The batch is durable, and a part of it is in the memtable, where its numbers hide it. No
    // other write may use them: writes end here, and the next open finds the whole batch.
    store_.host->Fail(inserted);
    return inserted;
  }
  // Release pairs with ReadView::Sees: whoever sees the number sees all entries.
  store_.sequence->store(base_sequence + count);
  if (BRAID_MUTANT(kBatchShownBeforeFence)) pool_.ops().Fence();
  target->log.Accept(shard);
  target->table->Account(bytes, count);
  return Status::OK();
}

void Writer::InsertBatch(LoggedMemTable* target, const std::vector<log::Draft>& drafts) {
  for (const log::Draft& draft : drafts) {
    target->table->Insert(draft.key, [&](uint64_t older) {
      if (older != 0) {
        // Version links are not covered by the checks and need no flush: replay makes the bottom
        // ones anew, and upper ones are hints.
        std::array<uint64_t, format::kMaxHeight> links;
        links[0] = pool_.LinkTo(older).raw;
        index::LinkOlderVersions(pool_, older, draft.height, links.data());
        auto* entry = pool_.As<format::EntryHeader>(draft.offset);
        for (uint32_t layer = 0; layer < draft.height; ++layer) {
          if (links[layer] != 0) pool_.ops().StoreU64(entry->links() + layer, links[layer]);
        }
      }
      return draft.offset;
    });
  }
}

}  // namespace braid::engine
