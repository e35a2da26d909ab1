// Purpose: the image of the index that an orderly close leaves.
// Thread safety, invariants, persistence: see leaf_recovery.h.
//
// The image is a sequence of 64-bit numbers and keys (a length, then its bytes): last sequence
// number, id of the next chunk, number of entries; number of leaves, and of each its offset and
// where its part of the key space begins; number of chunks of entries, and of each its number and
// its live bytes.
#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/check.h"
#include "leaf/leaf_recovery.h"

namespace braid::leaf {

using format::ChunkKind;
using format::LeafIndexHeader;

namespace {

constexpr uint64_t kBodyOffset = sizeof(format::LogChunkHeader) + sizeof(LeafIndexHeader);
static_assert(kBodyOffset < format::kPageBytes);  // each chunk holds a part of the image

void Append(std::string* out, uint64_t number) {
  out->append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Reads numbers and keys, as far as there are any.
class Reader {
 public:
  explicit Reader(std::string_view image) : rest_(image) {}
  uint64_t Number() {
    uint64_t number = 0;
    const std::string_view bytes = Bytes(sizeof number);
    if (ok_) std::memcpy(&number, bytes.data(), sizeof number);
    return number;
  }
  std::string_view Bytes(uint64_t count) {
    if (!ok_ || count > rest_.size()) {
      ok_ = false;
      return {};
    }
    const std::string_view bytes = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return bytes;
  }
  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

std::vector<uint64_t> ChunksOf(const pool::PmemPool& pool, ChunkKind kind) {
  std::vector<uint64_t> chunks;
  for (uint64_t chunk = 0; chunk < pool.chunks(); ++chunk) {
    if (pool.StateOf(chunk).kind() == kind) chunks.push_back(chunk);
  }
  return chunks;
}

}  // namespace

void FreeLeafImage(pool::PmemPool* pool) {
  for (const uint64_t chunk : ChunksOf(*pool, ChunkKind::kLeafIndex)) pool->FreeChunk(chunk);
}

Status WriteLeafImage(pool::PmemPool* pool, const LeafNode* first, const pool::ChunkUsage& usage,
                      const RecoveredLeaves& facts) {
  std::string image;
  Append(&image, facts.last_sequence);
  Append(&image, facts.next_chunk_id);
  Append(&image, facts.entries);
  uint64_t leaves = 0;
  for (const LeafNode* n = first; n != nullptr; n = n->next.load()) ++leaves;
  Append(&image, leaves);
  for (const LeafNode* n = first; n != nullptr; n = n->next.load()) {
    BRAID_DCHECK(n->offset != 0);  // the head is no leaf
    Append(&image, n->offset);
    Append(&image, n->low.size());
    image += n->low;
  }
  const std::vector<uint64_t> entries = ChunksOf(*pool, ChunkKind::kLog);
  Append(&image, entries.size());
  for (const uint64_t chunk : entries) {
    Append(&image, chunk);
    Append(&image, static_cast<uint64_t>(usage.Live(chunk)));
  }
  const uint64_t room = pool->chunk_bytes() - kBodyOffset;
  media::PersistOps& ops = pool->ops();
  std::string_view rest = image;
  for (uint32_t ordinal = 0; !rest.empty(); ++ordinal) {
    const std::string_view part = rest.substr(0, room);
    rest.remove_prefix(part.size());
    format::LogChunkHeader header{};
    header.ordinal = ordinal;
    Result<uint64_t> chunk =
        pool->AllocateLogChunk(header, ChunkKind::kLeafIndex, pool::AllocationClass::kBackground);
    if (!chunk.ok()) {
      FreeLeafImage(pool);
      return chunk.status();
    }
    const uint64_t place = pool->ChunkOffset(*chunk) + sizeof(format::LogChunkHeader);
    LeafIndexHeader index{};
    index.magic = format::kLeafIndexMagic;
    index.ordinal = ordinal;
    index.bytes = part.size();
    index.image_bytes = image.size();
    index.content = base::Hash64(part);
    index.check = format::StructCheck(index, place);
    ops.Copy(pool->At(place), &index, sizeof index);
    ops.Copy(pool->At(place + sizeof index), part.data(), part.size());
    ops.Flush(pool->At(place), sizeof index + part.size(), media::Site::kLeafImage);
  }
  // The mark that the pool is clean is fenced; an image that is not whole then is not believed.
  return Status::OK();
}

/// False: there is no image, or it is not whole.
bool LeafRecovery::ReadImage(std::string* image) const {
  struct Part {
    uint64_t ordinal;
    uint64_t place;
  };
  std::vector<Part> parts;
  uint64_t bytes = 0;
  for (const uint64_t chunk : ChunksOf(*pool_, ChunkKind::kLeafIndex)) {
    const uint64_t place = pool_->ChunkOffset(chunk) + sizeof(format::LogChunkHeader);
    LeafIndexHeader header;
    std::memcpy(&header, pool_->At(place), sizeof header);
    if (header.magic != format::kLeafIndexMagic ||
        header.check != format::StructCheck(header, place) ||
        header.bytes > pool_->chunk_bytes() - kBodyOffset ||
        base::Hash64(pool_->At(place + sizeof header), header.bytes) != header.content) {
      return false;
    }
    bytes = header.image_bytes;
    parts.push_back({header.ordinal, place});
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.ordinal < b.ordinal; });
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].ordinal != i) return false;
    const auto* header = pool_->As<LeafIndexHeader>(parts[i].place);
    image->append(pool_->At(parts[i].place + sizeof *header), header->bytes);
  }
  return !parts.empty() && image->size() == bytes;
}

bool LeafRecovery::LoadImage() {
  BRAID_DCHECK(list_->leaves() == 0 && linked_.empty());
  std::string image;
  if (!ReadImage(&image)) return false;
  Reader reader(image);
  RecoveredLeaves found = state_;
  found.last_sequence = std::max(found.last_sequence, reader.Number());
  found.next_chunk_id = reader.Number();
  // Both are counted on from here. Half of all ids are more than a pool can ever use.
  if (found.last_sequence > format::kMaxSequence || found.next_chunk_id >= format::kMaxId / 2) {
    return false;
  }
  found.entries = reader.Number();
  struct Place {
    uint64_t offset;
    std::string_view low;
  };
  std::vector<Place> leaves;
  for (uint64_t count = reader.Number(); count > 0 && reader.ok(); --count) {
    const uint64_t offset = reader.Number();
    leaves.push_back({offset, reader.Bytes(reader.Number())});
    const size_t last = leaves.size() - 1;
    if (list_->LeafAt(offset) == nullptr) return false;
    if (last > 0 && leaves[last].low <= leaves[last - 1].low) return false;
  }
  std::unordered_set<uint64_t> offsets;
  for (const Place& leaf : leaves) {
    if (!offsets.insert(leaf.offset).second) return false;
  }
  std::vector<std::pair<uint64_t, uint64_t>> live;
  for (uint64_t count = reader.Number(); count > 0 && reader.ok(); --count) {
    const uint64_t chunk = reader.Number();
    live.emplace_back(chunk, reader.Number());
    if (chunk >= pool_->chunks() || pool_->StateOf(chunk).kind() != ChunkKind::kLog) return false;
  }
  if (!reader.at_end()) return false;
  for (const auto& [chunk, bytes] : live) usage_->Set(chunk, static_cast<int64_t>(bytes));
  for (const Place& leaf : leaves) list_->Append(std::string(leaf.low), leaf.offset);
  list_->TakeFreeLeaves();
  list_->BuildUpper();
  state_ = found;
  return true;
}

}  // namespace braid::leaf
