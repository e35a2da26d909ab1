// Purpose: loading sorted records.
// Thread safety, invariants, persistence: see sorted_load.h.
#include "flush/sorted_load.h"

#include "base/check.h"

namespace braid::flush {

using format::EntryHeader;

Status SortedLoad::Add(std::string_view key, std::string_view value) {
  log::PendingEntry pending;
  pending.op = format::EntryOp::kPut;
  pending.key = key;
  pending.value = value;
  pending.key_hash = base::Hash64(key);
  const uint64_t inline_bytes =
      value.size() > log::LargestInlineValue(*pool_) ? sizeof(format::ExtentRef) : value.size();
  if (log_.room(shard_) < EntryHeader::EntryBytes(key.size(), inline_bytes, format::kMaxHeight)) {
    shard_ = (shard_ + 1) % pool_->regions();
  }
  // Before anything is taken: what can't be remembered can't be given back.
  if (extents_.size() == extents_.capacity()) {
    extents_.reserve(2 * extents_.size() + 8);
    charge_.Set(extents_.capacity() * sizeof(uint64_t));
  }
  if (Status s = log_.Reserve(shard_, &pending, 1, base::Mix(random_, records_),
                              pool::AllocationClass::kWrite);
      !s.ok()) {
    return s;
  }
  BRAID_DCHECK(extents_.size() < extents_.capacity());
  if (pending.extent != 0) extents_.push_back(pending.extent);
  BRAID_DCHECK(pool_->StateOf(pool_->ChunkOf(pending.offset)).kind() == format::ChunkKind::kCopied);
  log_.Commit(shard_);
  log_.WriteExtent(&pending);
  log::IndexUnifiedLog::HeaderImage header;
  const size_t header_bytes = log_.MakeHeader(pending, sequence_, format::kFirstOfUnit, 0, &header);
  const std::string_view stored = pending.stored_value();
  const uint64_t size = EntryHeader::EntryBytes(key.size(), stored.size(), pending.height);
  constexpr char kPadding[8] = {};
  BRAID_DCHECK(stored.size() == inline_bytes);  // as was asked for above
  BRAID_DCHECK(size % 8 == 0 && header_bytes + key.size() + stored.size() <= size);
  staged_.Begin(pending.offset);
  list_.Append(pending.offset, pending.height);
  staged_.Append(&header, header_bytes);
  staged_.Append(key.data(), key.size());
  staged_.Append(stored.data(), stored.size());
  staged_.Append(kPadding, size - header_bytes - key.size() - stored.size());
  usage_->Add(pool_->ChunkOf(pending.offset), size);
  ++records_;
  bytes_ += key.size() + value.size();
  return Status::OK();
}

void SortedLoad::GiveBack() {
  for (const uint64_t extent : extents_) pool_->FreeExtent(extent);
  for (const uint64_t chunk : log_.chunks()) {
    BRAID_DCHECK(pool_->StateOf(chunk).kind() == format::ChunkKind::kCopied);
    usage_->Set(chunk, 0);
    pool_->FreeChunk(chunk);
  }
}

}  // namespace braid::flush
