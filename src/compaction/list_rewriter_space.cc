// Purpose: what rewritten lists leave behind: entries that are marked, chunks that are emptied,
// versions that views have kept.
// Thread safety, invariants, persistence: see list_rewriter.h.
#include <algorithm>

#include "base/activity.h"
#include "base/check.h"
#include "base/no_throw.h"
#include "compaction/list_rewriter.h"
#include "log/log_reader.h"

namespace braid::compaction {

using format::EntryHeader;
using format::TableRecord;

namespace {

/// Lists that are rewritten together to empty chunks, and chunks that are emptied together.
constexpr size_t kMostOwners = 16;
constexpr size_t kMostEmptied = 16;

/// Looks for entries among lists, in their order: an entry after the other.
class Survivors {
 public:
  Survivors(const pool::PmemPool* pool, const level::Level& level) : source_(pool, Lists(level)) {}

  /// The entry with this key and number, null when there is none. Corruption.
  Result<const EntryHeader*> Find(const EntryHeader& sought) {
    if (!begun_) {
      begun_ = true;
      if (Status s = source_.Seek(sought.key()); !s.ok()) return s;
    }
    for (;;) {
      const EntryHeader* const at = source_.entry();
      if (at == nullptr) return at;
      const int order = at->key().compare(sought.key());
      if (order > 0 || (order == 0 && at->sequence() < sought.sequence())) return nullptr;
      if (order == 0 && at->sequence() == sought.sequence()) return at;
      if (Status s = source_.Next(); !s.ok()) return s;
    }
  }

 private:
  static merge::ListSource::Lists Lists(const level::Level& level) {
    merge::ListSource::Lists lists;
    for (const auto& table : level) lists.push_back(level::ListOf(table));
    return lists;
  }

  merge::ListSource source_;
  bool begun_ = false;
};

}  // namespace

/// Each entry of a list that was replaced is obsolete, or the carrier of a value; and so is what it
/// referred to, unless the entry that took its place does. Deletes are only noted (invariant 4).
Status ListRewriter::MarkOriginalsOf(const TableRecord& originals, const level::Version& version,
                                     std::vector<uint64_t>* dead, std::vector<uint64_t>* deletes) {
  BRAID_DCHECK(originals.level > 0 && originals.level < version.levels.size());
  media::PersistOps& ops = pool_.ops();
  const auto mark = [&](uint64_t offset, uint8_t state) {
    uint8_t* const byte = pool_.As<EntryHeader>(offset)->state_byte();
    ops.StoreByte(byte, state);
    ops.Flush(byte, 1, media::Site::kOriginalsMark);
  };
  // Kept by nobody: readers have lists of their own.
  const auto list =
      std::make_shared<level::PmemTable>(&pool_, originals, store_.options->verify_checksums);
  merge::ListSource source(&pool_, {list});
  if (Status s = source.Seek({}); !s.ok()) return s;
  Survivors survivors(&pool_, version.levels[originals.level]);
  while (const EntryHeader* entry = source.entry()) {
    const Result<const EntryHeader*> found = survivors.Find(*entry);
    if (!found.ok()) return found.status();
    const uint64_t offset = pool_.OffsetOf(entry);
    const uint64_t stays = *found == nullptr ? 0 : pool_.CarrierOf(**found);
    const uint64_t carrier = pool_.CarrierOf(*entry);
    // Alive it is in L0 yet (invariant 3).
    if (carrier != 0 && carrier != stays &&
        pool_.As<EntryHeader>(carrier)->state() == format::kStateCarrier) {
      mark(carrier, format::kStateObsolete);
      dead->push_back(carrier);
    }
    if (entry->state() == format::kStateLive) {
      if (stays == offset) {
        mark(offset, format::kStateCarrier);
      } else if (entry->op() == format::EntryOp::kDelete) {
        deletes->push_back(offset);
      } else {
        mark(offset, format::kStateObsolete);
        dead->push_back(offset);
      }
    }
    if (Status s = source.Next(); !s.ok()) return s;
  }
  return pool_.failed() ? pool_.FaultStatus() : Status::OK();
}

Result<bool> ListRewriter::DropOriginals() {
  std::vector<TableRecord> originals;
  std::shared_ptr<const level::Version> version;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    for (const TableRecord& table : versions.record().tables) {
      if ((table.flags & format::kTableOfOriginals) != 0) originals.push_back(table);
    }
    version = versions.state().version;
  }
  if (originals.empty()) return false;
  std::vector<uint64_t> dead;
  std::vector<uint64_t> deletes;
  for (TableRecord& table : originals) {
    table.flags |= format::kTableOfRun;  // its head is copied: nothing else uses this object
    if (Status s = MarkOriginalsOf(table, *version, &dead, &deletes); !s.ok()) return s;
  }
  pool_.ops().Fence(media::Site::kOriginalsMarkFence);
  for (const uint64_t offset : deletes) {
    uint8_t* const byte = pool_.As<EntryHeader>(offset)->state_byte();
    pool_.ops().StoreByte(byte, format::kStateObsolete);
    pool_.ops().Flush(byte, 1, media::Site::kOriginalsMark);
  }
  pool_.ops().Fence(media::Site::kOriginalsMarkFence);
  if (pool_.failed()) return pool_.FaultStatus();
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    for (const auto& kept : in_place_) {
      if (const List list = kept.lock()) versions.KeepHead(list);
    }
    in_place_.clear();
    for (const TableRecord& table : originals) versions.manifest().RemoveTable(table.id);
    if (Status s = versions.manifest().Commit(); !s.ok()) return s;
  }
  store_.accounts->Died(dead);
  store_.accounts->Died(deletes);
  store_.accounts->RetireEmptyChunks();
  return true;
}

Result<bool> ListRewriter::RewriteInPlace(const Lists& lists,
                                          const std::unordered_set<uint64_t>* emptied,
                                          bool must_gain) {
  if (Status s = CheckRanges(); !s.ok()) return s;
  Heads heads(store_.versions);
  Change change;
  change.slot = store_.versions->Lock().NewTableId();
  merge::RewriteOptions options = OptionsFor(0, &heads);
  options.emptied = emptied;
  uint32_t level = 0;
  options.is_below = [&, version = store_.versions->Lock().Keep()->version](std::string_view key) {
    return MayBeBelow(*version, level, key, key);
  };
  merge::ListRewrite rewrite(&pool_, store_.usage, change.slot, options);
  const index::LiveViews views = store_.views->Collect();
  size_t made = 0;
  Status s;
  for (const List& list : lists) {
    level = list->level();
    merge::RewriteInput input;
    input.sources = {{list}};
    s = rewrite.Run(input, views);
    if (!s.ok()) break;
    for (; made < rewrite.lists().size(); ++made) {
      change.fresh.push_back({Fresh(rewrite.lists()[made], level), views});
    }
    change.replaced.push_back({list, level});
  }
  if (!s.ok()) return GiveUp(s, &rewrite, &heads);
  if (must_gain && rewrite.chunks() >= rewrite.EmptiedChunks()) {
    return GiveUp(Status::OK(), &rewrite, &heads);
  }
  return Commit(std::move(change), &rewrite, &heads);
}

Result<bool> ListRewriter::DropKept(const Occasion& occasion) {
  if (!occasion.at_rest) return false;
  const std::shared_ptr<const level::Version> version = store_.versions->Lock().Keep()->version;
  const index::LiveViews views = store_.views->Collect();
  for (uint32_t level = 1; level < version->levels.size(); ++level) {
    for (const auto& table : version->levels[level]) {
      const List list = level::ListOf(table);
      if ((list->record().flags & format::kTableKeepsVersions) == 0) continue;
      const auto known = kept_for_.find(list->id());
      if (known != kept_for_.end() && known->second == views) continue;
      const base::ActivityScope activity(base::Activity::kCollect);
      const Result<bool> done = RewriteInPlace({list}, nullptr, false);
      // Where there is no room for it now there may be for another one.
      if (!done.ok() || *done) return done;
    }
  }
  return false;
}

/// The lists that hold, or refer to, what lives in the chunk. False: it can't be emptied by
/// rewriting them.
bool ListRewriter::FindOwners(uint64_t chunk, const level::Version& version,
                              std::map<uint64_t, List>* owners) const {
  bool all = true;
  log::ForEachEntry(pool_, chunk, [&](uint64_t offset, const EntryHeader& entry) {
    if (!entry.is_kept() || !all) return;
    // An extent names its owner, and damage must not get new checks.
    all = !entry.has(format::kValueInExtent) && log::EntryVerifies(pool_, offset);
    if (!all) return;
    const index::LookupKey key{entry.key(), base::Hash64(entry.key())};
    bool found = false;
    for (size_t level = 1; level < version.levels.size() && !found; ++level) {
      for (const auto& table : version.levels[level]) {
        const List list = level::ListOf(table);
        const level::KeyRange range = list->range();
        if (!range.is_known || key.key < range.first || range.last < key.key) continue;
        const index::LookupResult result = list->Get(key, {.sequence = entry.sequence()});
        if (!result.has_version() || result.sequence != entry.sequence()) continue;
        const EntryHeader* const node = pool_.EntryAt(result.value.offset());
        if (result.value.offset() != offset &&
            (node == nullptr || pool_.CarrierOf(*node) != offset)) {
          continue;
        }
        owners->emplace(list->id(), list);
        found = true;
        break;
      }
    }
    all = found;
  });
  return all;
}

Result<bool> ListRewriter::Collect(const Occasion& occasion) {
  // Copies need room: what the step before has retired may be all there is.
  if (pool_.free_chunks() < kMostEmptied) {
    const Result<bool> reclaimed = store_.reclaimer->Reclaim(store_.errors->failed());
    if (!reclaimed.ok()) return reclaimed;
  }
  std::vector<uint64_t> sparse;
  if (store_.errors->failed() || !store_.collector->Plan(occasion, &sparse)) return false;
  const base::ActivityScope activity(base::Activity::kCollect);
  const std::shared_ptr<const level::Version> version = store_.versions->Lock().Keep()->version;
  std::map<uint64_t, List> owners;
  std::unordered_set<uint64_t> emptied;
  std::vector<uint64_t> unmovable;
  for (const uint64_t chunk : sparse) {
    if (emptied.size() == kMostEmptied) break;
    std::map<uint64_t, List> with = owners;
    if (!FindOwners(chunk, *version, &with)) {
      unmovable.push_back(chunk);
      continue;
    }
    if (!emptied.empty() && with.size() > kMostOwners) continue;
    owners = std::move(with);
    emptied.insert(chunk);
  }
  store_.collector->Pin(unmovable, pool_.free_chunks());
  if (emptied.empty()) return false;
  Lists lists;
  for (const auto& [id, list] : owners) lists.push_back(list);
  const Result<bool> done = RewriteInPlace(lists, &emptied, true);
  // Until something in them changes, or there is more room.
  if (done.ok() && !*done && !store_.stop->load()) {
    store_.collector->Pin({emptied.begin(), emptied.end()}, pool_.free_chunks());
  }
  return done;
}

}  // namespace braid::compaction
