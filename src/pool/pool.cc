// Purpose: opening, creating and growing pools. The allocator is in chunk_allocator.cc.
// Thread safety, invariants, persistence: see pool.h.
#include "pool/pool.h"

#include <algorithm>
#include <bit>

#include "base/activity.h"
#include "base/check.h"
#include "base/no_throw.h"

namespace braid::pool {

using format::ChunkKind;
using format::ChunkState;
using format::kPageBytes;
using format::MetaChunks;
using format::PoolHeader;

namespace {

/// Of most machines; where it is another one nothing is lost.
constexpr uint64_t kHugePage = 2ull << 20;

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

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

/// What the options say must be what the pool was made with; what they leave open is the pool's.
Status CheckRegions(const PoolHeader& header, const Options& options) {
  const uint32_t regions = header.regions == 0 ? 1u : header.regions;
  if (options.pool.regions != 1 && options.pool.regions != regions) {
    return Status::InvalidArgument(
        "the pool was made with pool.regions=" + std::to_string(regions) + ", the options say " +
        std::to_string(options.pool.regions) + "; omit it, or copy the content to a new pool");
  }
  if (header.list_kind > static_cast<uint8_t>(ListKind::kBraided)) {
    return Status::NotSupported("the pool has lists of kind " + std::to_string(header.list_kind) +
                                ", which this library does not know; use a newer braid release");
  }
  // With one region all kinds are the same list.
  if (regions > 1 && options.lists.kind &&
      static_cast<uint8_t>(*options.lists.kind) != header.list_kind) {
    return Status::InvalidArgument(std::string("the pool was made with lists.kind=") +
                                   ListKindName(static_cast<ListKind>(header.list_kind)) +
                                   ", the options say " + ListKindName(*options.lists.kind) +
                                   "; omit it, or copy the content to a new pool");
  }
  return Status::OK();
}

/// A crash may have left a segment that is not counted; in a pool that is clean only while its
/// regions got their first ones.
bool CountsSegments(const PoolHeader& header, uint32_t regions, uint64_t found) {
  const bool may_have_one_more = header.clean != 1 || header.segments < regions;
  return found == header.segments || (found == header.segments + 1 && may_have_one_more);
}

}  // namespace

PmemPool::PmemPool(std::unique_ptr<media::Media> media, const Options& options)
    : ChunkSpace(std::move(media)),
      ops_(this->media().media_class()),
      max_bytes_(options.pool.max_bytes),
      initial_bytes_(options.pool.initial_bytes),
      // Small copies fill their chunks as the log does, of others half of each may be wasted.
      copied_bytes_((options.log.kind == LogKind::kBySize ? 1 : 2) * options.memtable.bytes),
      memory_budget_(options.memory_budget_bytes),
      holes_(this, &header_, &segments_, &free_) {
#if defined(BRAID_CRASHSIM)
  ops_.set_hook(this->media().hook());
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
      pool->media().segment_bytes().empty() ? pool->Create(options, init) : pool->Load(options);
  if (pool->failed()) return pool->FaultStatus();
  if (!s.ok()) return s;
  pool->KeepForCopies(true);
  return Result<std::unique_ptr<PmemPool>>(std::move(pool));
}

Status PmemPool::Create(const Options& options, const std::function<Status(PmemPool*)>& init) {
  created_ = true;
  SetLayout(options.pool.chunk_bytes, options.pool.regions,
            options.lists.kind.value_or(ListKind::kBraided) == ListKind::kBraided);
  // Headers, redo chunks and at least four chunks to write to.
  const uint64_t least = LeastBytes(0, 6);
  uint64_t bytes = ShareBytes();
  if (bytes < least && regions() == 1) {
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
  if (Status s = media().AddSegment(bytes); !s.ok()) return s;
  ops_.set_media_class(media().media_class());
  ops_.set_sync_marks(media().UseSyncMarks());
  if (Status s = ops_.Emulate(options.pool.emulate_write_ns, options.pool.emulate_write_mb_s);
      !s.ok()) {
    return s;
  }
  if (Status s = MakeTables(); !s.ok()) return s;

  dirty_shutdowns_ = media().dirty_shutdowns();
  header_.Make(options);
  std::vector<uint64_t> free;
  AddSegment(segments_.Init(header(), 0, 0, 0, bytes), &free);
  for (uint64_t& chunk : redo_chunks_) {
    chunk = free.back();
    free.pop_back();
    SetState(chunk, ChunkKind::kRedo, 1);
  }
  free_.Add(0, chunks(), free);
  free_.Reserve(0, chunks());
  if (Status s = header_.Write(); !s.ok()) return s;
  if (Status s = init(this); !s.ok()) return s;
  if (Status s = media().PublishSegment(); !s.ok()) return s;
  was_clean_ = true;
  return CompleteRegions();
}

/// An equal share of a new pool.
uint64_t PmemPool::ShareBytes() const noexcept {
  return RoundUp(RoundUp(initial_bytes_, regions()) / regions(), chunk_bytes());
}

/// The smallest segment that has room for `chunks` besides its headers.
uint64_t PmemPool::LeastBytes(uint32_t index, uint64_t chunks) const noexcept {
  uint64_t bytes = chunks * chunk_bytes();
  while (bytes / chunk_bytes() < MetaChunks(index, bytes, chunk_bytes(), regions()) + chunks) {
    bytes += chunk_bytes();
  }
  return bytes;
}

Status PmemPool::CompleteRegions() {
  const uint32_t found = segments_.count();
  if (read_only() && found < regions()) {
    return Status::NotSupported(
        "the creation of the pool was interrupted; open it for writing once");
  }
  for (uint32_t region = found; region < regions(); ++region) {
    if (Status s = Grow(region, 4); !s.ok()) return s;
  }
  ops_.set_media_class(media().media_class());
  ops_.set_sync_marks(media().UseSyncMarks());
  if (regions() == 1) return Status::OK();
  const std::vector<Segment> segments = segments_.All();
  std::array<int, format::kMaxRegions> nodes;
  for (uint32_t region = 0; region < nodes.size(); ++region) {
    // Invariant 4.
    BRAID_DCHECK(region >= regions() || segments[region].region == region);
    nodes[region] = region < regions() ? media().NodeAt(segments[region].base) : media::kNoNode;
  }
  SetRegionMap(media::RegionMap(regions(), nodes));
  return Status::OK();
}

/// Makes the chunks of a fresh segment known and adds those that are free to `fresh`, the lowest
/// last. Where both and segments_ have room, nothing here can fail.
void PmemPool::AddSegment(const Segment& segment, std::vector<uint64_t>* fresh) {
  const uint64_t count = ChunksIn(segment.bytes);
  BRAID_DCHECK(segment.first_chunk == chunks());  // segments lie side by side
  MapRegion(segment.base, segment.bytes, segment.region);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t chunk = segment.first_chunk + i;
    const ChunkKind kind = i < segment.meta_chunks ? ChunkKind::kMeta : ChunkKind::kFree;
    SetStateOf(chunk, ChunkState::Make(kind, 0, chunk));
  }
  for (uint64_t i = count; i > segment.meta_chunks; --i) {
    fresh->push_back(segment.first_chunk + i - 1);
  }
  segments_.Add(segment);
  PublishChunks(segment.first_chunk + count);
}

Status PmemPool::Load(const Options& options) {
  if (Status s = ops_.Emulate(options.pool.emulate_write_ns, options.pool.emulate_write_mb_s);
      !s.ok()) {
    return s;
  }
  BRAID_CHECK(!media().segment_bytes().empty());  // else it is created
  if (media().segment_bytes()[0] < format::kFirstStateTableOffset + kPageBytes) {
    return CorruptionAt(0, "segment", "it is too short for a pool header; truncated?");
  }
  if (Status s = header_.Read(); !s.ok()) return s;
  if (header().ro_compat != 0) {
    return Status::NotSupported("the pool has features that this library may only read");
  }
  if (Status s = CheckNames(header(), options, media().key_order()); !s.ok()) return s;
  if (Status s = CheckRegions(header(), options); !s.ok()) return s;
  // ChooseHeader has seen that they are possible.
  SetLayout(header().chunk_bytes, std::max<uint32_t>(header().regions, 1),
            static_cast<ListKind>(header().list_kind) == ListKind::kBraided);
  was_clean_ = header().clean == 1;
  // One that can't be read tells nothing, not even if it could not be read last time either.
  const std::string boot_id = media().boot_id();
  boot_changed_ = boot_id.empty() || boot_id != header().boot_id;
  dirty_shutdowns_ = media().dirty_shutdowns();
  const std::optional<uint64_t> before = header_.dirty_shutdowns();
  // A concurrent reader sees what the process that writes has verified.
  media_loss_possible_ =
      !was_clean_ && !media().cut() && before && dirty_shutdowns_ && *before != *dirty_shutdowns_;
  if (Status s = MakeTables(); !s.ok()) return s;

  const std::vector<uint64_t> sizes = media().segment_bytes();
  if (!CountsSegments(header(), regions(), sizes.size())) {
    return CorruptionAt(header_.place(), "pool header",
                        "it counts " + std::to_string(header().segments) +
                            " segments, the pool has " + std::to_string(sizes.size()) +
                            " in sequence; a segment file is missing or does not belong here");
  }
  if (holes_.MayBeThere()) holes_.NoteFound();
  uint64_t base = 0;
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    if (Status s = LoadSegment(i, base, sizes[i]); !s.ok()) return s;
    base += sizes[i];
  }
  BRAID_CHECK(base == pool_bytes());
  for (uint32_t region = 0; region < regions(); ++region) {
    free_.Reserve(region, chunks_of(region));
  }
  uint32_t redo = 0;
  for (uint64_t chunk = 0; chunk < chunks() && redo < 2; ++chunk) {
    if (StateOf(chunk).kind() == ChunkKind::kRedo) redo_chunks_[redo++] = chunk;
  }
  if (redo != 2) {
    return CorruptionAt(format::kFirstStateTableOffset, "chunk states",
                        "the pool has lost a redo chunk");
  }
  // While another process writes: what it has granted is durable, and its headers are its own.
  if (media().cut()) return CompleteRegions();
  segments_.FlushInherited(was_clean_);
  if (sizes.size() != header().segments) {
    if (Status s = header_.SetSegments(sizes.size()); !s.ok()) return s;
  }
  return CompleteRegions();
}

Status PmemPool::LoadSegment(uint32_t index, uint64_t base, uint64_t bytes) {
  const Result<Segment> segment = segments_.Read(header(), index, base, bytes);
  if (!segment.ok()) return segment.status();
  segments_.Add(*segment);
  MapRegion(base, bytes, segment->region);
  const Result<std::vector<ChunkState>> states = segments_.ReadStates(*segment);
  if (!states.ok()) return states.status();
  std::vector<uint64_t> free;
  for (uint64_t i = states->size(); i-- > 0;) {
    const ChunkState state = (*states)[i];
    SetStateOf(segment->first_chunk + i, state);
    if (state.kind() == ChunkKind::kFree) free.push_back(segment->first_chunk + i);
    if (state.kind() == ChunkKind::kWriteAhead) free_.AddWriteAhead();
  }
  free_.Add(segment->region, states->size(), free, holes_.found());
  PublishChunks(segment->first_chunk + states->size());
  return Status::OK();
}

Status PmemPool::RequireFeature(uint64_t incompat) {
  BRAID_CHECK(created_);
  return header_.Require(incompat);
}

Status PmemPool::MarkDirty(uint64_t incompat) {
  BRAID_CHECK(!read_only());
  // Only here: an open that is interrupted before finds the same difference again.
  header_.SetDirtyShutdowns(dirty_shutdowns_);
  if ((incompat & format::kIncompatTier) != 0) {
    if (Status s = header_.PrepareTier(); !s.ok()) return s;
  }
  return header_.MarkDirty(incompat);
}

std::string PmemPool::MediaLossText() const {
  return "the memory below the pool was shut down dirty while the pool was open (" +
         std::to_string(header_.dirty_shutdowns().value_or(0)) + " times before, " +
         std::to_string(dirty_shutdowns_.value_or(0)) +
         " now): acknowledged writes may be missing; all of the pool is verified";
}

Status PmemPool::RaiseGenerations() {
  // Far above: lives that the medium knows nothing of are few, since frees wait for a sync.
  constexpr uint32_t kStepBits = 16;
  uint64_t highest = header().generation_floor;
  for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
    highest = std::max<uint64_t>(highest, StateOf(chunk).generation());
  }
  const uint64_t floor = ((highest >> kStepBits) + 2) << kStepBits;
  if (floor >= format::kMaxGeneration) {
    return Status::NotSupported(
        "the pool was rebuilt too often: the generation numbers of chunks have run out; write its "
        "content to a new one with 'braid repair'");
  }
  return header_.SetGenerationFloor(floor);
}

Status PmemPool::AnnounceIncompat(uint64_t features) {
  BRAID_CHECK(!read_only());
  return header_.Announce(features);
}

Status PmemPool::MarkClean() {
  BRAID_CHECK(!read_only());
  {
    // What could not be taken back would look like a file too many in a pool that is clean.
    const base::MutexLock lock(grow_mutex_);
    if (!growth_error_.ok()) return growth_error_;
  }
  // Page-cache media: everything before the mark must reach the medium before the mark does.
  if (Status s = media().Sync(media::Site::kCleanSync); !s.ok()) return s;
  if (failed()) return FaultStatus();
  return header_.MarkClean();
}

Status PmemPool::WillCopy(uint64_t pages) {
  if (!read_only()) return Status::OK();
  const uint64_t bytes = copies_.memory_bytes() + pages * kPageBytes;
  if (bytes > memory_budget_) {
    return Status::NotSupported(
        "the pool was not closed cleanly, and to recover it read-only takes copies of " +
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
  Status grown = base::CatchToStatus([&] {
    grow_mutex_.AssertHeld();
    return GrowLocked(region, chunks_in_a_run);
  });
  KeepForCopies(grown.ok());
  return grown;
}

/// A pool that can't grow has to have room for the copies of all logs that wait for a flush,
/// however badly these fill their chunks. In others those of the next flush have, whose log is free
/// afterwards; should they need more, the pool grows.
void PmemPool::KeepForCopies(bool may_grow) noexcept {
  constexpr uint64_t kBegun = 8;  // chunks that hold little
  free_.KeepForCopies(may_grow && max_bytes_ == 0 ? ChunksIn(copied_bytes_) + kBegun : ~0ull);
}

/// The size of a region's next segment: an eighth of what the region has, within limits. Small
/// ones, since a writer that finds no chunk waits for a whole segment.
uint64_t PmemPool::GrowthBytes(uint32_t region, uint64_t chunks_in_a_run) const {
  const uint64_t total = pool_bytes();
  const uint64_t largest = std::max<uint64_t>(256ull << 20, chunk_bytes() * 16);
  const uint64_t smallest = std::min(ShareBytes(), largest);
  const uint64_t needed = (chunks_in_a_run + 2) * chunk_bytes();
  const uint32_t index = segments_.count();
  uint64_t bytes = std::clamp(ChunkOffset(chunks_of(region)) / 8, smallest, largest);
  bytes = std::max(bytes, needed + needed / 256);
  // The next segment begins where this one ends, and huge pages map whole ones of a file.
  if (bytes >= 4 * kHugePage) bytes = RoundUp(total + bytes, kHugePage) - total;
  // The first segment of a region has more headers.
  if (index < regions()) bytes = std::max(bytes, LeastBytes(index, chunks_in_a_run));
  if (max_bytes_ != 0) bytes = std::min(bytes, max_bytes_ > total ? max_bytes_ - total : 0);
  BRAID_DCHECK(total <= media().reserved_bytes());
  return std::min(bytes, media().reserved_bytes() - total) & ~(chunk_bytes() - 1);
}

Status PmemPool::GrowLocked(uint32_t region, uint64_t chunks_in_a_run) {
  const base::ActivityScope activity(base::Activity::kGrowth);
  const uint64_t total = pool_bytes();
  const uint32_t index = segments_.count();
  uint64_t bytes = GrowthBytes(region, chunks_in_a_run);
  Status s = FullError();
  while (bytes / chunk_bytes() >=
         MetaChunks(index, bytes, chunk_bytes(), regions()) + chunks_in_a_run) {
    s = media().AddSegmentOf(region, bytes);
    if (s.ok() || !s.IsOutOfSpace()) break;  // a nearly full device may still hold a smaller one
    bytes = (bytes / 2) & ~(chunk_bytes() - 1);
  }
  if (!s.ok()) return s;
  std::vector<uint64_t> fresh;
  s = base::CatchToStatus([&] {
    const Segment segment = segments_.Init(header(), index, region, total, bytes);
    if (failed()) return FaultStatus();
    segments_.Reserve(index + 1);
    free_.Reserve(region, chunks_of(region) + ChunksIn(bytes));
    fresh.reserve(ChunksIn(bytes));
    if (Status published = media().PublishSegment(); !published.ok()) return published;
    AddSegment(segment, &fresh);
    free_.Announce(ChunksIn(bytes), fresh.size());
    return Status::OK();
  });
  if (!s.ok()) return TakeBackSegment(std::move(s));
  if (s = header_.SetSegments(index + 1); !s.ok()) {
    // An open takes one segment that is not counted, and no second one.
    growth_error_ = s;
    return s;
  }
  free_.List(region, fresh);
  return Status::OK();
}

/// A segment that could not be published must not be there: the next one would take a place that
/// no open would look at.
Status PmemPool::TakeBackSegment(Status reason) {
  Status dropped = base::CatchToStatus([&] { return media().DropSegment(); });
  if (!dropped.ok()) growth_error_ = dropped;
  return reason;
}

}  // namespace braid::pool
