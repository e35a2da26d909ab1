// Purpose: counting and finding what only views keep.
// Thread safety, invariants, persistence: see kept_versions.h.
#include "merge/kept_versions.h"

#include <algorithm>

#include "base/check.h"
#include "merge/walk_ahead.h"

namespace braid::merge {

using format::EntryHeader;
using format::EntryOp;

void KeptVersions::Add(const index::LiveViews& views, const KeptCount& count) {
  BRAID_DCHECK(count.for_view.size() <= views.size());
  Settle(views);
  for (size_t i = 0; i < count.for_view.size(); ++i) {
    if (count.for_view[i] != 0) for_view_[views[i]] += count.for_view[i];
  }
  for_none_ += count.for_none;
  // What goes is what no view sees, so it was among these, or in nothing that is known.
  for_none_ -= std::min(for_none_, count.dropped);
}

uint64_t KeptVersions::ForNone(const index::LiveViews& live) {
  Settle(live);
  return for_none_;
}

uint64_t KeptVersions::all() const noexcept {
  uint64_t all = for_none_;
  for (const auto& [view, count] : for_view_) all += count;
  return all;
}

void KeptVersions::Settle(const index::LiveViews& live) {
  BRAID_DCHECK(std::is_sorted(live.begin(), live.end()));
  for (auto it = for_view_.begin(); it != for_view_.end();) {
    if (std::binary_search(live.begin(), live.end(), it->first)) {
      ++it;
      continue;
    }
    BRAID_DCHECK(it->second != 0);
    for_none_ += it->second;
    it = for_view_.erase(it);
  }
}

namespace {

/// The versions of one key, as the walk comes to them.
class KeyOfL1 {
 public:
  KeyOfL1(const pool::PmemPool* pool, const index::LiveViews* views,
          const std::function<bool(std::string_view)>* hides_below, KeptPart* part)
      : pool_(pool), views_(views), hides_below_(hides_below), part_(part) {}

  void Take(const EntryHeader* entry, bool is_newest) {
    if (is_newest) {
      Finish();
      newest_ = entry;
      droppable_ = false;
      kept_.clear();
    } else if (!index::IsVersionNeeded(*views_, entry->sequence(), newer_)) {
      droppable_ = true;
      newer_ = entry->sequence();
      return;
    } else {
      kept_.emplace_back(entry->sequence(), newer_);
    }
    newer_ = entry->sequence();
    oldest_kept_ = entry;
  }
  /// The key is at its end.
  void Finish() {
    if (newest_ == nullptr) return;
    BRAID_DCHECK(kept_.empty() == (oldest_kept_ == newest_));
    // A delete that is the oldest of what stays hides nothing but what the tier may have.
    const bool is_delete = oldest_kept_->op() == EntryOp::kDelete;
    const bool hides = is_delete && *hides_below_ && (*hides_below_)(oldest_kept_->key());
    if (droppable_ || (is_delete && !hides)) {
      part_->droppable.push_back(pool_->OffsetOf(newest_));
    } else if (!kept_.empty()) {
      // A delete that is the newest stays as long as what it hides.
      if (newest_->op() == EntryOp::kDelete) kept_.push_back(kept_.front());
      for (const auto& [sequence, newer] : kept_) part_->kept.Add(*views_, sequence, newer);
    }
    newest_ = nullptr;
  }

 private:
  const pool::PmemPool* pool_;
  const index::LiveViews* views_;
  const std::function<bool(std::string_view)>* hides_below_;
  KeptPart* part_;
  const EntryHeader* newest_ = nullptr;
  const EntryHeader* oldest_kept_ = nullptr;
  uint64_t newer_ = index::kLatest;
  bool droppable_ = false;
  std::vector<std::pair<uint64_t, uint64_t>>
      kept_;  // numbers of what views see, and of what hides it
};

}  // namespace

Result<KeptPart> SurveyKept(const index::SkipList& list, const index::EntryIndex* tree,
                            const std::string& from, uint64_t max_entries,
                            const index::LiveViews& views,
                            const std::function<bool(std::string_view key)>& hides_below) {
  BRAID_DCHECK(max_entries != 0);  // else the walk would not get on
  const pool::PmemPool& pool = list.pool();
  KeptPart part;
  index::Damage damage;
  WalkAhead ahead(&pool, tree, from);
  KeyOfL1 key(&pool, &views, &hides_below, &part);
  uint64_t walked = 0;
  const EntryHeader* previous = nullptr;
  const EntryHeader* entry = from.empty() ? list.First(&damage) : list.FindGE(from, &damage);
  for (; entry != nullptr; entry = list.Next(entry, &damage)) {
    if (previous != nullptr && !index::InOrder(*previous, *entry)) {
      damage.at = pool.OffsetOf(entry);  // perhaps a circle
      break;
    }
    const bool is_newest = previous == nullptr || previous->key() != entry->key();
    if (is_newest && walked >= max_entries) break;
    ahead.Passed(pool.OffsetOf(entry));
    key.Take(entry, is_newest);
    previous = entry;
    ++walked;
  }
  if (damage) return index::DamageStatus(pool, damage.at);
  key.Finish();
  part.is_last = entry == nullptr;
  BRAID_DCHECK(part.is_last || walked >= max_entries);
  if (entry != nullptr) part.next_key.assign(entry->key());
  return part;
}

}  // namespace braid::merge
