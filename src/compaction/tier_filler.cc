// Purpose: choosing and moving what goes to the tier.
// Thread safety, invariants, persistence: see tier_filler.h.
#include "compaction/tier_filler.h"

#include <algorithm>
#include <utility>

#include "base/activity.h"
#include "base/check.h"
#include "base/memory_users.h"
#include "base/no_throw.h"
#include "compaction/tier_keys.h"
#include "tier/open_store.h"

namespace braid::compaction {

using format::EntryHeader;

namespace {
constexpr uint64_t kMostRunBytes = 64 << 20;
constexpr uint64_t kLeastRunBytes = 1024;
/// Of the bytes that are to stay one run takes this part. The larger it is, the less often the tier
/// puts the same records together again.
constexpr uint64_t kRunsAPool = 4;
/// The same where lists go: what stays of one is written again, so that as little goes as may.
constexpr uint64_t kListRunsAPool = 16;
}  // namespace

TierFiller::TierFiller(const Options& options, const Store& store) noexcept : store_(store) {
  if (store.tier == nullptr || options.read_only) return;
  most_bytes_ = tier::PoolBytes();
  if (most_bytes_ == 0) most_bytes_ = options.pool.max_bytes / 2;
  BRAID_CHECK(most_bytes_ != 0);  // Options::Validate has looked
  run_bytes_ = std::clamp(most_bytes_ / (store.rewriter != nullptr ? kListRunsAPool : kRunsAPool),
                          kLeastRunBytes, kMostRunBytes);
}

/// What lives in tables and large values beyond what is to. Asked before each step: sums that are
/// kept where chunks change, and no walk over them.
uint64_t TierFiller::Excess(uint64_t most_bytes) const {
  const pool::PmemPool& pool = *store_.pool;
  const uint64_t bytes = store_.usage->KnownLive() + pool.extent_chunks() * pool.chunk_bytes();
  return bytes > most_bytes ? bytes - most_bytes : 0;
}

/// What is on its way counts as gone.
bool TierFiller::WantsRun() const {
  uint64_t going = 0;
  for (const auto& run : going_) going += run->part.bytes;
  return writes_aside() && going_.size() < tier::Tier::kMostComing && Excess(MostToStay()) > going;
}

Result<bool> TierFiller::Step(const Occasion& occasion) {
  if (!is_wanted()) return false;
  if (store_.rewriter != nullptr) {
    const uint64_t excess = Excess(MostToStay());
    if (excess != 0) return MoveList(excess);
    gives_more_ = false;
    return MoveDeletesOfLists(occasion);
  }
  if (IsWritten()) return TakeOut();
  if (WantsRun()) {
    const Result<bool> sent = MoveOldest();
    if (!sent.ok() || *sent || going_.empty()) return sent;
  }
  if (!going_.empty()) {
    if (!occasion.in_round) return false;
    side_->Await(going_.front()->number);
    return TakeOut();
  }
  gives_more_ = false;
  return MoveDeletes(occasion);
}

bool TierFiller::Presses() const {
  if (IsWritten()) return true;
  const pool::PmemPool& pool = *store_.pool;
  const bool may_grow = pool.may_grow();
  return !may_grow && pool.free_chunks() < pool.chunks() / 4 && WantsRun();
}

bool TierFiller::GiveMore() noexcept {
  // Something is about to go; asked again for the same run, it is stuck.
  if (!going_.empty()) return std::exchange(run_when_asked_, runs_begun_) != runs_begun_;
  if (!is_wanted() || moves_ == moves_when_asked_ || Excess(most_bytes_ / 2) == 0) return false;
  moves_when_asked_ = moves_;
  gives_more_ = true;
  return true;
}

/// Of whole keys from `from` on, until they are worth a run.
Status TierFiller::SurveyDeletes(const std::string& from, Part* part) const {
  const index::SkipList list = store_.versions->Lock().bottom()->list();
  // Before the walk: all that it meets is in L1 already, and older than views that come later.
  Keys keys(store_, store_.views->Collect(), true, part);
  index::Damage damage;
  uint64_t walked = 0;
  const EntryHeader* previous = nullptr;
  const EntryHeader* entry = from.empty() ? list.First(&damage) : list.FindGE(from, &damage);
  for (; entry != nullptr; entry = list.Next(entry, &damage)) {
    if (previous != nullptr && !index::InOrder(*previous, *entry)) {
      damage.at = store_.pool->OffsetOf(entry);  // perhaps a circle
      break;
    }
    const bool is_newest = previous == nullptr || previous->key() != entry->key();
    if (is_newest && (walked >= kPartEntries || part->bytes >= run_bytes_)) break;
    if (is_newest) {
      if (Status s = keys.Take(*entry); !s.ok()) return s;
    }
    previous = entry;
    ++walked;
  }
  if (damage) return index::DamageStatus(*store_.pool, damage.at);
  part->is_last = entry == nullptr;
  if (entry != nullptr) part->next_key.assign(entry->key());
  return Status::OK();
}

Result<bool> TierFiller::MoveDeletes(const Occasion& occasion) {
  if (!deletes_.under_way()) {
    if (!occasion.in_round || !occasion.may_begin) return false;
    deletes_.Begin(store_.versions->Lock().bottom()->list());
  }
  Part part;
  const Status s = base::CatchToStatus([&] { return SurveyDeletes(deletes_.from(), &part); });
  if (s.IsOutOfMemory()) return false;
  if (!s.ok()) return s;
  if (!part.keys.empty()) {
    const Result<bool> moved = Move(part);
    if (!moved.ok() || !*moved) {
      deletes_.End();
      return moved;
    }
  }
  deletes_.Advance(part.is_last, std::move(part.next_key));
  return true;
}

/// False when it can't be done now: the pool has everything, and the tier may have it, too.
Result<bool> TierFiller::Move(const Part& part) {
  const base::ActivityScope activity(base::Activity::kCollect);
  BRAID_DCHECK(!part.keys.empty() && part.run.size() <= part.keys.size());
  base::MemoryCharge charge(&store_.pool->memory_users());
  charge.Set(part.run.capacity() * sizeof part.run[0] + part.keys.capacity() * sizeof part.keys[0]);
  Merger& merger = *store_.merger;
  Merger::CopySlot slot;
  if (!merger.TakeSlot(&slot)) return false;
  const Result<bool> taken = TakeIn(part, gone_);
  if (!taken.ok() || !*taken) {
    merger.ReturnSlot(slot);
    return taken;
  }
  return Leave(part, store_.tier->store().last_run(), &slot);
}

/// A part that the tier has taken in, as this run, out of the pool. `slot`: where any of its keys
/// is still there. False when it was stopped: the merge is open, and ends as any other.
Result<bool> TierFiller::Leave(const Part& part, uint64_t run, const Merger::CopySlot* slot) {
  BRAID_DCHECK(part.keys.empty() == (slot == nullptr));
  store_.tier->BeginMove(part.run);
  if (slot != nullptr) {
    Merger& merger = *store_.merger;
    if (Status s = merger.CommitNoCopies(*slot); !s.ok()) return s;
    const Result<bool> merged = merger.FinishCopies({.revisited = &part.keys, .takes_out = true});
    if (!merged.ok() || !*merged) return merged;
  }
  CountMove(part, run);
  return true;
}

/// Whether the part is durable in the tier, so that it may leave the pool, after
/// tier::Tier::BeginMove. Not when the device is full: it may have room again, and the pool still
/// has everything. `settled`: runs up to this one have left the pool before. The side's thread,
/// or, while it has nothing to do, that of the steps.
Result<bool> TierFiller::TakeIn(const Part& part, uint64_t settled) {
  tier::Store& store = store_.tier->store();
  Status s = store_.pool->media().Sync(media::Site::kTierSync);
  if (s.ok() && store_.pool->failed()) s = store_.pool->FaultStatus();
  if (s.ok() && settled != 0) store.Settle(settled);
  if (s.ok() && !part.run.empty()) {
    s = store.Ingest(part.run);
    if (s.ok()) s = store.Sync();
  }
  if (s.IsOutOfSpace()) return false;
  if (!s.ok()) return s;
  return true;
}

/// It has left the pool; once that is synced, its run is settled.
void TierFiller::CountMove(const Part& part, uint64_t run) {
  gone_ = run;
  ++moves_;
  store_.tier->CountMoved(part.run.size(), part.bytes);
}

}  // namespace braid::compaction
