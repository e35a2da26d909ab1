// Purpose: items of a walk over the tier.
// Thread safety, invariant, persistence: see tier_cursor.h.
#include "tier/tier_cursor.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace braid::tier {

namespace {
/// Bytes of items after which a run ends: large values are not read ahead by the dozen.
constexpr size_t kRunBytes = 256 << 10;
/// Of items of one block; the first one is of a short scan.
constexpr size_t kFirstBlock = 4 << 10;
constexpr size_t kBlock = 64 << 10;
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
    const std::string_view key = walk_->key();
    const std::string_view value = record.substr(sizeof head);
    char* const bytes = Room(key.size() + value.size());
    std::copy(key.begin(), key.end(), bytes);
    std::copy(value.begin(), value.end(), bytes + key.size());
    items_.emplace_back();
    Item& item = items_.back();
    item.header.sequence_and_op = head.sequence_and_op;
    item.header.value_bytes = static_cast<uint32_t>(value.size());
    item.header.key_and_height =
        format::EntryHeader::PackKeyAndHeight(static_cast<uint32_t>(key.size()), 1);
    item.view = {&item.header, {bytes, key.size()}, {bytes + key.size(), value.size()}};
    ++blocks_.back().items;
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

/// Place for the bytes of one more item.
char* TierCursor::Room(size_t bytes) {
  if (blocks_.empty() || blocks_.back().size - blocks_.back().used < bytes) {
    const size_t size = std::max(blocks_.empty() ? kFirstBlock : kBlock, bytes);
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(size), size, 0, 0});
  }
  Block& block = blocks_.back();
  block.used += bytes;
  BRAID_DCHECK(block.used <= block.size);
  return block.bytes.get() + block.used - bytes;
}

void TierCursor::Forget(size_t keep) {
  while (items_.size() > keep) {
    items_.pop_front();
    // A block that was begun for an item which then found no memory has none.
    while (blocks_.front().items == 0) blocks_.pop_front();
    if (--blocks_.front().items == 0) blocks_.pop_front();
  }
}

}  // namespace braid::tier
