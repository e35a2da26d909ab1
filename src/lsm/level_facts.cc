// Purpose: how large levels are, and what they wait for.
// Thread safety, persistence: see level_facts.h.
#include "lsm/level_facts.h"

#include <algorithm>

#include "base/check.h"
#include "level/level_sizes.h"

namespace braid::lsm {

uint64_t TablesBehind(const LsmStore& store, const level::ReadState& state) {
  const uint64_t l0 = state.version->l0().size();
  const uint64_t stop = store.options.compaction.l0_stop;
  if (!level::HasSeveralLists(store.options.levels) || l0 >= stop) return l0;
  uint64_t entries = 0;
  for (const auto& list : state.version->levels[1]) {
    entries += list->entries();
    if (*store.options.compaction.kind != MergeKind::kRewrite)
      break;  // the one behind is on its way down
  }
  const double l1 = static_cast<double>(entries) *
                    static_cast<double>(compaction::BytesAnEntry(*store.pool, *state.version));
  const double most = compaction::kMostOvergrown *
                      static_cast<double>(level::MostBytesOfLevel(store.options.levels, 1));
  if (l1 <= most) return l0;
  const double behind = (l1 - most) / static_cast<double>(store.options.memtable.bytes);
  return std::min(l0 + static_cast<uint64_t>(std::min(behind, 1e9)), stop - 1);
}

bool MayMergeSideBySide(const LsmStore& store, const level::VersionSet::ConstLocked& versions,
                        size_t most) {
  const CompactionOptions& options = store.options.compaction;
  const level::Level& l0 = versions.state().version->l0();
  // Borders stand in the bottom.
  if (versions.state().version->levels.size() != 2) return false;
  if (l0.size() < 2 || most < 2 || versions.record().AnyMerge()) return false;
  if (*options.kind != MergeKind::kZipper || *options.persistence != MergePersistence::kRedoLog) {
    return false;
  }
  if (store.pool->strands() != 1 || store.indexes.HasCache() || store.budget.IsShort()) {
    return false;
  }
  return versions.state().version->bottom().entries() != 0 || !level::ListOf(l0.back())->is_plain();
}

void TellOfMerges(LsmStore* store, compaction::StoreFacts* facts) {
  const std::shared_ptr<const level::ReadState> state = store->versions.Lock().Keep();
  facts->l0_waits = store->overwrites.IsWorthWaiting(*state);
  facts->merges_fully = store->full_merger.IsDue(*state);
  facts->awaits_flush = store->full_merger.WaitsForFlush(*state, facts->merges_fully);
}

void TellOfTables(const LsmStore& store, const level::VersionSet::ConstLocked& versions,
                  std::optional<uint64_t> awaited, bool with_ranges,
                  compaction::StoreFacts* facts) {
  const uint64_t worth_a_thread =
      compaction::kBatchesWorthAThread * store.options.compaction.batch_entries;
  for (const level::Level& level : versions.state().version->levels) {
    std::vector<compaction::TableFacts>& tables = facts->levels.emplace_back();
    for (const auto& table : level) {
      compaction::TableFacts& of = tables.emplace_back();
      of.id = table->id();
      of.entries = table->entries();
      level::PmemTable* const list = table->AsList();
      if (list != nullptr && !list->is_counted()) of.entries = std::max<uint64_t>(of.entries, 1);
      of.awaited = awaited && table->id() <= *awaited;
      if (!with_ranges || list == nullptr || list->level() != 0) continue;
      if (table->entries() < worth_a_thread) continue;
      const level::KeyRange range = list->range();
      of.has_range = range.is_known;
      of.first_key = range.first;
      of.last_key = range.last;
    }
  }
}

void TellOfLists(const LsmStore& store, const level::VersionSet::ConstLocked& versions,
                 compaction::StoreFacts* facts) {
  const LevelOptions& levels = store.options.levels;
  if (!level::HasSeveralLists(levels)) return;
  facts->levels_per_group = std::max(levels.per_group, 1u);
  facts->rewrites = *store.options.compaction.kind == MergeKind::kRewrite;
  for (const format::TableRecord& table : versions.record().tables) {
    facts->l0_is_begun = facts->l0_is_begun || (table.flags & format::kTableIsBegun) != 0;
  }
  facts->has_originals = versions.record().Originals() != nullptr;
  const uint64_t entry_bytes =
      std::max<uint64_t>(compaction::BytesAnEntry(*store.pool, *versions.state().version), 1);
  const size_t count = versions.state().version->levels.size();
  facts->level_entries.assign(count, 0);
  for (size_t level = 1; level + 1 < count; ++level) {
    facts->level_entries[level] =
        std::max<uint64_t>(level::MostBytesOfLevel(levels, level) / entry_bytes, 1);
  }
  for (const format::MergeRecord& merge : versions.record().merges) {
    const format::TableRecord* const source =
        merge.id == 0 ? nullptr : versions.record().Find(merge.source_id);
    if (source != nullptr) facts->open_from = std::max<uint32_t>(facts->open_from, source->level);
  }
}

}  // namespace braid::lsm
