// Purpose: what goes to the tier from a last level of one list: what lives in the chunks that were
// written longest ago. A range of keys would leave a little garbage in all chunks instead, which
// collections would have to gather.
// Thread safety, invariants, persistence: see tier_filler.h.
#include <algorithm>

#include "base/activity.h"
#include "base/check.h"
#include "base/checksum.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "compaction/tier_filler.h"
#include "compaction/tier_keys.h"
#include "engine/stored_value.h"
#include "log/log_reader.h"

namespace braid::compaction {

using format::EntryHeader;

/// Those whose entries have come to the last level, the one that was written longest ago first.
std::vector<uint64_t> TierFiller::OldestChunks() const {
  struct Aged {
    uint64_t table_id;
    uint64_t chunk;
    bool operator<(const Aged& other) const {
      return table_id != other.table_id ? table_id < other.table_id : chunk < other.chunk;
    }
  };
  const ChunkSurvey survey = store_.accounts->Survey(1);
  std::vector<Aged> aged;
  aged.reserve(survey.sparse.size());
  for (const uint64_t chunk : survey.sparse) {
    const Result<log::LogChunk> header = log::ReadLogChunk(*store_.pool, chunk);
    if (header.ok()) aged.push_back({header->table_id, chunk});
  }
  BRAID_DCHECK(aged.size() <= survey.sparse.size());
  std::sort(aged.begin(), aged.end());
  std::vector<uint64_t> chunks;
  chunks.reserve(aged.size());
  for (const Aged& one : aged) chunks.push_back(one.chunk);
  return chunks;
}

/// Not what is in a level above, nor what damage has cut off.
bool TierFiller::IsInLastLevel(const EntryHeader& entry, uint64_t offset) const {
  const base::EpochGuard guard;
  const index::LookupResult found = store_.versions->shown().version->bottom().Get(
      index::LookupKey{entry.key(), base::Hash64(entry.key())}, index::ReadView{});
  return found.has_version() && found.value.offset() == offset;
}

/// Bytes that an entry brings to a run; nothing where it may not go.
std::optional<uint64_t> TierFiller::BytesInRun(const EntryHeader& entry, uint64_t offset,
                                               const index::LiveViews& views) const {
  if (entry.state() != format::kStateLive || !Keys::MayGo(views, entry)) return std::nullopt;
  if (!log::EntryVerifies(*store_.pool, offset)) return std::nullopt;
  std::string_view value;
  if (entry.op() != format::EntryOp::kDelete) {
    const Status s = engine::ReadStoredValue(*store_.pool, offset, false, &value);
    if (!s.ok() || !Keys::Takes(value)) return std::nullopt;
  }
  if (!IsInLastLevel(entry, offset)) return std::nullopt;
  return entry.key().size() + value.size();
}

/// Of as many chunks as are worth a run, or of a part of one that has large values. `looked_at`:
/// chunks that something of may go.
Status TierFiller::SurveyOldest(Part* part, std::vector<uint64_t>* looked_at) {
  // Before anything is read: what is in the last level is older than views that come later.
  const index::LiveViews views = store_.views->Collect();
  const uint64_t most = run_bytes_ + store_.pool->chunk_bytes();
  std::vector<index::Replacement> going;
  uint64_t bytes = 0;
  for (const uint64_t chunk : OldestChunks()) {
    if (bytes >= run_bytes_ || going.size() >= kPartEntries) break;
    if (IsGoing(chunk)) continue;
    const auto stuck = stuck_.find(chunk);
    if (stuck != stuck_.end() && stuck->second == StateOf(chunk, views)) continue;
    const size_t before = going.size();
    log::ForEachEntry(*store_.pool, chunk, [&](uint64_t offset, const EntryHeader& entry) {
      if (bytes >= most) return;
      const std::optional<uint64_t> more = BytesInRun(entry, offset, views);
      if (!more) return;
      going.push_back({offset, 0});
      part->has_extents = part->has_extents || store_.pool->ExtentOf(offset) != 0;
      bytes += *more;
    });
    if (going.size() == before) {
      stuck_[chunk] = StateOf(chunk, views);
    } else {
      looked_at->push_back(chunk);
    }
  }
  SortAsList(*store_.pool, &going);
  Keys keys(store_, views, false, part);
  for (const index::Replacement& entry : going) {
    if (Status s = keys.Take(*log::Verified(*store_.pool, entry.from)); !s.ok()) return s;
  }
  // The last level has one newest entry of a key.
  BRAID_DCHECK(std::adjacent_find(part->run.begin(), part->run.end(),
                                  [](const tier::RunEntry& a, const tier::RunEntry& b) {
                                    return a.key >= b.key;
                                  }) == part->run.end());
  if (part->keys.empty()) {
    for (const uint64_t chunk : *looked_at) stuck_[chunk] = StateOf(chunk, views);
  }
  return Status::OK();
}

TierFiller::Stuck TierFiller::StateOf(uint64_t chunk, const index::LiveViews& views) const {
  return {store_.pool->StateOf(chunk).generation(), store_.usage->Live(chunk),
          views.empty() ? 0 : views.front()};
}

bool TierFiller::IsGoing(uint64_t chunk) const {
  return std::any_of(going_.begin(), going_.end(), [chunk](const auto& run) {
    return std::find(run->chunks.begin(), run->chunks.end(), chunk) != run->chunks.end();
  });
}

TierFiller::Going::Going(Part of, std::vector<uint64_t> held, base::MemoryUsers* users)
    : part(std::move(of)), chunks(std::move(held)), charge(users) {
  charge.Set(part.run.capacity() * sizeof part.run[0] + part.keys.capacity() * sizeof part.keys[0]);
}

Result<bool> TierFiller::MoveOldest() {
  for (;;) {
    Part part;
    std::vector<uint64_t> chunks;
    const Status s = base::CatchToStatus([&] { return SurveyOldest(&part, &chunks); });
    if (s.IsOutOfMemory()) return false;  // nothing is begun
    if (!s.ok()) return s;
    if (!part.keys.empty()) {
      Send(std::make_unique<Going>(std::move(part), std::move(chunks),
                                   &store_.pool->memory_users()));
      return true;
    }
    // All of them are stuck now, by damage in their values; so this ends.
    if (chunks.empty()) return false;
  }
}

/// Errors come with the step that takes it out.
void TierFiller::Send(std::unique_ptr<Going> going) {
  BRAID_DCHECK(going_.size() < tier::Tier::kMostComing);
  BRAID_DCHECK(going->part.run.size() <= going->part.keys.size());
  going_.push_back(std::move(going));
  // Without memory for the rest, from here on it is as one that the tier has refused.
  Going* const run = going_.back().get();
  store_.accounts->Hold(run->chunks);
  // A pin and no view: versions are kept by their chunks, and by nothing after these. It holds all
  // back that is retired from here on, so only where it must.
  if (run->part.has_extents) {
    run->pin = store_.views->Register(format::kMaxSequence, &store_.accounts->clock());
  }
  ++runs_begun_;
  ShowComing();  // before anything else is dropped
  run->number = side_->Add([this, run, settled = gone_] {
    const base::ActivityScope activity(base::Activity::kCollect);
    run->taken = base::CatchToStatus([&] { return TakeIn(run->part, settled); });
    run->run = store_.tier->store().last_run();
  });
}

void TierFiller::ShowComing() noexcept {
  tier::Tier::Coming coming{};
  for (size_t i = 0; i < going_.size(); ++i) coming[i] = going_[i]->part.run;
  store_.tier->SetComing(coming);
}

/// Of the oldest: what it is of may be reused.
void TierFiller::EndRun() {
  store_.accounts->Release(going_.front()->chunks);
  going_.erase(going_.begin());
  ShowComing();
  store_.accounts->RetireEmptyChunks();
}

/// The oldest run out of the pool. False when it can't be done now: the pool has everything, and
/// the tier may have it, too.
Result<bool> TierFiller::TakeOut() {
  const base::ActivityScope activity(base::Activity::kCollect);
  BRAID_DCHECK(IsWritten());
  Going& going = *going_.front();
  if (!going.taken.ok() || !*going.taken) {
    const Result<bool> taken = going.taken;
    EndRun();
    if (taken.status().IsOutOfMemory()) return false;
    return taken;
  }
  // What merges have put in the place of an entry stays.
  std::vector<uint64_t>& keys = going.part.keys;
  std::erase_if(keys, [this](uint64_t offset) {
    const EntryHeader* entry = log::Verified(*store_.pool, offset);
    return entry == nullptr || !IsInLastLevel(*entry, offset);
  });
  Merger::CopySlot slot;
  if (!keys.empty() && !store_.merger->TakeSlot(&slot)) return false;
  const Result<bool> left = Leave(going.part, going.run, keys.empty() ? nullptr : &slot);
  EndRun();  // after the merge, so that all of it is retired at once
  return left;
}

}  // namespace braid::compaction
