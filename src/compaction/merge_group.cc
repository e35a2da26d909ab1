// Purpose: concurrent merges of one plan: tables with disjoint key ranges, into one list. Borders
// (borders.h) are inserted between the ranges, the merges begin, run, and end in the order of their
// ids, and the borders are removed.
// Thread safety, invariants, persistence: see merger.h.
#include <algorithm>
#include <utility>

#include "base/activity.h"
#include "base/check.h"
#include "base/no_throw.h"
#include "compaction/merger.h"
#include "merge/borders.h"

namespace braid::compaction {

/// One merge of a group.
struct Merger::Member {
  std::shared_ptr<level::PmemTable> source;
  level::KeyRange range;         // of the source
  const Member* left = nullptr;  // whose range is the next one to the left; null: there is none
  std::unique_ptr<merge::MergeJob> job = nullptr;
  Status outcome = Status::OK();
};

/// Oldest first. Corruption where their ranges do not lie apart any more.
Result<std::vector<Merger::Member>> Merger::MembersOf(const Plan& plan) {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  BRAID_DCHECK(!versions.record().AnyMerge());  // invariant 1
  const level::Level& level = versions.state().version->levels[plan.from];
  std::vector<Member> members;
  members.reserve(plan.inputs.size());
  for (size_t i = plan.inputs.size(); i-- > 0;) {
    const size_t age = plan.inputs.size() - 1 - i;  // how many are older
    BRAID_CHECK(age < level.size());
    const auto& table = level[level.size() - 1 - age];
    BRAID_CHECK(table->id() == plan.inputs[i]);
    std::shared_ptr<level::PmemTable> source = level::ListOf(table);
    const level::KeyRange range = source->range();
    members.push_back({std::move(source), range});
  }
  std::vector<Member*> by_key;
  by_key.reserve(members.size());
  for (Member& member : members) by_key.push_back(&member);
  std::sort(by_key.begin(), by_key.end(),
            [](const Member* a, const Member* b) { return a->range.first < b->range.first; });
  for (size_t i = 0; i < by_key.size(); ++i) {
    const bool is_behind = i == 0 || by_key[i - 1]->range.last < by_key[i]->range.first;
    if (!by_key[i]->range.is_known || !is_behind) {
      return pool_.CorruptionAt(by_key[i]->source->head_offset(), "table",
                                "its keys have changed since they were read");
    }
    if (i > 0) by_key[i]->left = by_key[i - 1];
  }
  return members;
}

Result<Merger::Merged> Merger::MergeGroup(const Plan& plan) {
  BRAID_DCHECK(plan.method == MergeMethod::kLink && pool_.strands() == 1);
  BRAID_DCHECK(plan.inputs.size() > 1 && plan.inputs.size() <= format::kMaxMerges);
  Result<std::vector<Member>> found = MembersOf(plan);
  if (!found.ok()) return found.status();
  std::vector<Member>& members = *found;
  std::vector<std::string> keys;  // of the borders
  for (const Member& member : members) {
    if (member.left != nullptr) keys.emplace_back(member.left->range.last);
  }
  BRAID_DCHECK(keys.size() + 1 == members.size());  // a border between each two
  std::sort(keys.begin(), keys.end());
  const Result<bool> brought = BringBorders(keys);
  if (!brought.ok()) return brought.status();
  if (!*brought) {
    Plan oldest = plan;
    oldest.inputs = {plan.inputs.back()};
    return MergeOldest(oldest);
  }
  if (Status s = BeginGroup(plan, &members); !s.ok()) return s;
  RunGroup(&members);
  Result<Merged> merged = EndGroup(&members);
  if (!merged.ok()) return merged;
  if (Status s = TakeBordersOut(keys); !s.ok()) return s;
  return merged;
}

/// False when there is no room for them.
Result<bool> Merger::BringBorders(const std::vector<std::string>& keys) {
  CopySlot slot;
  if (!TakeSlot(&slot)) return false;
  const Result<bool> committed = CommitCopies(
      slot, base::CatchToStatus([&]() -> Result<format::TableRecord> {
        return merge::WriteBorders(&pool_, store_.usage, keys, slot.table_id, slot.head);
      }));
  if (!committed.ok() || !*committed) return committed;
  const Result<bool> merged = FinishCopies({.are_borders = true});
  if (!merged.ok() || *merged) return merged;
  return Status::Aborted("the merge resumes when the pool is reopened");
}

/// Where they can't go now, they stay until a merge meets them.
Status Merger::TakeBordersOut(const std::vector<std::string>& keys) {
  const std::shared_ptr<level::PmemTable> target = store_.versions->Lock().bottom();
  std::vector<uint64_t> newest;  // entries of the borders' keys
  for (const std::string& key : keys) {
    index::Damage damage;
    const format::EntryHeader* entry = target->list().FindGE(key, &damage);
    if (damage) return index::DamageStatus(pool_, damage.at);
    if (entry != nullptr && entry->key() == key) newest.push_back(pool_.OffsetOf(entry));
  }
  CopySlot slot;
  if (newest.empty() || !TakeSlot(&slot)) return Status::OK();
  if (Status s = CommitNoCopies(slot); !s.ok()) return s;
  return FinishCopies({.revisited = &newest, .are_borders = true}).status();
}

Status Merger::BeginGroup(const Plan& plan, std::vector<Member>* members) {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  const std::shared_ptr<level::PmemTable> target =
      level::ListOf(versions.state().version->levels[plan.to].front());
  for (Member& member : *members) {
    uint64_t left_border = 0;
    if (member.left != nullptr) {
      index::Damage damage;
      const auto* border = merge::FindBorder(target->list(), member.left->range.last, &damage);
      if (damage) return index::DamageStatus(pool_, damage.at);
      if (border == nullptr) {
        return pool_.CorruptionAt(target->head_offset(), "list", "it has lost a border");
      }
      left_border = pool_.OffsetOf(border);
    }
    open_.erase(member.source->id());
    // What it has no version of may be in a member that is older, and lookups ask newer ones first.
    merge::BoundSource(pool_, {}, member.source.get());
    member.job = NewJob(versions, member.source, target);
    if (!plan.is_bottom) member.job->KeepDeletes();
    member.job->StayWithinBorders(left_border);
    Status s = member.job->Begin({});
    if (s.IsOutOfSpace() && &member != members->data()) {
      // No room for its records: it comes later.
      members->erase(members->begin() + (&member - members->data()), members->end());
      break;
    }
    if (!s.ok()) return s;
  }
  BRAID_DCHECK(!members->empty() && versions.record().open_merges() <= members->size());
  return Status::OK();
}

/// Each to its end, an error included. The index over the list is not made smaller meanwhile.
void Merger::RunGroup(std::vector<Member>* members) {
  store_.indexes->ForgetCount();
  std::vector<Crew::Task> tasks;
  for (Member& member : *members) {
    BRAID_DCHECK(member.job != nullptr && member.outcome.ok());
    tasks.push_back([this, &member, started = false]() mutable {
      const base::ActivityScope activity(base::Activity::kMerge);
      bool more = true;
      member.outcome = base::CatchToStatus([&] {
        if (!std::exchange(started, true)) return Start(member.job.get(), {});
        const Result<bool> step = member.job->Step();
        more = step.ok() && *step;
        return step.status();
      });
      return more && member.outcome.ok();
    });
  }
  crew_->Run(tasks);
  for (const Member& member : *members) {
    Conclude(*member.job, member.source->id(), member.outcome.ok(), true);
  }
}

/// Those up to the first that has not come to its end.
Result<Merger::Merged> Merger::EndGroup(std::vector<Member>* members) {
  Merged merged;
  merged.tables = 0;
  for (Member& member : *members) {
    if (!member.outcome.ok()) return member.outcome;
    if (Status s = EndMerge(member.job.get(), member.source); !s.ok()) return s;
    ++merged.tables;
    merged.entries += member.job->merged_entries();
    store_.accounts->Died(member.job->obsolete());
  }
  BRAID_DCHECK(merged.tables == members->size());
  store_.accounts->RetireEmptyChunks();
  return merged;
}

}  // namespace braid::compaction
