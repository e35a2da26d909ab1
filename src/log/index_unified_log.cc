// Purpose: reserving, writing and publishing log entries.
// Thread safety, invariants, persistence: see index_unified_log.h.
#include "log/index_unified_log.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/no_throw.h"
#include "index/version_links.h"

namespace braid::log {

using format::EntryHeader;
using format::kMaxHeight;
using media::kLineBytes;

namespace {

/// Geometric with ratio 1/4, from two bits a layer (ListDB and LevelDB use the same ratio).
uint32_t RandomHeight(uint64_t random) noexcept {
  const auto zeros = static_cast<uint32_t>(std::countr_zero(random | (1ull << 62)));
  const uint32_t height = 1 + zeros / 2;
  return height < kMaxHeight ? height : kMaxHeight;
}

uint64_t NextRandom(uint64_t* state) noexcept {
  // splitmix64: each call independent of the last one's low bits
  uint64_t z = (*state += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

void MakeRoomFor(size_t count, std::vector<uint64_t>* list) {
  if (count > list->capacity()) list->reserve(std::max(count, 2 * list->capacity()));
}

/// End of the lines that hold the header and the links; Publish flushes them, WritePayload the
/// rest.
uint64_t HeaderLinesEnd(uint64_t offset, uint32_t height) noexcept {
  return (offset + sizeof(EntryHeader) + 8ull * height + kLineBytes - 1) & ~(kLineBytes - 1);
}

}  // namespace

void WriteToExtent(pool::PmemPool* pool, uint64_t extent, std::string_view value) {
  BRAID_DCHECK(extent != 0 && extent % pool->chunk_bytes() == 0);
  media::PersistOps& ops = pool->ops();
  char* bytes = pool->At(extent + sizeof(format::ExtentHeader));
  ops.Copy(bytes, value.data(), value.size());
  ops.Flush(bytes, value.size(), media::Site::kExtentValue);
}

IndexUnifiedLog::IndexUnifiedLog(pool::PmemPool* pool, uint64_t table_id, uint32_t shards,
                                 format::ChunkKind kind)
    : pool_(pool), table_id_(table_id), kind_(kind), shards_(shards) {
  BRAID_CHECK(format::HoldsEntries(kind));
  BRAID_DCHECK(table_id < format::kMaxId);
}

IndexUnifiedLog::IndexUnifiedLog(pool::PmemPool* pool, uint64_t table_id, uint32_t shards,
                                 ByFirstEntry rule)
    : pool_(pool),
      table_id_(table_id),
      largest_copied_(rule.largest_copied),
      kind_(kUndecided),
      shards_(shards) {
  BRAID_DCHECK(table_id < format::kMaxId);
}

/// Writers of several shards may come to it side by side: what the first one finds holds for all.
format::ChunkKind IndexUnifiedLog::DecideKind(uint64_t entry_bytes) noexcept {
  format::ChunkKind kind = kUndecided;
  const format::ChunkKind wanted =
      entry_bytes <= largest_copied_ ? format::ChunkKind::kWriteAhead : format::ChunkKind::kLog;
  // Relaxed: the word alone counts.
  if (kind_.compare_exchange_strong(kind, wanted, std::memory_order_relaxed)) kind = wanted;
  BRAID_DCHECK(format::HoldsEntries(kind));
  return kind;
}

uint64_t IndexUnifiedLog::EntrySize(PendingEntry* pending) const {
  BRAID_DCHECK(pending->height >= 1 && pending->height <= kMaxHeight);
  const bool large = pending->value.size() > LargestInlineValue(*pool_);
  const uint64_t value_bytes = large ? sizeof(format::ExtentRef) : pending->value.size();
  uint64_t size = EntryHeader::EntryBytes(pending->key.size(), value_bytes, pending->height);
  // A key that nearly fills a small chunk leaves no room for a tall tower.
  while (size > pool_->chunk_bytes() - sizeof(format::LogChunkHeader) && pending->height > 1) {
    --pending->height;
    size -= 8;
  }
  return size;
}

Status IndexUnifiedLog::AdvanceChunk(uint32_t shard_index, uint64_t entry_bytes, bool within_unit,
                                     pool::AllocationClass allocation) {
  Shard& shard = shards_[shard_index];
  Position& at = shard.placed;
  BRAID_DCHECK(at.chunk == 0 || at.tail <= pool_->ChunkOffset(at.chunk) + pool_->chunk_bytes());
  BRAID_DCHECK(at.next_ordinal == shard.chunks.size() + shard.new_chunks.size());
  // Room in both lists first: a chunk that is allocated, or an entry that is durable, must not be
  // lost to a list that can't grow.
  MakeRoomFor(shard.new_chunks.size() + 1, &shard.new_chunks);
  MakeRoomFor(shard.chunks.size() + shard.new_chunks.size() + 1, &shard.chunks);
  format::LogChunkHeader header{};
  header.table_id = table_id_;
  header.shard = shard_index;
  header.ordinal = at.next_ordinal;
  header.previous_used = at.chunk == 0 ? 0 : at.tail - pool_->ChunkOffset(at.chunk);
  // What the reader takes for possible (invariant 1).
  BRAID_DCHECK(at.chunk == 0 || header.previous_used > sizeof(format::LogChunkHeader));
  header.within_unit = within_unit ? 1 : 0;
  const format::ChunkKind kind = DecideKind(entry_bytes);
  Result<uint64_t> chunk = pool_->AllocateLogChunk(header, kind, allocation);
  if (!chunk.ok()) return chunk.status();
  BRAID_DCHECK(pool_->StateOf(*chunk).kind() == kind);
  at.chunk = *chunk;
  at.tail = pool_->ChunkOffset(*chunk) + sizeof(format::LogChunkHeader);
  ++at.next_ordinal;
  BRAID_DCHECK(shard.new_chunks.size() < shard.new_chunks.capacity());
  shard.new_chunks.push_back(*chunk);
  return Status::OK();
}

Status IndexUnifiedLog::PlaceExtent(PendingEntry* pending, pool::AllocationClass allocation) {
  has_extents_.store(true, std::memory_order_relaxed);
  if (pending->reserved != 0) {
    BRAID_DCHECK(pending->extent_ref.offset == pending->reserved);
    pool_->BindExtent(pending->reserved, pending->value.size(), pending->offset);
    pending->extent = pending->reserved;
    return Status::OK();
  }
  Result<uint64_t> extent =
      pool_->AllocateExtent(pending->value.size(), pending->offset, allocation);
  if (!extent.ok()) return extent.status();
  pending->extent = *extent;
  pending->extent_ref = {*extent, pending->value.size(), base::Hash64(pending->value)};
  return Status::OK();
}

Status IndexUnifiedLog::Reserve(uint32_t shard_index, PendingEntry* entries, size_t count,
                                uint64_t random, pool::AllocationClass allocation) {
  BRAID_DCHECK(shard_index < shards_.size() && count > 0);
  Shard& shard = shards_[shard_index];
  // Nobody would give them back. After a failure of the medium what was taken stays as it is.
  BRAID_DCHECK(shard.new_chunks.empty() || pool_->failed());
  shard.placed = shard.accepted;
  shard.new_chunks.clear();
  const uint64_t room = pool_->chunk_bytes() - sizeof(format::LogChunkHeader);
  for (size_t i = 0; i < count; ++i) {
    PendingEntry& pending = entries[i];
    pending.extent = 0;
    // Towers lead past versions of a key that a read does not see, in any kind of log.
    pending.height = RandomHeight(NextRandom(&random));
    if (pending.wanted_height != 0) pending.height = pending.wanted_height;
    const uint64_t size = EntrySize(&pending);
    Status s = base::CatchToStatus([&] {
      if (size > room) {
        return Status::InvalidArgument("a key of " + std::to_string(pending.key.size()) +
                                       " bytes does not fit a chunk of " +
                                       std::to_string(pool_->chunk_bytes()) +
                                       " bytes; make the pool with a larger pool.chunk_bytes");
      }
      const Position& at = shard.placed;
      const bool fits =
          at.chunk != 0 && at.tail + size <= pool_->ChunkOffset(at.chunk) + pool_->chunk_bytes();
      if (!fits) {
        if (Status next = AdvanceChunk(shard_index, size, i > 0, allocation); !next.ok())
          return next;
      }
      pending.offset = at.tail;
      if (pending.value.size() <= LargestInlineValue(*pool_)) return Status::OK();
      return PlaceExtent(&pending, allocation);
    });
    if (!s.ok()) {
      Rollback(shard_index, entries, i);
      return s;
    }
    BRAID_DCHECK(pending.offset % 8 == 0);
    BRAID_DCHECK(pool_->ChunkOf(pending.offset) == pool_->ChunkOf(pending.offset + size - 1));
    // One rule decides on the size and on the extent.
    BRAID_DCHECK((pending.extent != 0) == (pending.value.size() > LargestInlineValue(*pool_)));
    shard.placed.tail += size;
  }
  return Status::OK();
}

void IndexUnifiedLog::WriteExtent(PendingEntry* pending) {
  BRAID_DCHECK(pending->extent == 0 || pending->extent == pending->extent_ref.offset);
  if (pending->extent != pending->reserved) WriteToExtent(pool_, pending->extent, pending->value);
  pending->value_check = format::ValueCheck(pending->stored_value());
}

void IndexUnifiedLog::WritePayload(PendingEntry* pending) {
  BRAID_DCHECK(pending->offset != 0);
  WriteExtent(pending);
  media::PersistOps& ops = pool_->ops();
  const std::string_view value = pending->stored_value();
  const uint64_t key_at = pending->offset + sizeof(EntryHeader) + 8ull * pending->height;
  ops.Copy(pool_->At(key_at), pending->key.data(), pending->key.size());
  ops.Copy(pool_->At(key_at + pending->key.size()), value.data(), value.size());
  uint64_t end = key_at + pending->key.size() + value.size();
  BRAID_DCHECK(pool_->ChunkOf(end - 1) == pool_->ChunkOf(pending->offset));
  const uint64_t begin = HeaderLinesEnd(pending->offset, pending->height);
  if (end > begin) {
    ops.Flush(pool_->At(begin), end - begin, media::Site::kEntryPayload);
  }
}

size_t IndexUnifiedLog::MakeHeader(const PendingEntry& pending, uint64_t sequence, uint8_t flags,
                                   uint64_t older, HeaderImage* image) const {
  BRAID_DCHECK(sequence <= format::kMaxSequence && older != pending.offset);
  // The key may lie in the pool, whose medium may have failed since.
  BRAID_DCHECK(pending.key_hash == base::Hash64(pending.key) || pool_->failed());
  BRAID_DCHECK(pending.key.size() < 1u << 17);  // more would run into the bits of the height
  // The other flags are of the entry's value, and set here.
  BRAID_DCHECK((flags & ~(format::kFirstOfUnit | format::kMoreOfUnit)) == 0);
  const std::string_view value = pending.stored_value();
  EntryHeader& header = image->header;
  if (pending.extent != 0) flags |= format::kValueInExtent;
  if (pending.refers) flags |= format::kValueElsewhere;
  header.value_check = pending.value_check;
  header.sequence_and_op = (sequence << 8) | flags | static_cast<uint8_t>(pending.op);
  header.value_bytes = static_cast<uint32_t>(value.size());
  header.key_and_height =
      EntryHeader::PackKeyAndHeight(static_cast<uint32_t>(pending.key.size()), pending.height);
  const uint32_t generation = pool_->GenerationAt(pending.offset);
  header.key_check = format::KeyCheck(header, pending.key_hash, pending.offset, generation);
  image->links[0] = older == 0 ? 0 : pool_->LinkTo(older).raw;
  if (older == 0) {
    std::fill(image->links + 1, image->links + pending.height, 0);
  } else {
    index::LinkOlderVersions(*pool_, older, pending.height, image->links);
  }
  return sizeof(EntryHeader) + 8ull * pending.height;
}

void IndexUnifiedLog::Publish(const PendingEntry& pending, uint64_t sequence, uint8_t flags,
                              uint64_t older) {
  // Its checks have the generation of a chunk of this log, from which it can't have been taken yet.
  BRAID_DCHECK(pool_->StateOf(pool_->ChunkOf(pending.offset)).kind() == kind());
  HeaderImage image;
  const size_t bytes = MakeHeader(pending, sequence, flags, older, &image);
  WriteHeader(pending, image, bytes);
}

void IndexUnifiedLog::PublishLinked(const PendingEntry& pending, uint64_t sequence, uint8_t flags,
                                    const uint64_t* links) {
  BRAID_DCHECK(pool_->StateOf(pool_->ChunkOf(pending.offset)).kind() == kind());
  HeaderImage image;
  const size_t bytes = MakeHeader(pending, sequence, flags, 0, &image);
  std::copy(links, links + pending.height, image.links);
  WriteHeader(pending, image, bytes);
}

void IndexUnifiedLog::WriteHeader(const PendingEntry& pending, const HeaderImage& image,
                                  size_t bytes) {
  BRAID_DCHECK(bytes == sizeof(EntryHeader) + 8ull * pending.height);
  const std::string_view value = pending.stored_value();
  media::PersistOps& ops = pool_->ops();
  ops.Copy(pool_->At(pending.offset), &image, bytes);
  // The last header line may also hold payload; nothing of the entry lies behind its end.
  uint64_t end = HeaderLinesEnd(pending.offset, pending.height);
  const uint64_t entry_end = pending.offset + bytes + pending.key.size() + value.size();
  if (end > entry_end) end = entry_end;
  ops.Flush(pool_->At(pending.offset), end - pending.offset, media::Site::kEntryHeader);
}

void IndexUnifiedLog::Commit(uint32_t shard_index) {
  Shard& shard = shards_[shard_index];
  BRAID_DCHECK(shard.placed.next_ordinal == shard.accepted.next_ordinal + shard.new_chunks.size());
  // Invariant 1: the tail only moves on, and into the newest chunk.
  BRAID_DCHECK(shard.new_chunks.empty() ? shard.placed.chunk == shard.accepted.chunk
                                        : shard.placed.chunk == shard.new_chunks.back());
  BRAID_DCHECK(!shard.new_chunks.empty() || shard.placed.tail >= shard.accepted.tail);
  shard.accepted = shard.placed;
  if (!shard.new_chunks.empty()) {
    // An entry that is durable must not be lost to a list that can't grow (AdvanceChunk).
    BRAID_DCHECK(shard.chunks.capacity() >= shard.chunks.size() + shard.new_chunks.size());
    shard.chunks.insert(shard.chunks.end(), shard.new_chunks.begin(), shard.new_chunks.end());
    shard.new_chunks.clear();
  }
}

void IndexUnifiedLog::Rollback(uint32_t shard_index, PendingEntry* entries, size_t count) {
  BRAID_DCHECK(shard_index < shards_.size());
  Shard& shard = shards_[shard_index];
  for (size_t i = 0; i < count; ++i) {
    if (entries[i].extent != 0) pool_->FreeExtent(entries[i].extent);
    if (entries[i].extent == entries[i].reserved) entries[i].reserved = 0;
    entries[i].extent = 0;
  }
  // Newest first: after a crash in between, the chunks that remain have ordinals without a gap.
  for (size_t i = shard.new_chunks.size(); i-- > 0;) pool_->FreeChunk(shard.new_chunks[i]);
  shard.new_chunks.clear();
  shard.placed = shard.accepted;
}

std::vector<uint64_t> IndexUnifiedLog::chunks() const {
  std::vector<uint64_t> all;
  for (const Shard& shard : shards_) {
    // Each write was committed, or rolled back.
    BRAID_DCHECK(shard.new_chunks.empty() || pool_->failed());
    all.insert(all.end(), shard.chunks.begin(), shard.chunks.end());
  }
  return all;
}

std::vector<IndexUnifiedLog::ChunkUse> IndexUnifiedLog::UsedBytes() const {
  std::vector<ChunkUse> used;
  for (const Shard& shard : shards_) {
    BRAID_DCHECK(shard.new_chunks.empty() || pool_->failed());  // as above
    for (size_t i = 0; i < shard.chunks.size(); ++i) {
      const uint64_t begin = pool_->ChunkOffset(shard.chunks[i]);
      uint64_t end = shard.accepted.tail - begin;
      if (i + 1 < shard.chunks.size()) {
        const uint64_t next = pool_->ChunkOffset(shard.chunks[i + 1]);
        end = pool_->As<format::LogChunkHeader>(next)->previous_used;  // invariant 1
      }
      end = std::clamp<uint64_t>(end, sizeof(format::LogChunkHeader), pool_->chunk_bytes());
      used.push_back({shard.chunks[i], end - sizeof(format::LogChunkHeader)});
    }
  }
  return used;
}

}  // namespace braid::log
