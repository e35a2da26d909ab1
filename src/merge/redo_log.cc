// Purpose: committing, finding and applying redo batches.
// Thread safety, invariants, persistence: see redo_log.h.
#include "merge/redo_log.h"

#include <cstring>

#include "base/check.h"
#include "base/prefetch.h"

namespace braid::merge {

using format::RedoHeader;
using format::RedoUpdate;

namespace {

uint64_t RedoCheck(const RedoHeader& header, const RedoUpdate* updates, uint64_t place) {
  const uint64_t body = base::Hash64(updates, header.count * sizeof(RedoUpdate));
  return base::Mix(format::StructCheck(header, place), body);
}

}  // namespace

uint64_t RedoLog::ChunkFor(uint64_t batch) const noexcept { return merge_.redo_chunks[batch & 1]; }

Status RedoLog::Commit(const std::vector<RedoUpdate>& updates, const BatchProgress& progress) {
  if (updates.size() > capacity()) {
    return pool_->CorruptionAt(progress.boundary, "merge", "its layers contradict each other");
  }
  if (Status s = CheckUpdates(*pool_, updates); !s.ok()) return s;
  lines_.reserve(updates.size());  // nothing may fail once the record is durable
  media::PersistOps& ops = pool_->ops();
  const uint64_t chunk = ChunkFor(progress.batch);
  BRAID_DCHECK(merge_.id != 0 && progress.batch > 0);
  BRAID_DCHECK(pool_->StateOf(chunk).kind() == format::ChunkKind::kRedo);
  const uint64_t place = pool_->ChunkOffset(chunk);
  RedoHeader header{};
  header.magic = format::kRedoMagic;
  header.merge_id = merge_.id;
  header.batch = progress.batch;
  header.count = static_cast<uint32_t>(updates.size());
  header.generation = pool_->StateOf(chunk).generation();
  header.boundary = progress.boundary;
  header.entries_delta = progress.entries_delta;
  header.merged_entries = progress.merged_entries;
  header.check = RedoCheck(header, updates.data(), place);
  const size_t bytes = updates.size() * sizeof(RedoUpdate);
  ops.Copy(pool_->At(place + sizeof header), updates.data(), bytes);
  ops.Copy(pool_->At(place), &header, sizeof header);
  ops.Flush(pool_->At(place), sizeof header + bytes, media::Site::kRedoRecord);
  ops.Fence(media::Site::kRedoFence);
  Make(updates);
  return Status::OK();
}

/// A record can be believed as far as it stays among links and entries: nothing else may change, or
/// checks that were made at open would no longer hold.
Status CheckUpdates(const pool::PmemPool& pool, const std::vector<RedoUpdate>& updates) {
  for (const RedoUpdate& update : updates) {
    const uint64_t target = update.target & format::kOffsetMask;
    const bool marks = (update.target & format::kRedoMarkObsolete) != 0;
    const bool in_head = !marks && pool.IsHead(target);
    const uint64_t needed = marks ? sizeof(format::EntryHeader) : sizeof(uint64_t);
    if (target % 8 != 0 || (!in_head && !pool.IsEntryRoom(target, needed))) {
      return pool.CorruptionAt(target, "redo update", "its target is no link and no entry");
    }
    if (!marks && !format::EntryPtr{update.value}.IsValid()) {
      return pool.CorruptionAt(target, "redo update", "its value is no link");
    }
  }
  return Status::OK();
}

uint64_t StoreUpdate(pool::PmemPool* pool, const RedoUpdate& update) {
  media::PersistOps& ops = pool->ops();
  const uint64_t target = update.target & format::kOffsetMask;
  BRAID_DCHECK(target % sizeof(uint64_t) == 0);  // CheckUpdates has looked at it
  if ((update.target & format::kRedoMarkObsolete) != 0) {
    auto* entry = pool->As<format::EntryHeader>(target);
    ops.StoreByte(entry->state_byte(), format::kStateObsolete);
    return pool->OffsetOf(entry->state_byte());
  }
  ops.StoreU64(pool->As<uint64_t>(target), update.value);
  return target;
}

void MakeUpdate(pool::PmemPool* pool, const RedoUpdate& update) {
  pool->ops().Flush(pool->At(StoreUpdate(pool, update)), 1, media::Site::kMergeLines);
}

Status RedoLog::Apply(const std::vector<RedoUpdate>& updates) {
  if (Status s = CheckUpdates(*pool_, updates); !s.ok()) return s;
  lines_.reserve(updates.size());
  Make(updates);
  return Status::OK();
}

/// The line will be written back once all updates are stored. Neighbours in a list often lie in one
/// line, or share a predecessor: what was noted a moment ago is not noted again.
void RedoLog::NoteLine(uint64_t offset) noexcept {
  const uint64_t line = offset / media::kLineBytes;
  uint64_t& noted = noted_[line % noted_.size()];
  if (noted == line) return;
  noted = line;
  BRAID_DCHECK(lines_.size() < lines_.capacity());  // the record is durable: nothing may fail
  lines_.push_back(line * media::kLineBytes);
}

void RedoLog::Make(const std::vector<RedoUpdate>& updates) {
  constexpr size_t kAhead = 16;
  lines_.clear();
  noted_.fill(0);
  for (size_t i = 0; i < updates.size(); ++i) {
    if (i + kAhead < updates.size()) {
      base::Prefetch(pool_->At(updates[i + kAhead].target & format::kOffsetMask));
    }
    NoteLine(StoreUpdate(pool_, updates[i]));
  }
  media::PersistOps& ops = pool_->ops();
  for (const uint64_t line : lines_) ops.Flush(pool_->At(line), 1, media::Site::kMergeLines);
  ops.Fence(media::Site::kMergeFence);
}

Result<BatchProgress> RedoLog::Newest(std::vector<RedoUpdate>* updates) const {
  BatchProgress progress;
  updates->clear();
  for (uint32_t which = 0; which < 2; ++which) {
    const uint64_t place = pool_->ChunkOffset(merge_.redo_chunks[which]);
    RedoHeader header;
    std::memcpy(&header, pool_->At(place), sizeof header);
    if (header.magic != format::kRedoMagic || header.batch <= progress.batch ||
        header.count > capacity() || header.merge_id != merge_.id) {
      continue;
    }
    const auto* body = pool_->As<RedoUpdate>(place + sizeof header);
    if (header.check != RedoCheck(header, body, place)) continue;
    const uint64_t most = pool_->pool_bytes();
    if (header.batch >= format::kMaxId || header.merged_entries > most ||
        header.entries_delta > static_cast<int64_t>(most) ||
        header.entries_delta < -static_cast<int64_t>(most)) {
      return pool_->CorruptionAt(place, "redo record", "its counts are impossible");
    }
    progress = {header.batch, header.boundary, header.entries_delta, header.merged_entries};
    updates->assign(body, body + header.count);
  }
  return progress;
}

}  // namespace braid::merge
