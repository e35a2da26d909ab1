// Purpose: walking lists one behind the other.
// Thread safety, invariants, persistence: see list_source.h.
#include "merge/list_source.h"

#include "base/check.h"
#include "base/prefetch.h"

namespace braid::merge {

namespace {
/// Entries whose keys are on their way while one is looked at.
constexpr size_t kAhead = 8;
}  // namespace

Status ListSource::Seek(std::string_view key) {
  size_t list = 0;
  // One whose range is not known is empty, or read from its beginning.
  while (list < lists_.size() && lists_[list]->range().is_known &&
         lists_[list]->range().last < key) {
    ++list;
  }
  entry_ = nullptr;
  return Open(list, key);
}

/// The first entry of this list, or of the next one that has an entry.
Status ListSource::Open(size_t list, std::string_view key) {
  for (list_ = list; list_ < lists_.size(); ++list_) {
    const index::SkipList source = lists_[list_]->list();
    damage_ = {};
    const format::EntryHeader* start =
        key.empty() ? source.First(&damage_) : source.FindGE(key, &damage_);
    if (damage_) return index::DamageStatus(*pool_, damage_.at);
    if (start == nullptr) continue;
    walk_.emplace(source, start);
    round_ = nullptr;
    return Read();
  }
  entry_ = nullptr;
  return Status::OK();
}

Status ListSource::Next() {
  BRAID_DCHECK(entry_ != nullptr);
  ++at_;
  return Read();
}

Status ListSource::Read() {
  if (round_ == nullptr || at_ == round_->size()) {
    if (damage_) return index::DamageStatus(*pool_, damage_.at);
    round_ = &walk_->Round(&damage_);
    at_ = 0;
    if (round_->empty()) {
      if (damage_) return index::DamageStatus(*pool_, damage_.at);
      return Open(list_ + 1, {});
    }
  }
  if (at_ + kAhead < round_->size()) {
    base::PrefetchRange((*round_)[at_ + kAhead], index::ListWalk::kTouched);
  }
  const format::EntryHeader* next = (*round_)[at_];
  if (entry_ != nullptr && !index::InOrder(*entry_, *next)) {
    return index::DamageStatus(*pool_, pool_->OffsetOf(next));  // perhaps a circle
  }
  entry_ = next;
  return Status::OK();
}

}  // namespace braid::merge
