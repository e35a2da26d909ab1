// Purpose: rewriting lists within their levels: what is hidden, what views have kept, chunks that
// are emptied, neighbours that become one.
// Thread safety, invariants, persistence: see list_rewriter.h.
#include <algorithm>

#include "base/activity.h"
#include "base/check.h"
#include "compaction/list_rewriter.h"

namespace braid::compaction {

namespace {

/// Lists that are rewritten together.
constexpr size_t kMostOwners = 16;
/// Chunks with which a collection of few may begin.
constexpr uint64_t kLeastToCollect = 2;
/// Neighbours that are worth a list in their place.
constexpr size_t kLeastToJoin = 3;

}  // namespace

Result<bool> ListRewriter::RewriteInPlace(const Lists& lists, const InPlace& what) {
  BRAID_DCHECK(!lists.empty() && !(what.joins && what.must_gain));
  if (Status s = CheckRanges(); !s.ok()) return s;
  Heads heads(store_.versions);
  Change change;
  change.slot = store_.versions->Lock().NewTableId();
  merge::RewriteOptions options = OptionsFor(0, what.joins ? Room::kSpare : Room::kAll, &heads);
  options.emptied = what.emptied;
  if (what.leaving != nullptr) options.leaves = what.leaving->has;
  uint32_t level = 0;
  options.is_below = [&, version = store_.versions->Lock().Keep()->version](std::string_view key) {
    return MayBeBelow(*version, store_.tier, level, key, key);
  };
  if (what.hidden != nullptr) {
    options.newest_above = [&](std::string_view key) {
      return what.hidden->NewestAbove(level, key);
    };
  }
  merge::ListRewrite rewrite(&pool_, store_.usage, change.slot, options);
  const index::LiveViews views = store_.views->Collect();
  size_t made = 0;
  Status s;
  const size_t together = what.joins ? lists.size() : 1;
  for (size_t from = 0; from < lists.size() && s.ok(); from += together) {
    level = lists[from]->level();
    merge::RewriteInput input;
    const auto begin = lists.begin() + static_cast<ptrdiff_t>(from);
    input.sources = {Lists(begin, begin + static_cast<ptrdiff_t>(together))};
    s = rewrite.Run(input, views);
    for (; s.ok() && made < rewrite.lists().size(); ++made) {
      change.fresh.push_back({Fresh(rewrite.lists()[made], level), views});
    }
  }
  if (!s.ok()) return GiveUp(s, &rewrite, &heads);
  for (const List& list : lists) change.replaced.push_back({list, list->level()});
  bool gains = !what.must_gain || rewrite.chunks() < rewrite.EmptiedChunks();
  if (what.joins) gains = made < lists.size();
  // Where only bytes go, chunks become sparse: there must be room to collect them.
  const bool bytes_go =
      what.hidden != nullptr || (what.leaving != nullptr && what.leaving->must_gain);
  if (bytes_go && rewrite.chunks() >= rewrite.EmptiedChunks() && rewrite.chunks() != 0) {
    gains = pool_.free_chunks() >= kLeastToCollect &&
            rewrite.GoneBytes() >= rewrite.chunks() * pool_.chunk_bytes();
  }
  if (!gains) return GiveUp(Status::OK(), &rewrite, &heads);
  if (what.leaving != nullptr) {
    const Result<bool> may = what.leaving->before_commit();
    if (!may.ok() || !*may) return GiveUp(may.status(), &rewrite, &heads);
  }
  return Commit(std::move(change), &rewrite, &heads);
}

Result<bool> ListRewriter::LetGo(const List& list, const Leaving& leaving) {
  BRAID_DCHECK(list->level() > 0 && leaving.has && leaving.before_commit);
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (versions.record().Originals() != nullptr) return false;  // invariant 2
  }
  return RewriteInPlace({list}, {.leaving = &leaving});
}

/// Where heads are short, the longest row of neighbours of a level that come to one list becomes
/// one. So a list that is written finds a head when it is full, and can be rewritten where there is
/// little room.
Result<bool> ListRewriter::JoinSmall() {
  std::shared_ptr<const level::Version> version;
  uint64_t most = 0;
  uint64_t commits = 0;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    most = versions.manifest().MostLists();
    if (4 * versions.record().tables.size() < 3 * most) return false;
    if (versions.record().Originals() != nullptr) return false;  // invariant 2
    version = versions.state().version;
    commits = versions.record().commit_count;
  }
  if (none_joined_ == commits) return false;
  uint64_t entries = 0;
  for (const level::Level& level : version->levels) {
    for (const auto& table : level) entries += table->entries();
  }
  BRAID_CHECK(most >= 2);  // heads in the first segment alone
  const uint64_t full = entries / (most / 2);
  Lists best;
  for (size_t level = 1; level < version->levels.size(); ++level) {
    Lists row;
    uint64_t sum = 0;
    for (const auto& table : version->levels[level]) {
      List list = level::ListOf(table);
      if (!list->is_of_run() || list->entries() == 0) continue;
      const bool is_next_side = level == 1 && !row.empty() &&
                                row.back()->range().last < next_key_ &&
                                list->range().first >= next_key_;  // invariant 3
      if (is_next_side || sum + list->entries() > full || row.size() == kMostOwners) {
        row.clear();
        sum = 0;
      }
      sum += list->entries();
      row.push_back(std::move(list));
      if (row.size() > best.size()) best = row;
    }
  }
  if (best.size() >= kLeastToJoin) {
    const base::ActivityScope activity(base::Activity::kMerge);
    const Result<bool> done = RewriteInPlace(best, {.joins = true});
    if (!done.ok() || *done) return done;
  }
  none_joined_ = commits;
  return false;
}

Result<bool> ListRewriter::DropHidden() {
  if (Status s = CheckRanges(); !s.ok()) return s;
  std::shared_ptr<const level::Version> version;
  Lists l0;
  uint64_t commits = 0;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (versions.record().Originals() != nullptr) return false;  // invariant 2
    version = versions.state().version;
    l0 = ListsOfL0(versions);
    commits = versions.record().commit_count;
  }
  const index::LiveViews views = store_.views->Collect();
  if (none_hidden_ && none_hidden_->first == commits && none_hidden_->second == views) return false;
  const base::ActivityScope activity(base::Activity::kCollect);
  const HiddenEntries hidden(&pool_, version, std::move(l0));
  Lists all;
  std::vector<std::pair<uint64_t, List>> some;  // and how many entries of each are hidden
  for (uint32_t level = 1; level < version->levels.size(); ++level) {
    HiddenEntries::Above above(hidden, level);
    for (const auto& table : version->levels[level]) {
      const List list = level::ListOf(table);
      if (list->entries() == 0 || all.size() == kMostOwners) continue;
      const Result<HiddenEntries::Counts> counts = hidden.Count(list, views, &above);
      if (!counts.ok()) return counts.status();
      if (counts->kept == 0) {
        all.push_back(list);
      } else if (counts->hidden != 0) {
        some.emplace_back(counts->hidden, list);
      }
      if (store_.stop->load()) return false;
    }
  }
  if (!all.empty()) return RewriteInPlace(all, {.hidden = &hidden});
  std::stable_sort(some.begin(), some.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  // Where there is no room for many there may be for one.
  for (size_t most = kMostOwners; most > 0 && !some.empty(); most /= 4) {
    if (most != 1 && most / 4 >= some.size()) continue;  // the same lists again
    Lists lists;
    for (size_t i = 0; i < std::min(some.size(), most); ++i) lists.push_back(some[i].second);
    const Result<bool> done = RewriteInPlace(lists, {.hidden = &hidden});
    if (!done.ok() || *done || store_.stop->load()) return done;
  }
  none_hidden_.emplace(commits, views);
  return false;
}

Result<bool> ListRewriter::DropKept(const Occasion& occasion) {
  if (!occasion.at_rest) return false;
  // What waits for its step down, where that has no room.
  const bool may_grow = pool_.may_grow();
  if (occasion.awaited && !may_grow && pool_.spare_chunks() <= 0) {
    const Result<bool> dropped = DropHidden();
    if (!dropped.ok() || *dropped) return dropped;
  }
  const std::shared_ptr<const level::Version> version = store_.versions->Lock().Keep()->version;
  const index::LiveViews views = store_.views->Collect();
  for (uint32_t level = 1; level < version->levels.size(); ++level) {
    for (const auto& table : version->levels[level]) {
      const List list = level::ListOf(table);
      if ((list->record().flags & format::kTableKeepsVersions) == 0) continue;
      const auto known = kept_for_.find(list->id());
      if (known != kept_for_.end() && known->second == views) continue;
      const base::ActivityScope activity(base::Activity::kCollect);
      const Result<bool> done = RewriteInPlace({list}, {});
      // Where there is no room for it now there may be for another one.
      if (!done.ok() || *done) return done;
    }
  }
  return false;
}

Result<bool> ListRewriter::MoveAway(const std::vector<uint64_t>& entries,
                                    const std::unordered_set<uint64_t>& emptied) {
  std::shared_ptr<const level::Version> version;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (versions.record().Originals() != nullptr) return false;  // invariant 2
    version = versions.state().version;
  }
  const EntryOwners lists_of(&pool_, std::move(version));
  EntryOwners::Lists owners;
  for (const uint64_t offset : entries) {
    const List owner = lists_of.OwnerOf(offset);
    if (owner == nullptr) return false;
    owners.emplace(owner->id(), owner);
  }
  return RewriteInPlace(EntryOwners::InOrder(owners), {.emptied = &emptied});
}

Result<bool> ListRewriter::Collect(const Occasion& occasion) {
  // Copies need room: what the step before has retired may be all there is.
  if (pool_.free_chunks() < EntryOwners::kMostEmptied) {
    const Result<bool> reclaimed = store_.reclaimer->Reclaim(store_.errors->failed());
    if (!reclaimed.ok()) return reclaimed;
  }
  std::vector<uint64_t> sparse;
  if (store_.errors->failed() || !store_.collector->Plan(occasion, &sparse)) return false;
  const base::ActivityScope activity(base::Activity::kCollect);
  std::sort(sparse.begin(), sparse.end(), [this](uint64_t a, uint64_t b) {
    return store_.usage->Live(a) < store_.usage->Live(b);
  });
  const EntryOwners lists_of(&pool_, store_.versions->Lock().Keep()->version);
  // Where there is no room for many there may be for a few.
  for (uint64_t room = std::clamp<uint64_t>(pool_.free_chunks(), 1, EntryOwners::kMostEmptied);;
       room /= 4) {
    std::vector<uint64_t> unmovable;
    const EntryOwners::Emptying what =
        lists_of.Choose(sparse, *store_.usage, room * pool_.chunk_bytes(), &unmovable);
    store_.collector->Pin(unmovable, pool_.free_chunks());
    if (what.chunks.empty()) return false;
    const Result<bool> done = RewriteInPlace(EntryOwners::InOrder(what.owners),
                                             {.emptied = &what.chunks, .must_gain = true});
    if (!done.ok() || *done || store_.stop->load()) return done;
    if (room >= 4 && what.chunks.size() > 1) continue;
    // Until something in them changes, or there is more room.
    store_.collector->Pin({what.chunks.begin(), what.chunks.end()}, pool_.free_chunks());
    return false;
  }
}

}  // namespace braid::compaction
