// Purpose: the address space of a pool's chunks: entries and extents in it, regions, and the errors
// when the medium fails or is damaged.
// Thread safety, invariants, persistence: see chunk_space.h.
#include "pool/chunk_space.h"

#include <bit>
#include <cstring>
#include <utility>

#include "base/no_throw.h"

namespace braid::pool {

using format::ChunkKind;
using format::EntryHeader;
using format::ExtentHeader;

ChunkSpace::ChunkSpace(std::unique_ptr<media::Media> media)
    : media_(std::move(media)),
      fault_(media_->fault()),
      base_(media_->base()),
      reserved_bytes_(media_->reserved_bytes()) {}

void ChunkSpace::SetLayout(uint64_t chunk_bytes, uint32_t regions, bool braided) noexcept {
  BRAID_CHECK(std::has_single_bit(chunk_bytes) && regions >= 1 && regions <= format::kMaxRegions);
  BRAID_DCHECK(chunks() == 0);  // invariant 1
  chunk_shift_ = static_cast<uint32_t>(std::countr_zero(chunk_bytes));
  regions_ = regions;
  strands_ = braided ? regions : 1;
}

Status ChunkSpace::MakeTables() {
  const uint64_t most_chunks = media_->reserved_bytes() >> chunk_shift_;
  if (states_.Allocate(most_chunks) && (regions_ == 1 || region_of_.Allocate(most_chunks))) {
    return Status::OK();
  }
  return Status::IOError(
      "no address space for the chunk table: raise the limit on virtual memory, or make the pool "
      "with a larger pool.chunk_bytes");
}

/// Relaxed stores: the store of chunks_ comes after them.
void ChunkSpace::MapRegion(uint64_t base, uint64_t bytes, uint32_t region) noexcept {
  BRAID_DCHECK(region < regions_);
  // The first one of a region; it is there before anything else is done with the pool.
  if (region_chunks_[region].load(std::memory_order_relaxed) == 0 && region != 0) {
    region_heads_[region] = base + format::kRegionHeadsOffset;
  }
  const uint64_t first = ChunkOf(base);
  const uint64_t count = ChunksIn(bytes);
  region_chunks_[region].fetch_add(count, std::memory_order_relaxed);
  for (uint64_t i = 0; regions_ > 1 && i < count; ++i) {
    region_of_[first + i].store(static_cast<uint8_t>(region), std::memory_order_relaxed);
  }
}

EntryHeader* ChunkSpace::EntryAt(uint64_t offset) noexcept {
  const uint64_t chunk = ChunkOf(offset);
  if (chunk >= chunks() || !format::HoldsEntries(StateOf(chunk).kind())) return nullptr;
  return const_cast<EntryHeader*>(EntryInChunk(offset));
}

const ExtentHeader* ChunkSpace::ExtentAt(uint64_t offset) const noexcept {
  const uint64_t first = ChunkOf(offset);
  if (first >= chunks() || ChunkOffset(first) != offset ||
      StateOf(first).kind() != ChunkKind::kExtentHead) {
    return nullptr;
  }
  const auto* header = reinterpret_cast<const ExtentHeader*>(At(offset));
  if (header->magic != format::kExtentMagic ||
      header->check != format::StructCheck(*header, offset) ||
      header->value_bytes > pool_bytes() - offset - sizeof(ExtentHeader) ||
      header->chunks != ExtentChunks(header->value_bytes)) {
    return nullptr;
  }
  for (uint64_t i = 1; i < header->chunks; ++i) {
    if (first + i >= chunks() || StateOf(first + i).kind() != ChunkKind::kExtentBody) {
      return nullptr;
    }
  }
  return header;
}

uint64_t ChunkSpace::ExtentOf(uint64_t entry) const noexcept {
  const EntryHeader* owner = EntryAt(entry);
  format::ExtentRef ref;
  if (owner == nullptr || !owner->has(format::kValueInExtent) || owner->value_bytes != sizeof ref) {
    return 0;
  }
  std::memcpy(&ref, owner->value().data(), sizeof ref);
  const ExtentHeader* extent = ExtentAt(ref.offset);
  return extent != nullptr && extent->owner == entry ? ref.offset : 0;
}

uint64_t ChunkSpace::CarrierOf(const EntryHeader& node) const noexcept {
  format::EntryRef ref;
  if (!node.has(format::kValueElsewhere) || node.value_bytes != sizeof ref) return 0;
  std::memcpy(&ref, node.value().data(), sizeof ref);
  const EntryHeader* carrier = EntryAt(ref.offset);
  const bool holds = carrier != nullptr && !carrier->has(format::kValueElsewhere) &&
                     carrier->op() == node.op() && carrier->sequence() == node.sequence() &&
                     carrier->key() == node.key();
  return holds ? ref.offset : 0;
}

Status ChunkSpace::FaultStatus() const {
  const uint64_t word = fault_.load(std::memory_order_acquire);
  if (word == 0) return Status::OK();
  return base::CatchToStatus([&] {
    return Status::IOError(media_->Locate(word - 1) +
                           ": the medium does not answer (SIGBUS): the file was truncated, or a "
                           "block is bad; close the database, look at the file and the kernel's "
                           "log, and open it again or restore a backup");
  });
}

Status ChunkSpace::CorruptionAt(uint64_t offset, const std::string& object,
                                const std::string& detail) const {
  return Status::Corruption(media_->Locate(offset) + ": " + object + ": " + detail);
}

}  // namespace braid::pool
