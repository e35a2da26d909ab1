// Purpose: the steps of rewriting lists, and their commit.
// Thread safety, invariants, persistence: see list_rewriter.h.
#include "compaction/list_rewriter.h"

#include <algorithm>

#include "base/activity.h"
#include "base/check.h"
#include "level/copied_list.h"

namespace braid::compaction {

using format::TableRecord;

namespace {

/// Lists that a step over L0 writes at least, and those that go down together at most.
constexpr size_t kListsAStep = 8;

bool Overlap(const level::KeyRange& a, const level::KeyRange& b) {
  return a.is_known && b.is_known && a.first <= b.last && b.first <= a.last;
}

std::vector<std::shared_ptr<level::PmemTable>> ListsOf(const level::Level& level) {
  std::vector<std::shared_ptr<level::PmemTable>> lists;
  for (const auto& table : level) lists.push_back(level::ListOf(table));
  return lists;
}

}  // namespace

Result<uint32_t> ListRewriter::Heads::Take(bool needed) {
  const level::VersionSet::Locked versions = versions_.Lock();
  if (!needed && !versions.manifest().HasRoomForLists()) {
    return Status::OutOfSpace("the other half of the heads is for tables to come");
  }
  heads_.reserve(heads_.size() + 1);
  Result<uint32_t> head = versions.TakeHead();
  if (head.ok()) heads_.push_back(*head);
  return head;
}

void ListRewriter::Heads::GiveBack() {
  const level::VersionSet::Locked versions = versions_.Lock();
  for (const uint32_t head : heads_) versions.manifest().ReturnHead(head);
  heads_.clear();
}

/// Size from which a new list takes no more keys.
uint64_t ListRewriter::ListBytes() const {
  // The manifest, which each commit writes as a whole, must not be a part of the data.
  const uint64_t bytes = std::max(store_.options->levels.list_bytes, pool_.chunk_bytes() / 16);
  // And a pool of small chunks has few heads: without one to spare a step would not end early.
  uint64_t lists = 0;
  {
    const auto versions = store_.versions->Lock();
    const uint64_t most = versions.manifest().MostLists();
    const bool is_crowded = 2 * versions.record().tables.size() >= most;
    lists = is_crowded ? std::max<uint64_t>(most / 2, 1) : 0;
  }
  if (lists == 0) return bytes;
  return std::max(bytes, pool_.used_chunks() * pool_.chunk_bytes() / lists);
}

merge::RewriteOptions ListRewriter::OptionsFor(uint32_t to, Room room, Heads* heads) {
  merge::RewriteOptions options;
  // Invariant 4. Beside the reserve of writes there is that of the next flush.
  options.allocation =
      room == Room::kSpare ? pool::AllocationClass::kWrite : pool::AllocationClass::kBackground;
  options.list_bytes = ListBytes();
  options.reference_bytes = store_.options->levels.reference_bytes;
  options.is_below = [this, to,
                      version = store_.versions->Lock().Keep()->version](std::string_view key) {
    return MayBeBelow(*version, store_.tier, to, key, key);
  };
  options.take_head = [heads](bool needed) { return heads->Take(needed); };
  options.pause = [this] {
    store_.limit->Charge(uint64_t{store_.options->compaction.batch_entries} * 64);
    store_.limit->Pause(*store_.stop);
    return store_.stop->load();
  };
  return options;
}

Result<bool> ListRewriter::GiveUp(const Status& status, merge::ListRewrite* rewrite, Heads* heads) {
  if (!status.ok() && pool_.failed()) return pool_.FaultStatus();
  rewrite->GiveBack();
  heads->GiveBack();
  store_.reclaimer->CountRoom();  // that of the new lists is a writer's again
  const bool waits = status.IsOutOfSpace() || status.code() == Status::Code::kAborted;
  if (status.ok() || waits) return false;
  return status;
}

/// Where the ends of a list can't be read nothing tells which lists it lies apart from.
Status ListRewriter::CheckRanges() const {
  const std::shared_ptr<const level::Version> version = store_.versions->Lock().Keep()->version;
  for (size_t level = 1; level < version->levels.size(); ++level) {
    for (const auto& table : version->levels[level]) {
      level::PmemTable& list = *table->AsList();
      if (list.entries() == 0 || !list.is_of_run() || list.range().is_known) continue;
      return pool_.CorruptionAt(list.head_offset(), "list", "its first or last entry is damaged");
    }
  }
  return Status::OK();
}

Result<bool> ListRewriter::Step(uint32_t from, bool whole, Merger::Merged* merged) {
  const base::ActivityScope activity(base::Activity::kMerge);
  if (store_.errors->failed()) return false;
  if (Status s = CheckRanges(); !s.ok()) return s;
  if (const Result<bool> joined = JoinSmall(); !joined.ok()) return joined;
  bool any = false;
  for (;;) {
    const Result<bool> step = from == 0 ? StepOfL0(merged) : StepOfList(from, merged);
    if (!step.ok()) return step;
    any = any || *step;
    if (!whole || !*step || store_.stop->load()) return any;
  }
}

/// Those of `lower`, in the order of keys, that have to be read whole with `upper`: what is between
/// the first and the last key of all of these, since a new list may be. One from before there were
/// runs goes as it is. Where heads are short a neighbour joins in, so that there are no more lists
/// than before.
ListRewriter::Lists ListRewriter::MetBy(const Lists& upper, const Lists& lower) const {
  level::KeyRange all;
  for (const List& list : upper) {
    const level::KeyRange range = list->range();
    if (!range.is_known) continue;
    all.first = all.is_known ? std::min(all.first, range.first) : range.first;
    all.last = all.is_known ? std::max(all.last, range.last) : range.last;
    all.is_known = true;
  }
  Lists met;
  List neighbour;
  for (const List& list : lower) {
    if (!list->is_of_run() || Overlap(list->range(), all)) {
      met.push_back(list);
    } else if (list->range().is_known && all.is_known) {
      neighbour = list;  // the last one before, or the first one behind
      if (all.last < list->range().first) break;
    }
  }
  const bool joins = met.empty() && !store_.versions->Lock().manifest().HasRoomForLists();
  if (joins && neighbour != nullptr) met.push_back(neighbour);
  return met;
}

/// Tables of L0, newest first, without those that wait for their group: they are in no manifest.
ListRewriter::Lists ListRewriter::ListsOfL0(const level::VersionSet::Locked& versions) const {
  Lists all = ListsOf(versions.state().version->l0());
  std::erase_if(all,
                [&](const List& list) { return versions.record().Find(list->id()) == nullptr; });
  return all;
}

/// The tables of L0 that are rewritten now, newest first: those of which a part was, or all.
ListRewriter::Lists ListRewriter::InputsOfL0() {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  Lists all = ListsOfL0(versions);
  Lists begun = all;
  std::erase_if(begun, [&](const List& list) {
    return (versions.record().Find(list->id())->flags & format::kTableIsBegun) == 0;
  });
  Lists inputs = begun.empty() ? std::move(all) : std::move(begun);
  std::vector<uint64_t> ids;
  for (const List& list : inputs) ids.push_back(list->id());
  if (ids != begun_) {
    begun_ = std::move(ids);
    next_key_.clear();
  }
  return inputs;
}

/// Tables of L0 that are not among the inputs: these are the oldest.
ListRewriter::Lists ListRewriter::NewerThan(const Lists& inputs) const {
  Lists newer = ListsOfL0(store_.versions->Lock());
  std::erase_if(newer, [&](const List& list) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const List& input) { return input->id() == list->id(); });
  });
  return newer;
}

/// Gives back what was retired, else what is hidden. Whether a step that has found no room is worth
/// another try.
Result<bool> ListRewriter::MakeRoom() {
  if (store_.stop->load()) return false;
  const auto reclaim = [this] { return store_.reclaimer->Reclaim(store_.errors->failed()); };
  const uint64_t before = store_.reclaimer->times();
  if (Result<bool> reclaimed = reclaim(); !reclaimed.ok()) return reclaimed;
  if (store_.reclaimer->times() != before) return true;
  const Result<bool> dropped = DropHidden();
  if (!dropped.ok() || !*dropped) return dropped;
  if (Result<bool> reclaimed = reclaim(); !reclaimed.ok()) return reclaimed;
  return true;
}

/// Where there is no room for all of a step there may be for its beginning; where there is none at
/// all, for one by which more becomes free.
Result<bool> ListRewriter::StepOfL0(Merger::Merged* merged) {
  const Lists inputs = InputsOfL0();
  if (inputs.empty()) return false;
  for (const List& list : inputs) store_.versions->NoteMergeOf(list->id());
  const level::Level l1 = store_.versions->Lock().Keep()->version->levels[1];
  merge::RewriteInput input;
  input.begin = next_key_;
  // The chunk that a step begins is to be used.
  input.most_lists = std::max<size_t>(kListsAStep, pool_.chunk_bytes() / ListBytes());
  for (const List& list : inputs) input.sources.push_back({list});
  Lists lower = ListsOf(l1);
  std::erase_if(lower, [&](const List& list) {
    const level::KeyRange range = list->range();
    if (!range.is_known) return false;
    BRAID_CHECK(range.first >= next_key_ || range.last < next_key_);  // invariant 3
    return range.last < next_key_;
  });
  input.whole = MetBy(inputs, lower);
  input.sources.push_back(input.whole);
  for (;;) {
    std::optional<std::string> stop;
    const Result<bool> done = RewriteL0(inputs, input, Room::kSpare, merged, &stop);
    if (!done.ok() || *done) return done;
    if (!stop) break;
    input.end = std::move(*stop);
  }
  const Result<bool> made = MakeRoom();
  if (!made.ok() || *made || store_.stop->load()) return made;
  input.end.clear();
  input.most_lists = ~size_t{0};
  std::optional<std::string> stop;
  return RewriteL0(inputs, input, Room::kAll, merged, &stop);
}

/// `stop`: where less would have been done, if there was no room for all.
Result<bool> ListRewriter::RewriteL0(const Lists& inputs, const merge::RewriteInput& input,
                                     Room room, Merger::Merged* merged,
                                     std::optional<std::string>* stop) {
  BRAID_DCHECK(!inputs.empty() && input.begin == next_key_);
  Heads heads(store_.versions);
  Change change;
  change.slot = store_.versions->Lock().NewTableId();
  merge::RewriteOptions options = OptionsFor(1, room, &heads);
  // Newer tables may hide what there is no room for.
  const HiddenEntries hidden(&pool_, nullptr, NewerThan(inputs));
  if (room == Room::kAll) {
    options.newest_above = [&](std::string_view key) { return hidden.NewestAbove(1, key); };
  }
  merge::ListRewrite rewrite(&pool_, store_.usage, change.slot, std::move(options));
  const index::LiveViews views = store_.views->Collect();
  Status s = rewrite.Run(input, views);
  if (s.ok() && room == Room::kAll) s = rewrite.CountBefore(inputs, input.begin);
  if (!s.ok()) {
    *stop = rewrite.last_stop();
    return GiveUp(s, &rewrite, &heads);
  }
  const std::optional<std::string> next = rewrite.next_key();
  // Those of the tables stay until their last key is in L1.
  const bool gains = !next && rewrite.chunks() <= rewrite.EmptiedChunks();
  if (room == Room::kAll && !gains) return GiveUp(Status::OK(), &rewrite, &heads);
  for (const merge::RewrittenList& list : rewrite.lists()) {
    change.fresh.push_back({Fresh(list, 1), views});
  }
  for (const List& list : input.whole) {
    const level::KeyRange range = list->range();
    if (!next || !range.is_known || range.last < *next) change.replaced.push_back({list, 1});
  }
  if (next) {
    change.begun = inputs;
  } else {
    for (const List& list : inputs) change.replaced.push_back({list, 1});
    merged->tables += inputs.size();
  }
  merged->entries += rewrite.read();
  const Result<bool> committed = Commit(std::move(change), &rewrite, &heads);
  if (!committed.ok() || !*committed) return committed;
  next_key_ = next.value_or("");
  if (!next) begun_.clear();
  return true;
}

TableRecord ListRewriter::Fresh(const merge::RewrittenList& list, uint32_t level) {
  TableRecord record{};
  record.id = store_.versions->Lock().NewTableId();
  record.level = static_cast<uint16_t>(level);
  record.flags = format::kTableOfRun;
  if (list.keeps_versions) record.flags |= format::kTableKeepsVersions;
  record.head = list.head;
  record.entries = list.entries;
  record.max_sequence = list.max_sequence;
  return record;
}

/// How many lists from `at` on go down together: the one, and those behind it that meet no other
/// lists of the level below. These are `lower` then.
size_t ListRewriter::JoinNext(const Lists& lists, size_t at, const Lists& below,
                              Lists* lower) const {
  Lists upper = {lists[at]};
  *lower = MetBy(upper, below);
  if (lower->empty()) return 1;
  for (size_t next = at + 1; next < lists.size() && upper.size() < kListsAStep; ++next) {
    upper.push_back(lists[next]);
    if (!lists[next]->range().is_known || MetBy(upper, below).size() != lower->size()) {
      upper.pop_back();
      break;
    }
  }
  return upper.size();
}

Result<bool> ListRewriter::StepOfList(uint32_t from, Merger::Merged* merged) {
  const std::shared_ptr<const level::Version> version = store_.versions->Lock().Keep()->version;
  BRAID_DCHECK(from > 0 && from + 1 < version->levels.size());
  const uint32_t to = from + 1;
  next_list_.resize(version->levels.size());
  Lists lists = ListsOf(version->levels[from]);
  std::erase_if(lists, [](const List& list) { return list->entries() == 0; });
  if (lists.empty()) return false;
  // In turn, as LevelDB's do.
  const auto turn = std::find_if(lists.begin(), lists.end(), [&](const List& list) {
    return list->range().is_known && list->range().first > next_list_[from];
  });
  const size_t at = turn == lists.end() ? 0 : static_cast<size_t>(turn - lists.begin());
  const List list = lists[at];
  Lists below = ListsOf(version->levels[to]);
  std::erase_if(below, [](const List& other) { return other->entries() == 0; });
  Lists moved;
  for (size_t next = at; next < lists.size() && moved.size() < kListsAStep; ++next) {
    if (!MovesDown(lists[next], below, *version)) break;
    moved.push_back(lists[next]);
  }
  if (!moved.empty()) {
    next_list_[from] = moved.back()->range().last;
    merged->tables += moved.size();
    return MoveDown(moved, from);
  }
  Lists lower;
  const size_t count = JoinNext(lists, at, below, &lower);
  Lists upper(lists.begin() + static_cast<ptrdiff_t>(at),
              lists.begin() + static_cast<ptrdiff_t>(at + count));
  Result<bool> done = RewriteDown(upper, lower, to, Room::kSpare, merged);
  if (done.ok() && !*done && count > 1) {
    upper.resize(1);
    lower = MetBy(upper, below);
    done = RewriteDown(upper, lower, to, Room::kSpare, merged);
  }
  if (!done.ok() || *done) return done;
  const Result<bool> made = MakeRoom();
  if (!made.ok() || *made || store_.stop->load()) return made;
  // If nothing comes of it, another one has its turn.
  next_list_[from] = list->range().last;
  return RewriteDown(upper, lower, to, Room::kAll, merged);
}

/// Rewrites neighbours of a level, and those of the level below that they meet.
Result<bool> ListRewriter::RewriteDown(const Lists& upper, const Lists& lower, uint32_t to,
                                       Room room, Merger::Merged* merged) {
  BRAID_DCHECK(!upper.empty() && to > 1 && upper.front()->level() + 1 == to);
  const level::KeyRange range = upper.back()->range();
  std::string last(range.is_known ? range.last : std::string_view());
  Heads heads(store_.versions);
  Change change;
  change.slot = store_.versions->Lock().NewTableId();
  merge::ListRewrite rewrite(&pool_, store_.usage, change.slot, OptionsFor(to, room, &heads));
  const index::LiveViews views = store_.views->Collect();
  merge::RewriteInput input;
  input.sources = {upper, lower};
  const Status s = rewrite.Run(input, views);
  const bool gains = rewrite.chunks() <= rewrite.EmptiedChunks();
  if (!s.ok() || (room == Room::kAll && !gains)) return GiveUp(s, &rewrite, &heads);
  for (const merge::RewrittenList& fresh : rewrite.lists()) {
    change.fresh.push_back({Fresh(fresh, to), views});
  }
  for (const List& list : upper) change.replaced.push_back({list, to});
  for (const List& list : lower) change.replaced.push_back({list, to});
  merged->tables += upper.size() + lower.size();
  merged->entries += rewrite.read();
  next_list_[to - 1] = std::move(last);
  return Commit(std::move(change), &rewrite, &heads);
}

/// Whether nothing of the list has to be read, nor what is `below` it.
bool ListRewriter::MovesDown(const List& list, const Lists& below,
                             const level::Version& version) const {
  const level::KeyRange range = list->range();
  if (!list->is_of_run() || !range.is_known || !MetBy({list}, below).empty()) return false;
  const bool keeps = (list->record().flags & format::kTableKeepsVersions) != 0;
  return !keeps || MayBeBelow(version, store_.tier, list->level() + 1, range.first, range.last);
}

/// Lists that meet none below: their records say where they are.
Result<bool> ListRewriter::MoveDown(const Lists& lists, uint32_t from) {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  if (pool_.failed()) return pool_.FaultStatus();
  BRAID_DCHECK(!lists.empty() && from > 0);
  Edit edit{versions.state().version->levels, {}, {}};
  std::vector<TableRecord> records;
  for (const List& list : lists) {
    TableRecord record = list->record();
    record.level = static_cast<uint16_t>(from + 1);
    auto moved =
        std::make_shared<level::PmemTable>(&pool_, record, store_.options->verify_checksums);
    if (!moved->range().is_known) {
      return pool_.CorruptionAt(moved->head_offset(), "list", "it can't be read any more");
    }
    std::erase_if(edit.levels[from], [&](const auto& table) { return table->id() == list->id(); });
    PutIn(std::move(moved), &edit);
    records.push_back(record);
  }
  if (!CloseGaps(versions, &edit)) return false;
  for (const TableRecord& record : records) *versions.manifest().FindTable(record.id) = record;
  if (Status s = CommitEdit(versions, std::move(edit)); !s.ok()) return s;
  return true;
}

/// Puts a list into its level, in the order of keys; it takes the place of empty ones.
void ListRewriter::PutIn(List list, Edit* edit) {
  BRAID_DCHECK(list->level() > 0 && list->is_of_run() && list->entries() != 0);
  level::Level& level = edit->levels[list->level()];
  std::erase_if(level, [&](const std::shared_ptr<level::Table>& other) {
    if (other->entries() != 0) return false;
    edit->forgotten.push_back(level::ListOf(other));
    return true;
  });
  const auto behind = std::find_if(level.begin(), level.end(), [&](const auto& other) {
    return list->range().last < other->AsList()->range().first;
  });
  level.insert(behind, std::move(list));
}

/// A level that loses its lists gets an empty one. False: there is no head for it, and nothing has
/// changed.
bool ListRewriter::CloseGaps(const level::VersionSet::Locked& versions, Edit* edit) {
  for (size_t level = 1; level < edit->levels.size(); ++level) {
    if (!edit->levels[level].empty()) continue;
    const Result<uint32_t> head = versions.TakeHead();
    if (!head.ok()) {
      for (const TableRecord& record : edit->added) versions.manifest().ReturnHead(record.head);
      return false;
    }
    level::CopiedList(&pool_).Close(pool_.HeadOffset(*head));
    TableRecord record{};
    record.id = versions.NewTableId();
    record.level = static_cast<uint16_t>(level);
    record.flags = format::kTableOfRun;
    record.head = *head;
    edit->levels[level].push_back(
        std::make_shared<level::PmemTable>(&pool_, record, store_.options->verify_checksums));
    edit->added.push_back(record);
  }
  return true;
}

/// Beside what has been changed in the manifest.
Status ListRewriter::CommitEdit(const level::VersionSet::Locked& versions, Edit edit) {
  level::Manifest& manifest = versions.manifest();
  for (const List& list : edit.forgotten) {
    if (!list->never_changes()) versions.KeepHead(list);
    manifest.RemoveTable(list->id());
  }
  for (const TableRecord& record : edit.added) manifest.AddTable(record);
  versions.record().next_table_id = versions.next_table_id();
  level::NextState next = versions.Next();
  next.ReplaceLevels(std::move(edit.levels));
  if (Status s = manifest.Commit(); !s.ok()) return s;
  versions.Show(std::move(next));
  return Status::OK();
}

/// Puts new lists in the place of others, which become originals, and takes those out of the way.
Result<bool> ListRewriter::Commit(Change change, merge::ListRewrite* rewrite, Heads* heads) {
  // On page-cache media copies must be on the medium before their originals are marked obsolete.
  if (Status s = pool_.media().Sync(media::Site::kMergeCopiesSync); !s.ok()) return s;
  bool committed = false;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    if (pool_.failed()) return pool_.FaultStatus();
    BRAID_DCHECK(versions.record().Originals() == nullptr);  // invariant 2
    BRAID_DCHECK(change.slot < versions.next_table_id());
    Edit edit{versions.state().version->levels, {}, {}};
    for (const auto& [list, to] : change.replaced) {
      std::erase_if(edit.levels[list->level()],
                    [&list = list](const auto& table) { return table->id() == list->id(); });
    }
    for (const auto& [made, views] : change.fresh) {
      auto list =
          std::make_shared<level::PmemTable>(&pool_, made, store_.options->verify_checksums);
      if (!list->range().is_known) {
        return pool_.CorruptionAt(list->head_offset(), "list", "it does not hold what was written");
      }
      PutIn(std::move(list), &edit);
    }
    if (CloseGaps(versions, &edit)) {
      for (const auto& [list, to] : change.replaced) {
        replaced_.Make(versions, list, to);
        kept_for_.erase(list->id());
      }
      for (auto& [made, views] : change.fresh) {
        edit.added.push_back(made);
        if ((made.flags & format::kTableKeepsVersions) != 0) kept_for_[made.id] = std::move(views);
      }
      for (const List& list : change.begun) {
        versions.manifest().FindTable(list->id())->flags |= format::kTableIsBegun;
      }
      versions.record().collected_table_id = change.slot;
      if (Status s = CommitEdit(versions, std::move(edit)); !s.ok()) return s;
      committed = true;
    }
  }
  if (!committed) return GiveUp(Status::OK(), rewrite, heads);
  if (Status s = DropOriginals().status(); !s.ok()) return s;
  return true;
}

}  // namespace braid::compaction
