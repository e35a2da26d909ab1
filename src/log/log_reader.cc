// Purpose: reading logs back.
// Thread safety, invariants, persistence: see log_reader.h.
#include "log/log_reader.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
namespace braid::log {

using format::EntryHeader;
using format::LogChunkHeader;

namespace {

bool KeyVerifies(const pool::PmemPool& pool, const EntryHeader& entry, uint64_t offset) {
  const uint32_t generation = pool.GenerationAt(offset);
  return format::KeyCheck(entry, base::Hash64(entry.key()), offset, generation) == entry.key_check;
}

bool ExtentVerifies(const pool::PmemPool& pool, const EntryHeader& entry, uint64_t offset) {
  format::ExtentRef ref;
  if (entry.value_bytes != sizeof ref) return false;
  std::memcpy(&ref, entry.value().data(), sizeof ref);
  const format::ExtentHeader* extent = pool.ExtentAt(ref.offset);
  if (extent == nullptr || extent->owner != offset || extent->value_bytes != ref.bytes) {
    return false;
  }
  return base::Hash64(pool.At(ref.offset + sizeof *extent), ref.bytes) == ref.check;
}

bool HasSaneOp(const EntryHeader& entry) {
  return entry.op() == format::EntryOp::kPut || entry.op() == format::EntryOp::kDelete;
}

}  // namespace

Result<LogChunk> ReadLogChunk(const pool::PmemPool& pool, uint64_t chunk) {
  LogChunkHeader header;
  const uint64_t offset = pool.ChunkOffset(chunk);
  std::memcpy(&header, pool.At(offset), sizeof header);
  if (header.magic != format::kLogChunkMagic ||
      header.check != format::StructCheck(header, offset) ||
      header.generation != pool.StateOf(chunk).generation()) {
    return pool.CorruptionAt(offset, "log chunk header", "its check does not match");
  }
  // Half of them, as in the manifest: the ids that are handed out next stay below the limit.
  if (header.table_id >= format::kMaxId / 2) {
    return pool.CorruptionAt(offset, "log chunk header", "its table id is impossible");
  }
  return LogChunk{chunk,          header.table_id,      header.shard,
                  header.ordinal, header.previous_used, header.within_unit != 0};
}

bool HoldsUnknownLife(const pool::PmemPool& pool, uint64_t chunk) {
  const uint64_t begin = pool.ChunkOffset(chunk);
  LogChunkHeader header;
  std::memcpy(&header, pool.At(begin), sizeof header);
  if (header.magic != format::kLogChunkMagic || header.check != StructCheck(header, begin) ||
      header.generation <= pool.StateOf(chunk).generation() ||
      header.generation < pool.header().generation_floor) {  // lost with power, and known
    return false;
  }
  const uint64_t offset = begin + sizeof header;
  const auto* entry = reinterpret_cast<const EntryHeader*>(pool.At(offset));
  return entry->height() > 0 && entry->height() <= format::kMaxHeight &&
         entry->size() <= pool.chunk_bytes() - sizeof header && HasSaneOp(*entry) &&
         format::KeyCheck(*entry, base::Hash64(entry->key()), offset, header.generation) ==
             entry->key_check;
}

bool EntryVerifies(const pool::PmemPool& pool, uint64_t offset) {
  const EntryHeader* entry = pool.EntryAt(offset);
  if (entry == nullptr) return false;
  if (!HasSaneOp(*entry) || !KeyVerifies(pool, *entry, offset)) return false;
  return ValueVerifies(pool, offset, *entry);
}

bool ValueVerifies(const pool::PmemPool& pool, uint64_t offset, const EntryHeader& entry) {
  if (format::ValueCheck(entry.value()) != entry.value_check) return false;
  if (entry.has(format::kValueElsewhere)) {
    const uint64_t carrier = pool.CarrierOf(entry);
    // It refers to no other one itself.
    return carrier != 0 && !entry.has(format::kValueInExtent) && EntryVerifies(pool, carrier);
  }
  return !entry.has(format::kValueInExtent) || ExtentVerifies(pool, entry, offset);
}

namespace {

/// Reads one shard; holds the batch that is being put together.
class ShardReader {
 public:
  explicit ShardReader(const pool::PmemPool& pool) : pool_(pool) {}

  /// Reads a chunk up to `used` (0: unknown, up to the first entry that does not verify). `whole`:
  /// the chunk was left only when everything in it was committed.
  Status ReadChunk(uint64_t chunk, uint64_t used, bool whole) {
    BRAID_DCHECK(used == 0 || (used >= sizeof(LogChunkHeader) && used <= pool_.chunk_bytes()));
    const uint64_t begin = pool_.ChunkOffset(chunk);
    const uint64_t chunk_end = begin + pool_.chunk_bytes();
    uint64_t offset = begin + sizeof(LogChunkHeader);
    if (torn_at_ != 0) return CheckTail(offset, chunk_end);
    const uint64_t end = used == 0 ? chunk_end : begin + used;
    while (offset + sizeof(EntryHeader) <= end && EntryVerifies(pool_, offset)) {
      const EntryHeader* entry = Verified(pool_, offset);
      if (!Take(*entry, offset)) break;
      offset += entry->size();
    }
    if (used != 0 && offset == end) return Status::OK();
    if (whole) {
      return pool_.CorruptionAt(offset, "log entry",
                                "its check does not match, and the log continues after it");
    }
    torn_at_ = offset;
    return CheckTail(offset, chunk_end);
  }

  ShardLog Finish() {
    log_.torn.insert(log_.torn.end(), unit_.begin(), unit_.end());
    return std::move(log_);
  }

 private:
  /// Adds an entry to its unit; false when it can't follow what came before.
  bool Take(const EntryHeader& entry, uint64_t offset) {
    const bool first = entry.has(format::kFirstOfUnit);
    if (first != unit_.empty()) return false;
    log_.max_sequence = std::max(log_.max_sequence, entry.sequence());
    unit_.push_back(offset);
    if (!entry.has(format::kMoreOfUnit)) {
      log_.committed.insert(log_.committed.end(), unit_.begin(), unit_.end());
      unit_.clear();
    }
    return true;
  }

  /// Invariant 2: behind the end of the log no intact entry may start a write.
  Status CheckTail(uint64_t offset, uint64_t end) {
    BRAID_DCHECK(torn_at_ != 0 && offset % 8 == 0);
    for (uint64_t at = offset; at + sizeof(EntryHeader) <= end; at += 8) {
      const EntryHeader* entry = pool_.EntryAt(at);
      if (entry == nullptr || !HasSaneOp(*entry) || !KeyVerifies(pool_, *entry, at)) continue;
      log_.max_sequence = std::max(log_.max_sequence, entry->sequence());
      // The torn entry itself may have an intact header and key, and so may the rest of its batch.
      const bool torn =
          at == torn_at_ ? !EntryVerifies(pool_, at) : !entry->has(format::kFirstOfUnit);
      if (torn) {
        log_.torn.push_back(at);
        continue;
      }
      return pool_.CorruptionAt(
          torn_at_, "log entry",
          "its check does not match, and an intact entry follows at " + pool_.media().Locate(at));
    }
    return Status::OK();
  }

  const pool::PmemPool& pool_;
  ShardLog log_;
  std::vector<uint64_t> unit_;
  uint64_t torn_at_ = 0;  // the first entry that does not verify
};

}  // namespace

Result<ShardLog> ReadShardLog(const pool::PmemPool& pool, const std::vector<LogChunk>& chunks) {
  ShardReader reader(pool);
  for (size_t i = 0; i < chunks.size(); ++i) {
    BRAID_DCHECK(chunks[i].table_id == chunks[0].table_id && chunks[i].shard == chunks[0].shard);
    BRAID_DCHECK(i == 0 || chunks[i - 1].ordinal <= chunks[i].ordinal);
    if (chunks[i].ordinal != i) {
      return pool.CorruptionAt(pool.ChunkOffset(chunks[i].chunk), "log",
                               "chunk " + std::to_string(i) + " of shard " +
                                   std::to_string(chunks[i].shard) + " is missing");
    }
    const bool last = i + 1 == chunks.size();
    const uint64_t used = last ? 0 : chunks[i + 1].previous_used;
    if (!last && (used > pool.chunk_bytes() || used < sizeof(LogChunkHeader))) {
      return pool.CorruptionAt(pool.ChunkOffset(chunks[i + 1].chunk), "log chunk header",
                               "it records an impossible length of the chunk before");
    }
    const bool whole = !last && !chunks[i + 1].within_unit;
    if (Status s = reader.ReadChunk(chunks[i].chunk, used, whole); !s.ok()) return s;
  }
  return reader.Finish();
}

void ForEachEntry(const pool::PmemPool& pool, uint64_t chunk,
                  const std::function<void(uint64_t, const EntryHeader&)>& visit) {
  BRAID_DCHECK(chunk < pool.chunks());
  uint64_t offset = pool.ChunkOffset(chunk) + sizeof(LogChunkHeader);
  const uint64_t end = pool.ChunkOffset(chunk) + pool.chunk_bytes();
  while (offset + sizeof(EntryHeader) <= end) {
    const EntryHeader* entry = pool.EntryAt(offset);
    if (entry == nullptr || !HasSaneOp(*entry) || !KeyVerifies(pool, *entry, offset)) {
      offset += 8;
      continue;
    }
    const uint64_t size = entry->size();
    visit(offset, *entry);
    offset += size;
  }
}

}  // namespace braid::log
