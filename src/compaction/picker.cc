// Purpose: the order of background work.
// Thread safety, persistence: see picker.h.
#include "compaction/picker.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/check.h"

namespace braid::compaction {

namespace {

// Reclustering before collecting: it empties the chunks that a collection would copy from. Filling
// the tier before both: what has gone need not be copied.
constexpr Action kAtLeisure[] = {Action::kIndex,     Action::kRemakeIndex, Action::kFillLookups,
                                 Action::kCount,     Action::kDrop,        Action::kFillTier,
                                 Action::kRecluster, Action::kCollect};
constexpr Action kOfIndexPhase[] = {Action::kIndex, Action::kRemakeIndex, Action::kFillLookups,
                                    Action::kCount};
constexpr Action kOfDropPhase[] = {Action::kDrop};
constexpr Action kOfTierPhase[] = {Action::kFillTier};
constexpr Action kOfReclusterPhase[] = {Action::kRecluster};
constexpr Action kOfCollectPhase[] = {Action::kCollect};
constexpr Action kOfRoomPhase[] = {Action::kMakeRoom};

std::span<const Action> ActionsOf(Phase phase) {
  switch (phase) {
    case Phase::kIndex:
      return kOfIndexPhase;
    case Phase::kDrop:
      return kOfDropPhase;
    case Phase::kFillTier:
      return kOfTierPhase;
    case Phase::kRecluster:
      return kOfReclusterPhase;
    case Phase::kCollect:
      return kOfCollectPhase;
    case Phase::kMakeRoom:
      return kOfRoomPhase;
    case Phase::kMergeDown:
    case Phase::kDone:
      break;
  }
  return {};
}

Plan Of(Action action) {
  Plan plan;
  plan.action = action;
  return plan;
}

bool MayFill(const StoreFacts& facts) {
  return facts.has_tier && !facts.tried.Has(Action::kFillTier);
}

/// The first that has not come to nothing yet.
Plan FirstOf(std::span<const Action> actions, const StoreFacts& facts, Action otherwise) {
  const auto next = std::find_if(actions.begin(), actions.end(), [&](Action action) {
    return action == Action::kFillTier ? MayFill(facts) : !facts.tried.Has(action);
  });
  return Of(next == actions.end() ? otherwise : *next);
}

bool AnyAwaited(const std::vector<TableFacts>& tables) {
  return std::any_of(tables.begin(), tables.end(),
                     [](const TableFacts& table) { return table.awaited; });
}

bool LieApart(const TableFacts& a, const TableFacts& b) {
  BRAID_DCHECK(a.has_range && b.has_range);
  return a.last_key < b.first_key || b.last_key < a.first_key;
}

/// Ids of the oldest tables that can be merged at once; oldest last.
std::vector<uint64_t> SideBySide(const std::vector<TableFacts>& tables, size_t most) {
  BRAID_DCHECK(!tables.empty() && most > 0);
  size_t count = 1;
  for (; count < std::min(most, tables.size()); ++count) {
    const TableFacts& next = tables[tables.size() - 1 - count];
    const auto older = std::span(tables).last(count);
    const bool joins =
        next.has_range && std::all_of(older.begin(), older.end(), [&](const TableFacts& table) {
          return table.has_range && LieApart(table, next);
        });
    if (!joins) break;
  }
  std::vector<uint64_t> ids;
  for (const TableFacts& table : std::span(tables).last(count)) ids.push_back(table.id);
  return ids;
}

Plan RewriteOf(const StoreFacts& facts, uint32_t level) {
  BRAID_DCHECK(facts.rewrites && level + 1 < facts.levels.size());
  Plan plan = Of(Action::kRewrite);
  plan.from = level;
  plan.to = level + 1;
  plan.is_bottom = plan.to + 1 == facts.levels.size();
  return plan;
}

/// The list of a level into that of the next; of several ones the next that has its turn, unless a
/// merge of the level is open.
Plan MergeOfList(const StoreFacts& facts, uint32_t level) {
  BRAID_DCHECK(level > 0 && level + 1 < facts.levels.size() && facts.levels_per_group > 0);
  if (facts.rewrites && facts.open_merge == StoreFacts::OpenMerge::kNone) {
    return RewriteOf(facts, level);
  }
  Plan plan = Of(Action::kMerge);
  plan.from = level;
  plan.to = level + 1;
  plan.inputs = {facts.levels[level].back().id};
  const bool leaves_group = level % facts.levels_per_group == 0;
  plan.method = leaves_group ? MergeMethod::kCopyAndLink : MergeMethod::kLink;
  plan.is_bottom = plan.to + 1 == facts.levels.size();
  return plan;
}

/// The level whose list has grown furthest beyond its size, if any has.
std::optional<uint32_t> MostOvergrownLevel(const StoreFacts& facts) {
  std::optional<uint32_t> most;
  double share = 1;
  for (uint32_t level = 1; level + 1 < facts.levels.size(); ++level) {
    if (Overgrown(facts, level) < share) continue;
    share = Overgrown(facts, level);
    most = level;
  }
  return most;
}

uint64_t EntriesOf(const std::vector<TableFacts>& tables) {
  uint64_t entries = 0;
  for (const TableFacts& table : tables) entries += table.entries;
  return entries;
}

/// For those who wait: the next list that something of what they wait for may be in.
Plan PickDown(const StoreFacts& facts) {
  for (uint32_t level = facts.down_from; level + 1 < facts.levels.size(); ++level) {
    const uint64_t entries =
        facts.rewrites ? EntriesOf(facts.levels[level]) : facts.levels[level].back().entries;
    if (entries == 0) continue;
    Plan plan = MergeOfList(facts, level);
    plan.is_awaited = true;
    return plan;
  }
  return {};
}

}  // namespace

BackgroundWork WorkOf(Action action) noexcept {
  switch (action) {
    case Action::kIndex:
    case Action::kRemakeIndex:
    case Action::kFillLookups:
      return BackgroundWork::kIndex;
    case Action::kCount:
      return BackgroundWork::kCount;
    case Action::kDrop:
    case Action::kRecluster:
      return BackgroundWork::kRecluster;
    case Action::kCollect:
    case Action::kMakeRoom:
      return BackgroundWork::kCollect;
    default:
      return BackgroundWork::kMerge;
  }
}

double Overgrown(const StoreFacts& facts, size_t level) noexcept {
  if (level == 0 || level + 1 >= facts.levels.size() || level >= facts.level_entries.size())
    return 0;
  const uint64_t most = facts.level_entries[level];
  if (most == 0 || facts.levels[level].empty()) return 0;
  const uint64_t entries =
      facts.rewrites ? EntriesOf(facts.levels[level]) : facts.levels[level].front().entries;
  return static_cast<double>(entries) / static_cast<double>(most);
}

Plan PickMerge(const StoreFacts& facts, const CompactionOptions& options) {
  if (facts.has_originals) return Of(Action::kMarkOriginals);
  if (facts.open_merge == StoreFacts::OpenMerge::kOfCopies) return Of(Action::kFinishCopies);
  if (facts.open_merge == StoreFacts::OpenMerge::kOfTable && facts.open_from > 0) {
    return MergeOfList(facts, facts.open_from);
  }
  BRAID_DCHECK(facts.levels.size() >= 2);  // so that there is a list below L0
  const std::vector<TableFacts>& l0 = facts.levels.front();
  const bool is_open = facts.open_merge == StoreFacts::OpenMerge::kOfTable;
  if (l0.empty() || (*options.kind == MergeKind::kNone && !is_open)) return {};
  if (facts.rewrites && !is_open) return RewriteOf(facts, 0);
  Plan plan = Of(Action::kMerge);
  plan.from = 0;
  plan.to = 1;
  plan.method = *options.kind == MergeKind::kCopy ? MergeMethod::kCopyAndLink : MergeMethod::kLink;
  if (is_open || plan.method != MergeMethod::kLink) {
    plan.inputs = {l0.back().id};
  } else if (facts.merges_fully) {
    plan.method = MergeMethod::kFull;
    for (const TableFacts& table : l0) plan.inputs.push_back(table.id);
  } else {
    plan.inputs = SideBySide(l0, facts.most_merges);
  }
  // Open merges are always those of the oldest tables.
  BRAID_DCHECK(!plan.inputs.empty() && plan.inputs.back() == l0.back().id);
  plan.is_bottom = plan.to + 1 == facts.levels.size();
  return plan;
}

/// After an open, indexing comes first, since reads are slow until it is done, and a merge takes as
/// long as the indexes of many tables; but not while L0 grows beyond what the open found, and not
/// when somebody waits for merges. A merge that is open comes before all else: its redo would be
/// made again after a crash, so that nothing that it marked obsolete may be freed before it ends.
/// Merging comes before collection: it is what makes garbage known. For those who wait every other
/// step is one of their round: while writers are busy there are always tables to merge.
Plan Pick(const StoreFacts& facts, const CompactionOptions& options) {
  const bool lacks_index = facts.lacks_index && !facts.tried.Has(Action::kIndex);
  if (facts.is_granted) return Of(lacks_index ? Action::kIndex : Action::kNothing);
  const std::vector<TableFacts>& l0 = facts.levels.front();
  const bool merges = *options.kind != MergeKind::kNone;
  const uint64_t calm = std::max<uint64_t>(facts.l0_found, options.l0_slowdown / 2);
  if (lacks_index && !facts.drain && (!merges || l0.size() <= calm)) {
    return Of(Action::kIndex);
  }
  if (facts.open_merge != StoreFacts::OpenMerge::kNone || facts.has_originals) {
    Plan plan = PickMerge(facts, options);
    return facts.tried.Has(plan.action) ? Plan{} : plan;
  }
  const bool awaited = AnyAwaited(l0);
  const bool due = merges && ((l0.size() >= options.l0_trigger && !facts.l0_waits) || awaited);
  const bool may = !facts.phase || awaited || !facts.phase_has_turn || facts.tier_writes;
  const bool may_merge =
      merges && !facts.tried.Has(facts.rewrites ? Action::kRewrite : Action::kMerge);
  // Between two merges, as others go on while a run is written: what leaves the pool is room that
  // writes wait for.
  if (facts.tier_presses && MayFill(facts)) return Of(Action::kFillTier);
  // An entry would be in three levels.
  if (facts.l0_is_begun && may_merge && !l0.empty()) return PickMerge(facts, options);
  const std::optional<uint32_t> overgrown = MostOvergrownLevel(facts);
  if (overgrown && may && may_merge && !facts.l0_is_begun &&
      (Overgrown(facts, *overgrown) >= kMostOvergrown || l0.size() <= calm)) {
    return MergeOfList(facts, *overgrown);
  }
  if (due && may && !l0.empty() && may_merge) {
    if (facts.awaits_flush) return {};
    return PickMerge(facts, options);
  }
  BRAID_DCHECK(facts.phase || !facts.phase_is_over);
  if (facts.phase) {
    if (facts.phase_is_over) return Of(Action::kNextPhase);
    if (*facts.phase == Phase::kMergeDown) {
      Plan down = may_merge && !facts.l0_is_begun ? PickDown(facts) : Plan{};
      return down.action != Action::kNothing ? down : Of(Action::kNextPhase);
    }
    return FirstOf(ActionsOf(*facts.phase), facts, Action::kNextPhase);
  }
  const Plan next = FirstOf(kAtLeisure, facts, Action::kNothing);
  // What would be copied out of sparse chunks may be on its way to the tier.
  const bool waits =
      facts.tier_writes && (next.action == Action::kFillTier || next.action == Action::kRecluster ||
                            next.action == Action::kCollect);
  return waits ? Plan{} : next;
}

bool TakesTooMuch(const SpaceFacts& facts) noexcept {
  const uint64_t slack = std::min(facts.used_bytes, kSlackChunks * facts.chunk_bytes);
  return static_cast<double>(facts.used_bytes - slack) >
         kMostSpace * static_cast<double>(facts.live_bytes);
}

bool WantsCollection(const SpaceFacts& facts) noexcept {
  if (facts.sparse_chunks == 0) return false;
  const bool low = !facts.may_grow && facts.free_chunks < facts.total_chunks / 4;
  return facts.drain || low || TakesTooMuch(facts);
}

std::string Plan::ToString() const {
  static constexpr const char* kNames[] = {
      "nothing",      "merge",        "finish-copies", "mark-originals", "index",
      "remake-index", "fill-lookups", "count",         "drop",           "recluster",
      "collect",      "make-room",    "fill-tier",     "rewrite",        "next-phase"};
  static_assert(std::size(kNames) == static_cast<size_t>(Action::kNextPhase) + 1);
  std::string text = kNames[static_cast<size_t>(action)];
  if (action != Action::kMerge && action != Action::kRewrite) return text;
  for (const uint64_t id : inputs) text += " " + std::to_string(id);
  text += " of L" + std::to_string(from) + " into L" + std::to_string(to);
  if (method == MergeMethod::kCopyAndLink) text += " by copies";
  if (method == MergeMethod::kFull) text += " as a whole";
  return is_bottom ? text + ", the bottom" : text;
}

}  // namespace braid::compaction
