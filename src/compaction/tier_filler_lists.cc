// Purpose: the tier where levels are of several lists: one of the lowest level goes at a time.
// Thread safety, invariants, persistence: see tier_filler.h.
#include <algorithm>

#include "base/activity.h"
#include "base/check.h"
#include "base/memory_users.h"
#include "base/no_throw.h"
#include "compaction/tier_filler.h"
#include "compaction/tier_keys.h"
#include "merge/list_source.h"

namespace braid::compaction {

using format::EntryHeader;

/// In the order of keys, without those whose ends can't be read.
std::vector<TierFiller::List> TierFiller::LowestLists() const {
  const std::shared_ptr<const level::Version> version = store_.versions->Lock().Keep()->version;
  std::vector<List> lists;
  for (size_t level = version->levels.size(); lists.empty() && level-- > 1;) {
    for (const auto& table : version->levels[level]) {
      List list = level::ListOf(table);
      if (list->entries() != 0 && list->range().is_known) lists.push_back(std::move(list));
    }
  }
  return lists;
}

/// The keys of a list that may go, all or the first that come to `bytes`; none where it has damage,
/// which a rewrite does not carry over.
Status TierFiller::SurveyList(const List& list, bool deletes_only, uint64_t bytes,
                              Part* part) const {
  // Before the walk: what the list has is older than views that come later.
  Keys keys(store_, store_.views->Collect(), deletes_only, part);
  merge::ListSource source(store_.pool, {list});
  Status s = source.Seek({});
  const EntryHeader* previous = nullptr;
  while (s.ok() && source.entry() != nullptr && part->bytes < bytes) {
    const EntryHeader* const entry = source.entry();
    if (previous == nullptr || previous->key() != entry->key()) s = keys.Take(*entry);
    previous = entry;
    if (s.ok()) s = source.Next();
  }
  if (keys.met_damage()) *part = {};
  return s;
}

/// Lists have their turn in the order of keys. Of one that is large beside what is to go, that goes
/// alone; where there is no room for the rest, all of it.
Result<bool> TierFiller::MoveList(uint64_t excess) {
  BRAID_DCHECK(excess != 0 && run_bytes_ != 0);
  const std::vector<List> lists = LowestLists();
  size_t first = 0;
  while (first < lists.size() && lists[first]->range().first < from_) ++first;
  for (size_t i = 0; i < lists.size(); ++i) {
    const List& list = lists[(first + i) % lists.size()];
    std::string next(list->range().last);
    for (const uint64_t bytes : {std::max(excess, run_bytes_), ~uint64_t{0}}) {
      Part part;
      const Status s = base::CatchToStatus([&] { return SurveyList(list, false, bytes, &part); });
      if (s.IsOutOfMemory()) return false;  // nothing is begun
      if (!s.ok()) return s;
      if (part.keys.empty()) break;
      bool refused = false;
      const bool is_tight = store_.pool->spare_chunks() <= 0;
      const Result<bool> moved = MoveOut(list, part, is_tight, &refused);
      if (!moved.ok() || refused) return moved;
      if (!*moved) continue;  // there is no room for what would stay of it
      from_ = std::move(next);
      return true;
    }
  }
  return false;
}

Result<bool> TierFiller::MoveDeletesOfLists(const Occasion& occasion) {
  const std::vector<List> lists = LowestLists();
  if (!deletes_.under_way()) {
    if (!occasion.in_round || !occasion.may_begin || lists.empty()) return false;
    deletes_.Begin(std::string(lists.back()->range().last));
  }
  for (const List& list : lists) {
    const bool may_have_deletes = (list->record().flags & format::kTableKeepsVersions) != 0;
    if (!may_have_deletes || list->range().first < deletes_.from()) continue;
    Part part;
    const Status s =
        base::CatchToStatus([&] { return SurveyList(list, true, ~uint64_t{0}, &part); });
    if (s.IsOutOfMemory()) return false;
    if (!s.ok()) return s;
    if (part.keys.empty()) continue;
    std::string next(list->range().last);
    bool refused = false;
    const Result<bool> moved = MoveOut(list, part, false, &refused);
    if (!moved.ok() || refused) {
      deletes_.End();
      return moved;
    }
    if (!*moved) continue;
    deletes_.Advance(list == lists.back(), std::move(next));
    return true;
  }
  deletes_.End();
  return false;
}

/// False when it can't be done now: the pool has everything, and the tier may have it, too.
/// `refused`: by the tier, for want of room.
Result<bool> TierFiller::MoveOut(const List& list, const Part& part, bool must_gain,
                                 bool* refused) {
  const base::ActivityScope activity(base::Activity::kCollect);
  BRAID_DCHECK(!part.keys.empty() && part.run.size() <= part.keys.size());
  base::MemoryCharge charge(&store_.pool->memory_users());
  charge.Set(part.run.capacity() * sizeof part.run[0] + part.keys.capacity() * sizeof part.keys[0]);
  size_t next = 0;
  const ListRewriter::Leaving leaving{
      .has =
          [&](const EntryHeader& newest) {
            const bool leaves =
                next < part.keys.size() && store_.pool->OffsetOf(&newest) == part.keys[next];
            next += leaves ? 1 : 0;
            return leaves;
          },
      .before_commit =
          [&] {
            BRAID_CHECK(next == part.keys.size());  // or something would stay that was moved
            const Result<bool> taken = TakeIn(part, gone_);
            *refused = !taken.ok() || !*taken;
            if (!*refused) store_.tier->BeginMove(part.run);
            return taken;
          },
      .must_gain = must_gain};
  const Result<bool> gone = store_.rewriter->LetGo(list, leaving);
  if (!gone.ok() || !*gone) return gone;
  CountMove(part, store_.tier->store().last_run());
  return true;
}

}  // namespace braid::compaction
