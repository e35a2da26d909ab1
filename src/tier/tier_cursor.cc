// Purpose: items of a walk over the tier.
// Thread safety, invariant, persistence: see tier_cursor.h.
#include "tier/tier_cursor.h"

#include <utility>

#include "base/check.h"

namespace braid::tier {

namespace {
/// Bytes of items after which a run ends: large values are not read ahead by the dozen.
constexpr size_t kRunBytes = 256 << 10;
}  // namespace

TierCursor::TierCursor(std::unique_ptr<Walk> walk, const index::ReadView& view)
    : walk_(std::move(walk)), newest_(view.sequence) {
  BRAID_CHECK(walk_ != nullptr);
}

/// What the walk stands on becomes an item; what the view does not see is passed.
void TierCursor::Take(bool forward) {
  valid_ = false;
  for (; walk_->Valid(); forward ? walk_->Next() : walk_->Prev()) {
    const std::string_view record = walk_->record();
    RecordHead head;
    if (!ReadRecordHead(record, &head)) {
      status_ = Status::Corruption("the tier's record of a key has a wrong kind or size");
      return;
    }
    if (head.sequence() > newest_) continue;
    items_.emplace_back();
    Item& item = items_.back();
    item.key.assign(walk_->key());
    item.value.assign(record.substr(sizeof head));
    item.header.sequence_and_op = head.sequence_and_op;
    item.header.value_bytes = static_cast<uint32_t>(item.value.size());
    item.header.key_and_height =
        format::EntryHeader::PackKeyAndHeight(static_cast<uint32_t>(item.key.size()), 1);
    item.view = {&item.header, item.key, item.value};
    valid_ = true;
    return;
  }
  status_ = walk_->status();
}

size_t TierCursor::Run(bool forward, index::CursorItem* out, size_t cap) {
  BRAID_DCHECK(valid_);
  size_t bytes = 0;
  for (size_t n = 0; n < cap; ++n) {
    if (bytes > kRunBytes) return n;
    forward ? Next() : Prev();
    if (!valid_) return n;
    out[n] = item();
    bytes += out[n].key.size() + out[n].value.size();
  }
  return cap;
}

void TierCursor::Forget(size_t keep) {
  while (items_.size() > keep) items_.pop_front();
}

}  // namespace braid::tier
