// Purpose: the parts of a pass that drops what views have kept.
// Thread safety, persistence: see kept_dropper.h.
#include "compaction/kept_dropper.h"

#include "base/activity.h"
#include "base/check.h"
#include "base/memory_users.h"
#include "base/no_throw.h"

namespace braid::compaction {

namespace {
/// Entries looked at between two looks for a merge that waits.
constexpr uint64_t kDropSlice = 64 * 1024;
/// A pass costs a walk over all of L1. It is worth it at once where so many entries may go, and one
/// of so many; while nobody writes, one of more will do.
constexpr uint64_t kWorthAPass = 256;
constexpr uint64_t kOneOf = 8;
constexpr uint64_t kOneOfAtRest = 64;
}  // namespace

bool KeptDropper::WantsPass(const Occasion& occasion) {
  if (*store_.options->compaction.kind == MergeKind::kNone) return false;
  merge::KeptVersions& kept = *store_.merger->kept();
  if (!kept.is_known()) {
    // What earlier sessions have left is met when the index is built; without one, by a pass.
    if (const auto met = store_.indexes->kept(); met) kept.Found(*met);
    if (!kept.is_known()) {
      return occasion.in_round || (!store_.indexes->HasIndexOverL1() && occasion.at_rest);
    }
  }
  if (kept.all() == 0) return false;
  const uint64_t for_none = kept.ForNone(store_.views->Collect());
  BRAID_DCHECK(for_none <= kept.all());
  if (for_none == 0) return false;
  if (occasion.in_round) return true;
  const uint64_t entries = store_.versions->Lock().bottom()->entries();
  if (for_none >= kWorthAPass && for_none >= entries / kOneOf) return true;
  return for_none >= entries / kOneOfAtRest && occasion.at_rest;
}

Result<bool> KeptDropper::Step(const Occasion& occasion) {
  const std::shared_ptr<level::PmemTable> l1 = store_.versions->Lock().bottom();
  if (!pass_.under_way()) {
    if (!occasion.may_begin || !WantsPass(occasion)) return false;
    pass_.Begin(l1->list());
    store_.merger->kept()->StartAnew();
  }
  return Part(l1->list());
}

/// False when it can't be done now, and nothing is begun.
Result<bool> KeptDropper::Part(const index::SkipList& list) {
  const base::ActivityScope activity(base::Activity::kCollect);
  BRAID_DCHECK(pass_.under_way() && store_.merger->kept()->is_known());
  Merger& merger = *store_.merger;
  const index::LiveViews views = store_.views->Collect();
  Result<merge::KeptPart> part = base::CatchToStatus([&] {
    std::function<bool(std::string_view)> hides_below;
    if (store_.tier != nullptr) {
      hides_below = [this](std::string_view key) { return store_.tier->MayHold(key); };
    }
    return merge::SurveyKept(list, store_.indexes->walk_tree(), pass_.from(), kDropSlice, views,
                             hides_below);
  });
  // Nothing is begun: without memory it can wait.
  if (part.status().IsOutOfMemory()) return false;
  if (!part.ok()) return part.status();
  if (!part->droppable.empty()) {
    base::MemoryCharge charge(&store_.pool->memory_users());
    charge.Set(part->droppable.capacity() * sizeof part->droppable[0]);
    Merger::CopySlot slot;
    if (!merger.TakeSlot(&slot)) return false;
    if (Status s = merger.CommitNoCopies(slot); !s.ok()) return s;
    const Result<bool> merged = merger.FinishCopies({.revisited = &part->droppable});
    if (!merged.ok()) return merged;
    // The merge that was begun is open, no other step comes before it has ended: then once more,
    // from where this part began. Also where not all could be dropped.
    if (!*merged || merger.left_by_revisit() != 0) return true;
  }
  merger.kept()->Add(views, part->kept);
  pass_.Advance(part->is_last, std::move(part->next_key));
  return true;
}

}  // namespace braid::compaction
