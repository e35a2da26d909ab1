// Purpose: opening and creating pools, headers, segments. The allocator is in chunk_allocator.cc.
// Thread safety, invariants, persistence: see pool.h.
#include "pool/pool.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "base/activity.h"
#include "base/check.h"
#include "base/no_throw.h"
#include "pool/pool_facts.h"

namespace braid::pool {

using format::ChunkKind;
using format::ChunkState;
using format::kPageBytes;
using format::MetaChunks;
using format::PoolHeader;
using format::SegmentHeader;
using format::StateTableOffset;

namespace {

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

Status NoChunkTable() {
  return Status::IOError(
      "no address space for the chunk table: raise the limit on virtual memory, or make the pool "
      "with a larger pool.chunk_bytes");
}

void CopyName(char* target, size_t capacity, const std::string& name) {
  std::memset(target, 0, capacity);
  std::memcpy(target, name.data(), std::min(name.size(), capacity - 1));
}

/// The pool must be of the design and order of keys that it is opened with.
Status CheckNames(const PoolHeader& header, const Options& options, const std::string& order) {
  if (options.design != header.design) {
    return Status::InvalidArgument("the pool was made with design \"" + std::string(header.design) +
                                   "\", the options say \"" + options.design + "\"");
  }
  if (order != header.comparator) {
    return Status::InvalidArgument("the pool's keys are in the order \"" +
                                   std::string(header.comparator) + "\", it is opened with \"" +
                                   order + "\"; open it with the order that it was made with");
  }
  return Status::OK();
}

}  // namespace

PmemPool::PmemPool(std::unique_ptr<media::Media> media, const Options& options)
    : media_(std::move(media)),
      fault_(media_->fault()),
      ops_(media_->media_class()),
      base_(media_->base()),
      reserved_bytes_(media_->reserved_bytes()),
      max_bytes_(options.pool.max_bytes),
      initial_bytes_(options.pool.initial_bytes),
      memory_budget_(options.memory_budget_bytes) {
#if defined(BRAID_CRASHSIM)
  ops_.set_hook(media_->hook());
#endif
}

Result<std::unique_ptr<PmemPool>> PmemPool::Open(std::unique_ptr<media::Media> media,
                                                 const Options& options,
                                                 const std::function<Status(PmemPool*)>& init) {
  BRAID_CHECK(std::has_single_bit(options.pool.chunk_bytes));
  BRAID_CHECK(options.pool.regions >= 1 && options.pool.regions <= format::kMaxRegions);
  if (media->read_only() && media->segment_bytes().empty()) {
    return Status::NotFound("no pool here (a read-only open never creates one)");
  }
  std::unique_ptr<PmemPool> pool(new PmemPool(std::move(media), options));
  Status s =
      pool->media_->segment_bytes().empty() ? pool->Create(options, init) : pool->Load(options);
  if (pool->failed()) return pool->FaultStatus();
  if (!s.ok()) return s;
  return Result<std::unique_ptr<PmemPool>>(std::move(pool));
}

Status PmemPool::Create(const Options& options, const std::function<Status(PmemPool*)>& init) {
  created_ = true;
  chunk_shift_ = static_cast<uint32_t>(std::countr_zero(options.pool.chunk_bytes));
  regions_ = options.pool.regions;
  // Headers, redo chunks and at least four chunks to write to.
  const uint64_t least = LeastBytes(0, 6);
  uint64_t bytes = ShareBytes();
  if (bytes < least && regions_ == 1) {
    const bool limited = max_bytes_ != 0 && max_bytes_ < least;
    return Status::InvalidArgument((limited ? "pool.max_bytes is " : "pool.initial_bytes is ") +
                                   std::to_string(limited ? max_bytes_ : bytes) +
                                   "; a new pool with chunks of " + std::to_string(chunk_bytes()) +
                                   " bytes takes at least " + std::to_string(least));
  }
  bytes = std::max(bytes, least);  // with several regions a small share is no limit
  if (max_bytes_ != 0 && bytes > max_bytes_) {
    return Status::InvalidArgument("pool.max_bytes is " + std::to_string(max_bytes_) +
                                   "; the first segment of the pool takes " +
                                   std::to_string(bytes));
  }
  if (Status s = media_->AddSegment(bytes); !s.ok()) return s;
  ops_.set_media_class(media_->media_class());
  if (Status s = ops_.Emulate(options.pool.emulate_write_ns, options.pool.emulate_write_mb_s);
      !s.ok()) {
    return s;
  }
  if (!states_.Allocate(media_->reserved_bytes() >> chunk_shift_)) return NoChunkTable();

  header_ = PoolHeader{};
  header_.magic = format::kPoolMagic;
  header_.version = format::kFormatVersionNumber;
  header_.endian = format::kEndianMark;
  std::random_device random;
  for (size_t i = 0; i < sizeof header_.uuid; i += 4) {
    const uint32_t word = random();
    std::memcpy(header_.uuid + i, &word, 4);
  }
  header_.chunk_bytes = chunk_bytes();
  header_.media_class = static_cast<uint32_t>(media_->media_class());
  header_.clean = 1;  // nothing was written yet
  CopyName(header_.boot_id, sizeof header_.boot_id, media_->boot_id());
  CopyName(header_.design, sizeof header_.design, options.design);
  CopyName(header_.comparator, sizeof header_.comparator, media_->key_order());
  if (regions_ > 1) {
    header_.incompat |= format::kIncompatRegions;
    header_.regions = static_cast<uint8_t>(regions_);
    header_.list_kind = static_cast<uint8_t>(options.lists.kind.value_or(ListKind::kBraided));
    if (!region_of_.Allocate(media_->reserved_bytes() >> chunk_shift_)) return NoChunkTable();
  }
  strands_ = list_kind() == ListKind::kBraided ? regions_ : 1;
  header_.segments = 1;

  AddSegment(InitSegment(0, 0, 0, bytes), &free_[0]);
  free_[0].reserve(chunks());
  for (uint64_t& chunk : redo_chunks_) {
    chunk = free_[0].back();
    free_[0].pop_back();
    SetState(chunk, ChunkKind::kRedo, 1);
  }
  if (Status s = WriteHeader(); !s.ok()) return s;
  if (Status s = init(this); !s.ok()) return s;
  if (Status s = media_->PublishSegment(); !s.ok()) return s;
  was_clean_ = true;
  return CompleteRegions();
}

/// An equal share of a new pool.
uint64_t PmemPool::ShareBytes() const noexcept {
  return RoundUp(RoundUp(initial_bytes_, regions_) / regions_, chunk_bytes());
}

/// The smallest segment that has room for `chunks` besides its headers.
uint64_t PmemPool::LeastBytes(uint32_t index, uint64_t chunks) const noexcept {
  uint64_t bytes = chunks * chunk_bytes();
  while (bytes / chunk_bytes() < MetaChunks(index, bytes, chunk_bytes(), regions_) + chunks) {
    bytes += chunk_bytes();
  }
  return bytes;
}

Status PmemPool::CompleteRegions() {
  if (read_only() && segments_.size() < regions_) {
    return Status::NotSupported("the making of the pool was interrupted: open it for writing once");
  }
  for (auto region = static_cast<uint32_t>(segments_.size()); region < regions_; ++region) {
    if (Status s = Grow(region, 4); !s.ok()) return s;
  }
  ops_.set_media_class(media_->media_class());
  if (regions_ == 1) return Status::OK();
  std::array<int, format::kMaxRegions> nodes;
  for (uint32_t region = 0; region < nodes.size(); ++region) {
    // Invariant 4.
    BRAID_DCHECK(region >= regions_ || segments_[region].region == region);
    nodes[region] = region < regions_ ? media_->NodeAt(segments_[region].base) : media::kNoNode;
  }
  region_map_ = media::RegionMap(regions_, nodes);
  return Status::OK();
}

// Regions are counted in a byte of the headers, and in the four bits that a link has for them.
static_assert(format::kMaxRegions <= 16);

/// Ends all heads of tables in the first segment of a region: there is no table yet.
void PmemPool::InitRegionHeads(uint64_t base) {
  const std::vector<uint64_t> ends(format::kTableHeads * format::kMaxHeight,
                                   format::EntryPtr::End().raw);
  char* heads = At(base + format::kRegionHeadsOffset);
  ops_.Copy(heads, ends.data(), ends.size() * sizeof(uint64_t));
  ops_.Flush(heads, ends.size() * sizeof(uint64_t), media::Site::kRegionHeads);
}

/// Writes the header and state table of a fresh segment, durably.
PmemPool::Segment PmemPool::InitSegment(uint32_t index, uint32_t region, uint64_t base,
                                        uint64_t bytes) {
  BRAID_DCHECK(base == pool_bytes() && bytes % chunk_bytes() == 0);
  BRAID_DCHECK(region < regions_ && (index >= regions_ || region == index));  // invariant 4
  SegmentHeader header{};
  header.magic = format::kSegmentMagic;
  header.version = format::kFormatVersionNumber;
  header.endian = format::kEndianMark;
  std::memcpy(header.pool_uuid, header_.uuid, sizeof header.pool_uuid);
  header.index = index;
  header.region = static_cast<uint8_t>(region);
  header.regions = static_cast<uint8_t>(regions_ > 1 ? regions_ : 0);
  header.base_offset = base;
  header.segment_bytes = bytes;
  header.chunk_bytes = chunk_bytes();
  header.meta_chunks = MetaChunks(index, bytes, chunk_bytes(), regions_);
  header.check = format::StructCheck(header, base);
  BRAID_DCHECK(header.meta_chunks < bytes >> chunk_shift_);  // it is made to be allocated from
  ops_.Copy(At(base), &header, sizeof header);
  ops_.Flush(At(base), sizeof header, media::Site::kSegmentHeader);

  if (format::HasRegionHeads(index, regions_)) InitRegionHeads(base);

  const Segment segment{base,
                        bytes,
                        base + StateTableOffset(index, regions_),
                        base >> chunk_shift_,
                        header.meta_chunks,
                        region};
  const uint64_t count = bytes >> chunk_shift_;
  std::vector<uint64_t> words(count);
  for (uint64_t i = 0; i < count; ++i) {
    const ChunkKind kind = i < segment.meta_chunks ? ChunkKind::kMeta : ChunkKind::kFree;
    words[i] = ChunkState::Make(kind, 0, segment.first_chunk + i).raw;
  }
  ops_.Copy(At(segment.state_table), words.data(), count * sizeof(uint64_t));
  ops_.Flush(At(segment.state_table), count * sizeof(uint64_t), media::Site::kStateTable);
  ops_.Fence(media::Site::kSegmentFence);
  return segment;
}

/// Makes the chunks of a segment known and adds those that are free to `fresh`. The caller has made
/// room in segments_, free_ and `fresh`: nothing here can fail.
void PmemPool::AddSegment(const Segment& segment, std::vector<uint64_t>* fresh) {
  const uint64_t count = segment.bytes >> chunk_shift_;
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(segment.first_chunk == chunks());  // segments lie side by side
  MapRegion(segment);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t chunk = segment.first_chunk + i;
    const ChunkKind kind = i < segment.meta_chunks ? ChunkKind::kMeta : ChunkKind::kFree;
    states_[chunk].store(ChunkState::Make(kind, 0, chunk).raw, std::memory_order_relaxed);
  }
  for (uint64_t i = count; i > segment.meta_chunks; --i) {
    fresh->push_back(segment.first_chunk + i - 1);
  }
  segments_.push_back(segment);
  if (fresh != &free_[segment.region]) unlisted_ += fresh->size();
  // Release pairs with chunks(): a reader that sees the count sees the states.
  chunks_.store(segment.first_chunk + count, std::memory_order_release);
}

/// Makes known to which region the chunks of a segment belong. Relaxed stores: the store of chunks_
/// comes after them.
void PmemPool::MapRegion(const Segment& segment) {
  BRAID_DCHECK(segment.region < regions_);
  // The first one of a region; it is there before anything else is done with the pool.
  if (region_chunks_[segment.region].load(std::memory_order_relaxed) == 0 && segment.region != 0) {
    region_heads_[segment.region] = segment.base + format::kRegionHeadsOffset;
  }
  const uint64_t count = segment.bytes >> chunk_shift_;
  region_chunks_[segment.region].fetch_add(count, std::memory_order_relaxed);
  for (uint64_t i = 0; regions_ > 1 && i < count; ++i) {
    region_of_[segment.first_chunk + i].store(static_cast<uint8_t>(segment.region),
                                              std::memory_order_relaxed);
  }
}

// No page, and so no write that is torn by one, holds a part of both copies.
static_assert(sizeof(PoolHeader) <= kPageBytes);
static_assert(format::kPoolHeaderOffset[1] - format::kPoolHeaderOffset[0] >= kPageBytes);

/// Writes header_ with a higher count to both copies, the one that is older, or torn, first: at
/// every moment one copy is intact.
Status PmemPool::WriteHeader() {
  ++header_.update_count;
  const int first = 1 - newest_header_;
  for (const int copy : {first, 1 - first}) {
    const uint64_t place = format::kPoolHeaderOffset[copy];
    header_.check = format::StructCheck(header_, place);
    ops_.Copy(At(place), &header_, sizeof header_);
    ops_.Flush(At(place), sizeof header_, media::Site::kPoolHeader);
    ops_.Fence(media::Site::kPoolHeaderFence);
    if (Status s = media_->SyncRange(place, sizeof header_, media::Site::kPoolHeaderSync);
        !s.ok()) {
      return s;
    }
  }
  return Status::OK();
}

Status PmemPool::Load(const Options& options) {
  if (Status s = ops_.Emulate(options.pool.emulate_write_ns, options.pool.emulate_write_mb_s);
      !s.ok()) {
    return s;
  }
  BRAID_CHECK(!media_->segment_bytes().empty());  // else it is created
  if (media_->segment_bytes()[0] < format::kFirstStateTableOffset + kPageBytes) {
    return CorruptionAt(0, "segment", "it is too short for a pool header; truncated?");
  }
  PoolHeader copies[2];
  for (int i = 0; i < 2; ++i)
    std::memcpy(&copies[i], At(format::kPoolHeaderOffset[i]), sizeof(PoolHeader));
  Result<PoolHeader> header = ChooseHeader(copies, media_->Locate(format::kPoolHeaderOffset[0]));
  if (!header.ok()) return header.status();
  header_ = *header;
  newest_header_ = std::memcmp(&header_, &copies[1], sizeof header_) == 0 ? 1 : 0;
  if (header_.ro_compat != 0) {
    return Status::NotSupported("the pool has features that this library may only read");
  }
  if (Status s = CheckNames(header_, options, media_->key_order()); !s.ok()) return s;
  if (Status s = CheckRegions(options); !s.ok()) return s;
  if (header_.regions != 0) regions_ = header_.regions;
  strands_ = list_kind() == ListKind::kBraided ? regions_ : 1;
  chunk_shift_ = static_cast<uint32_t>(std::countr_zero(header_.chunk_bytes));
  // ChooseHeader has seen that they are possible.
  BRAID_CHECK(chunk_bytes() == header_.chunk_bytes && regions_ <= format::kMaxRegions);
  was_clean_ = header_.clean == 1;
  // One that can't be read tells nothing, not even if it could not be read last time either.
  const std::string boot_id = media_->boot_id();
  boot_changed_ = boot_id.empty() || boot_id != header_.boot_id;
  const uint64_t most_chunks = media_->reserved_bytes() >> chunk_shift_;
  if (!states_.Allocate(most_chunks)) return NoChunkTable();
  if (regions_ > 1 && !region_of_.Allocate(most_chunks)) return NoChunkTable();

  const std::vector<uint64_t> sizes = media_->segment_bytes();
  if (!CountsSegments(sizes.size())) {
    return CorruptionAt(format::kPoolHeaderOffset[newest_header_], "pool header",
                        "it counts " + std::to_string(header_.segments) +
                            " segments, the pool has " + std::to_string(sizes.size()) +
                            " in sequence; a segment file is missing or does not belong here");
  }
  uint64_t base = 0;
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    if (Status s = LoadSegment(i, base, sizes[i]); !s.ok()) return s;
    base += sizes[i];
  }
  BRAID_CHECK(base == pool_bytes());
  for (uint32_t region = 0; region < regions_; ++region) {
    free_[region].reserve(chunks_of(region));
  }
  uint32_t redo = 0;
  for (uint64_t chunk = 0; chunk < chunks() && redo < 2; ++chunk) {
    if (StateOf(chunk).kind() == ChunkKind::kRedo) redo_chunks_[redo++] = chunk;
  }
  if (redo != 2) {
    return CorruptionAt(segments_[0].state_table, "chunk states", "the pool has lost a redo chunk");
  }
  // While another process writes: what it has granted is durable, and its headers are its own.
  if (media_->cut()) return CompleteRegions();
  FlushInherited();
  if (sizes.size() != header_.segments) {
    header_.segments = sizes.size();
    if (Status s = WriteHeader(); !s.ok()) return s;
  }
  return CompleteRegions();
}

/// A crash may have left a segment that is not counted; in a pool that is clean only while its
/// regions got their first ones.
bool PmemPool::CountsSegments(uint64_t found) const noexcept {
  const bool may_have_one_more = !was_clean_ || header_.segments < regions_;
  return found == header_.segments || (found == header_.segments + 1 && may_have_one_more);
}

/// What the options say must be what the pool was made with; what they leave open is the pool's.
Status PmemPool::CheckRegions(const Options& options) const {
  const uint32_t regions = header_.regions == 0 ? 1u : header_.regions;
  if (options.pool.regions != 1 && options.pool.regions != regions) {
    return Status::InvalidArgument(
        "the pool was made with pool.regions=" + std::to_string(regions) + ", the options say " +
        std::to_string(options.pool.regions) +
        "; leave it away, or copy the content to a new pool");
  }
  if (header_.list_kind > static_cast<uint8_t>(ListKind::kBraided)) {
    return Status::NotSupported("the pool has lists of kind " + std::to_string(header_.list_kind) +
                                ", which this library does not know; use a newer braid release");
  }
  // With one region all kinds are the same list.
  if (regions > 1 && options.lists.kind &&
      static_cast<uint8_t>(*options.lists.kind) != header_.list_kind) {
    return Status::InvalidArgument(std::string("the pool was made with lists.kind=") +
                                   ListKindName(static_cast<ListKind>(header_.list_kind)) +
                                   ", the options say " + ListKindName(*options.lists.kind) +
                                   "; leave it away, or copy the content to a new pool");
  }
  return Status::OK();
}

/// The process that died may have stored headers, states, table heads and redo records without
/// flushing them: they lie in the caches, where this process finds them. What recovery does follows
/// from them, so they must not be lost with the power after that. (Links and marks are made again
/// from redo records and logs; the last writes of logs are flushed when the logs are read.)
void PmemPool::FlushInherited() {
  // Headers in any case: the very mark that the pool is clean may lie in the caches.
  ops_.Flush(At(0), format::kFirstStateTableOffset, media::Site::kInheritedHeaders);
  for (uint32_t i = 1; i < std::min<uint64_t>(regions_, segments_.size()); ++i) {
    ops_.Flush(At(segments_[i].base), StateTableOffset(i, regions_),
               media::Site::kInheritedHeaders);
  }
  if (!was_clean_) {
    for (const Segment& segment : segments_) {
      ops_.Flush(At(segment.state_table), (segment.bytes >> chunk_shift_) * sizeof(uint64_t),
                 media::Site::kInheritedStates);
    }
    for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
      const ChunkKind kind = StateOf(chunk).kind();
      if (kind == ChunkKind::kRedo || kind == ChunkKind::kManifest) {
        ops_.Flush(At(ChunkOffset(chunk)), chunk_bytes(), media::Site::kInheritedRecords);
      }
    }
  }
  ops_.Fence(media::Site::kInheritedFence);
}

Status PmemPool::LoadSegment(uint32_t index, uint64_t base, uint64_t bytes) {
  SegmentHeader header;
  std::memcpy(&header, At(base), sizeof header);
  if (header.magic != format::kSegmentMagic || header.check != format::StructCheck(header, base)) {
    return CorruptionAt(base, "segment header", "its check does not match");
  }
  if (std::memcmp(header.pool_uuid, header_.uuid, sizeof header_.uuid) != 0 ||
      header.index != index || header.base_offset != base) {
    return CorruptionAt(base, "segment header", "the segment belongs to another pool or place");
  }
  if (header.region >= regions_ || header.regions != header_.regions ||
      (index < regions_ && header.region != index)) {
    return CorruptionAt(base, "segment header",
                        "it says region " + std::to_string(header.region) + " of " +
                            std::to_string(header.regions) + ", which can't be");
  }
  if (header.segment_bytes != bytes || header.chunk_bytes != chunk_bytes() ||
      bytes % chunk_bytes() != 0 ||
      header.meta_chunks != MetaChunks(index, bytes, chunk_bytes(), regions_) ||
      header.meta_chunks > bytes / chunk_bytes()) {
    return CorruptionAt(base, "segment",
                        "the file has " + std::to_string(bytes) + " bytes, its header says " +
                            std::to_string(header.segment_bytes) + "; truncated or extended");
  }
  const Segment segment{base,
                        bytes,
                        base + StateTableOffset(index, regions_),
                        base >> chunk_shift_,
                        header.meta_chunks,
                        header.region};
  segments_.push_back(segment);
  MapRegion(segment);
  return LoadStates(segment);
}

Status PmemPool::LoadStates(const Segment& segment) {
  const uint64_t count = segment.bytes >> chunk_shift_;
  const auto* words = reinterpret_cast<const uint64_t*>(At(segment.state_table));
  for (uint64_t i = count; i-- > 0;) {
    const uint64_t chunk = segment.first_chunk + i;
    // Relaxed, and once: another process may be changing the state of a chunk that this one does
    // not look into.
    const ChunkState state{
        std::atomic_ref<const uint64_t>(words[i]).load(std::memory_order_relaxed)};
    if (!state.IsValid(chunk) || state.generation() >= format::kMaxGeneration ||
        (state.kind() == ChunkKind::kMeta) != (i < segment.meta_chunks)) {
      return CorruptionAt(segment.state_table + i * sizeof(uint64_t), "chunk state",
                          "the state of chunk " + std::to_string(chunk) + " is damaged");
    }
    states_[chunk].store(state.raw, std::memory_order_relaxed);
    if (state.kind() == ChunkKind::kFree) free_[segment.region].push_back(chunk);
    if (state.kind() == ChunkKind::kWriteAhead) ++write_ahead_chunks_;
  }
  chunks_.store(segment.first_chunk + count, std::memory_order_release);
  return Status::OK();
}

Status PmemPool::RequireFeature(uint64_t incompat) {
  BRAID_CHECK(created_ && (incompat & ~format::kKnownIncompat) == 0);
  const base::MutexLock lock(header_mutex_);
  header_.incompat |= incompat;
  return WriteHeader();
}

Status PmemPool::MarkDirty(uint64_t incompat) {
  BRAID_CHECK(!read_only() && (incompat & ~format::kKnownIncompat) == 0);
  const base::MutexLock lock(header_mutex_);
  header_.clean = 0;
  header_.incompat |= incompat;
  CopyName(header_.boot_id, sizeof header_.boot_id, media_->boot_id());
  header_.media_class = static_cast<uint32_t>(media_->media_class());
  return WriteHeader();
}

Status PmemPool::RaiseGenerations() {
  // Far above: lives that the medium knows nothing of are few, since frees wait for a sync.
  constexpr uint32_t kStepBits = 16;
  uint64_t highest = header_.generation_floor;
  for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
    highest = std::max<uint64_t>(highest, StateOf(chunk).generation());
  }
  const uint64_t floor = ((highest >> kStepBits) + 2) << kStepBits;
  if (floor >= format::kMaxGeneration) {
    return Status::NotSupported(
        "the pool was rebuilt too often: the numbers by which chunks differ from their earlier "
        "uses have run out; make a new one of it with 'braid repair'");
  }
  const base::MutexLock lock(header_mutex_);
  header_.generation_floor = floor;
  return WriteHeader();
}

Status PmemPool::AnnounceIncompat(uint64_t features) {
  BRAID_CHECK(!read_only() && (features & ~format::kKnownIncompat) == 0);
  const base::MutexLock lock(header_mutex_);
  if ((header_.incompat & features) == features) return Status::OK();
  header_.incompat |= features;
  return WriteHeader();
}

Status PmemPool::AnnounceFormatVersion() {
  const base::MutexLock lock(header_mutex_);
  if (header_.version == format::kFormatVersionNumber) return Status::OK();
  header_.version = format::kFormatVersionNumber;
  return WriteHeader();
}

Status PmemPool::MarkClean() {
  BRAID_CHECK(!read_only());
  {
    // What could not be taken back would look like a file too many in a pool that is clean.
    const base::MutexLock lock(grow_mutex_);
    if (!growth_error_.ok()) return growth_error_;
  }
  // Page-cache media: everything before the mark must reach the medium before the mark does.
  if (Status s = media_->Sync(media::Site::kCleanSync); !s.ok()) return s;
  if (failed()) return FaultStatus();
  const base::MutexLock lock(header_mutex_);
  header_.clean = 1;
  Status s = WriteHeader();
  if (s.ok() && failed()) s = FaultStatus();
  if (!s.ok()) {
    // Nobody knows what of the mark reached the medium: the next open had better recover.
    header_.clean = 0;
    const Status again = WriteHeader();
    if (!again.ok()) return again;
  }
  return s;
}

Status PmemPool::WillCopy(uint64_t pages) {
  if (!read_only()) return Status::OK();
  const uint64_t bytes = copies_.memory_bytes() + pages * kPageBytes;
  if (bytes > memory_budget_) {
    return Status::NotSupported(
        "the pool was not closed in order, and to recover it read-only takes copies of " +
        std::to_string(bytes >> 20) + " MiB of it or more, beyond memory_budget_bytes (" +
        std::to_string(memory_budget_ >> 20) +
        " MiB): open it for writing once, or raise the budget");
  }
  copies_.Set(bytes);
  return Status::OK();
}

Status PmemPool::Grow(uint32_t region, uint64_t chunks_in_a_run) {
  const uint64_t before = chunks_of(region);
  const base::MutexLock grow_lock(grow_mutex_);
  if (chunks_of(region) != before) return Status::OK();  // another thread has just grown it
  if (failed()) return FaultStatus();
  if (!growth_error_.ok()) return growth_error_;
  return base::CatchToStatus([&] {
    grow_mutex_.AssertHeld();
    return GrowLocked(region, chunks_in_a_run);
  });
}

uint32_t PmemPool::segment_count() const {
  const base::MutexLock lock(mutex_);
  return static_cast<uint32_t>(segments_.size());
}

/// The size of a region's next segment: a quarter of what the region has, within limits. Small
/// ones, since a writer that finds no chunk waits for a whole segment.
uint64_t PmemPool::GrowthBytes(uint32_t region, uint64_t chunks_in_a_run) const {
  const uint64_t total = pool_bytes();
  const uint64_t largest = std::max<uint64_t>(256ull << 20, chunk_bytes() * 16);
  const uint64_t smallest = std::min(ShareBytes(), largest);
  const uint64_t needed = (chunks_in_a_run + 2) * chunk_bytes();
  const uint32_t index = segment_count();
  uint64_t bytes = std::clamp((chunks_of(region) << chunk_shift_) / 4, smallest, largest);
  bytes = std::max(bytes, needed + needed / 256);
  // The first segment of a region has more headers.
  if (index < regions_) bytes = std::max(bytes, LeastBytes(index, chunks_in_a_run));
  if (max_bytes_ != 0) bytes = std::min(bytes, max_bytes_ > total ? max_bytes_ - total : 0);
  BRAID_DCHECK(total <= media_->reserved_bytes());
  return std::min(bytes, media_->reserved_bytes() - total) & ~(chunk_bytes() - 1);
}

Status PmemPool::GrowLocked(uint32_t region, uint64_t chunks_in_a_run) {
  const base::ActivityScope activity(base::Activity::kGrowth);
  const uint64_t total = pool_bytes();
  const uint32_t index = segment_count();
  uint64_t bytes = GrowthBytes(region, chunks_in_a_run);
  Status s = FullError();
  while (bytes / chunk_bytes() >=
         MetaChunks(index, bytes, chunk_bytes(), regions_) + chunks_in_a_run) {
    s = media_->AddSegmentOf(region, bytes);
    if (s.ok() || !s.IsOutOfSpace()) break;  // a nearly full device may still hold a smaller one
    bytes = (bytes / 2) & ~(chunk_bytes() - 1);
  }
  if (!s.ok()) return s;
  const auto count_segment = [&] {
    const base::MutexLock lock(header_mutex_);
    BRAID_DCHECK(header_.segments <= index + 1);  // none is ever given up
    header_.segments = index + 1;
    return WriteHeader();
  };
  std::vector<uint64_t> fresh;
  s = base::CatchToStatus([&] {
    const Segment segment = InitSegment(index, region, total, bytes);
    if (failed()) return FaultStatus();
    {
      const base::MutexLock lock(mutex_);
      segments_.reserve(index + 1);
      free_[region].reserve(chunks_of(region) + (bytes >> chunk_shift_));
    }
    fresh.reserve(bytes >> chunk_shift_);
    if (Status published = media_->PublishSegment(); !published.ok()) return published;
    AddSegment(segment, &fresh);
    return Status::OK();
  });
  if (!s.ok()) return TakeBackSegment(std::move(s));
  if (s = count_segment(); !s.ok()) {
    // An open takes one segment that is not counted, and no second one.
    growth_error_ = s;
    return s;
  }
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(free_[region].size() + fresh.size() <= free_[region].capacity());
  free_[region].insert(free_[region].begin(), fresh.begin(), fresh.end());
  BRAID_DCHECK(unlisted_ >= fresh.size());
  unlisted_ -= fresh.size();
  return Status::OK();
}

/// A segment that could not be published must not be there: the next one would take a place that
/// no open would look at.
Status PmemPool::TakeBackSegment(Status reason) {
  Status dropped = base::CatchToStatus([&] { return media_->DropSegment(); });
  if (!dropped.ok()) growth_error_ = dropped;
  return reason;
}

Status PmemPool::FaultStatus() const {
  const uint64_t word = fault_.load(std::memory_order_acquire);
  if (word == 0) return Status::OK();
  return base::CatchToStatus([&] {
    return Status::IOError(media_->Locate(word - 1) +
                           ": the medium does not answer (SIGBUS): the file was truncated, or a "
                           "block is bad; close the database, look at the file and the kernel's "
                           "log, and open it again or restore a backup");
  });
}

Status PmemPool::CorruptionAt(uint64_t offset, const std::string& object,
                              const std::string& detail) const {
  return Status::Corruption(media_->Locate(offset) + ": " + object + ": " + detail);
}

}  // namespace braid::pool
