// Purpose: the second half of a salvage: evidence from links, and which version of each key counts.
// Thread safety, invariants, persistence: see salvage.h.
#include "repair/salvage.h"

#include <algorithm>
#include <cstring>

#include "media/file_media.h"
#include "pool/pool_facts.h"

namespace braid::repair {

using format::EntryHeader;
using format::EntryOp;
using format::EntryPtr;

Result<std::unique_ptr<Salvage>> Salvage::Read(const std::string& path,
                                               const RepairOptions& options,
                                               const std::string& tier) {
  Result<std::unique_ptr<media::PoolImage>> image = media::PoolImage::Open(path);
  if (!image.ok()) return image.status();
  return Read(std::move(image).value(), options, media::CurrentBootId(), tier);
}

Result<std::unique_ptr<Salvage>> Salvage::Read(std::unique_ptr<media::PoolImage> image,
                                               const RepairOptions& options,
                                               const std::string& boot_id,
                                               const std::string& tier) {
  Result<std::unique_ptr<DamagedPool>> pool =
      DamagedPool::Open(std::move(image), options.chunk_bytes, boot_id);
  if (!pool.ok()) return pool.status();
  std::unique_ptr<Salvage> salvage(new Salvage(std::move(pool).value()));
  if (Status s = salvage->OpenTier(tier); !s.ok()) return s;
  salvage->Run(options.progress);
  return salvage;
}

Salvage::Salvage(std::unique_ptr<DamagedPool> pool)
    : pool_(std::move(pool)),
      findings_(pool_->image(), pool_->geometry().findings),
      map_(*pool_, &findings_),
      values_(pool_->image()) {
  report_.chunk_bytes = pool_->chunk_bytes();
  report_.segments = pool_->geometry().segments.size();
}

void Salvage::Run(const std::function<void(double)>& progress) {
  report_.unreadable = findings_.NoteUnreadable();
  pool_->ReadManifest(&findings_);
  NoteTier();
  map_.Classify();
  redo_ = RedoUpdates(pool_->image(), pool_->chunk_bytes(), pool_->manifest(), map_.redo_chunks(),
                      !pool_->lost_page_cache());
  ReadEntries(progress);
  PlaceChunks();
  JudgeLogs();
  FollowLeaves();
  FollowLinks();
  Decide();
  if (tier_ != nullptr) DecideWithTier();
  NoteUnknownChunks();
  report_.findings = findings_.TakeSorted();
}

/// A link is no way to an entry here, but a witness: what it leads to was there.
void Salvage::TakeLink(uint64_t raw, bool bottom, std::vector<uint64_t>* targets) {
  const EntryPtr link{raw};
  if (raw == 0 || !link.IsValid() || link.IsEnd()) return;
  Candidate* candidate = FindCandidate(link.offset());
  if (candidate == nullptr) {
    // Of an entry that is left over, or of a flush that was not committed: to what was given back.
    if (map_.IsIdle(link.offset() / pool_->chunk_bytes())) return;
    targets->push_back(link.offset());
  } else if (bottom) {
    candidate->facts |= kLinked;
  }
}

/// The links of a table's head from a layer on; below it a strand's head has none.
void Salvage::FollowHead(uint64_t head, const format::TableRecord& table, uint32_t layer,
                         std::vector<uint64_t>* lost) {
  if (!pool_->image().Holds(head, sizeof(format::TableHead))) return;
  for (; layer < format::kMaxHeight; ++layer) {
    uint64_t raw;
    std::memcpy(&raw, pool_->base() + head + layer * sizeof raw, sizeof raw);
    if (!EntryPtr{raw}.IsValid()) {
      findings_.Note(head + layer * sizeof raw, sizeof raw,
                     "head of table " + std::to_string(table.id), "its check does not match",
                     false);
    }
    TakeLink(raw, layer == 0, lost);
  }
}

/// The links of a chunk's entries that count.
void Salvage::FollowEntries(const ScannedChunk& chunk, std::vector<uint64_t>* lost) {
  for (size_t i = 0; i < chunk.candidates; ++i) {
    const Candidate& candidate = candidates_[chunk.first_candidate + i];
    if (!candidate.is(kLive) || !candidate.is(kCommitted) || candidate.is(kCarrier)) continue;
    const EntryHeader& entry = *EntryOf(candidate);
    for (uint32_t layer = 0; layer < entry.height(); ++layer) {
      const EntryPtr link{entry.links()[layer]};
      if (!link.IsValid() && (link.raw != 0 || candidate.is(kFlushed))) {
        findings_.Note(candidate.offset + sizeof entry + layer * sizeof link.raw, sizeof link.raw,
                       "link of layer " + std::to_string(layer), "its check does not match", false,
                       &entry);
      }
      TakeLink(link.raw, layer == 0 && candidate.is(kFlushed), lost);
    }
  }
}

void Salvage::FollowTable(const format::TableRecord& table, std::vector<uint64_t>* lost) {
  const Geometry& geometry = pool_->geometry();
  if (table.head >= format::kTableHeads) {
    const uint64_t extension = pool_->manifest().extension * pool_->chunk_bytes();
    const bool is_braided =
        geometry.regions > 1 && (!geometry.header || geometry.header->list_kind ==
                                                         static_cast<uint8_t>(ListKind::kBraided));
    const uint32_t strands = is_braided ? geometry.regions : 1;
    const uint64_t head = format::HeadOffset(table.head, extension, pool_->chunk_bytes(), strands);
    for (uint32_t strand = 0; pool_->manifest().extension != 0 && strand < strands; ++strand) {
      FollowHead(head + strand * sizeof(format::TableHead), table, strand == 0 ? 0 : 1, lost);
    }
    return;
  }
  const uint64_t head = table.head * sizeof(format::TableHead);
  FollowHead(format::kTableHeadsOffset + head, table, 0, lost);
  for (const SegmentPlace& segment : geometry.segments) {
    if (!format::HasRegionHeads(segment.index, geometry.regions)) continue;
    FollowHead(segment.base + format::kRegionHeadsOffset + head, table, 1, lost);
  }
}

void Salvage::FollowLinks() {
  if (pool_->lost_page_cache() || map_.has_leaves()) return;
  std::vector<uint64_t> lost;
  for (const ScannedChunk& chunk : chunks_) {
    if (map_.LinksAreOfTable(chunk)) {
      FollowEntries(chunk, &lost);
    }
  }
  for (const uint64_t raw : redo_.links()) TakeLink(raw, true, &lost);
  for (const format::TableRecord& table : pool_->manifest().tables) FollowTable(table, &lost);
  std::sort(lost.begin(), lost.end());
  lost.erase(std::unique(lost.begin(), lost.end()), lost.end());
  const RangeSet known = findings_.LostRanges();
  for (const uint64_t offset : lost) {
    if (known.Meets(offset, 1) || pool_->image().FileAt(offset) == nullptr) continue;
    findings_.Note(offset, 0, "entry", "a link leads here, but no intact entry is here", true);
  }
}

void Salvage::Decide() {
  std::vector<const Candidate*> versions;
  for (const Candidate& candidate : candidates_) {
    // An obsolete entry with a damaged value may be the torn write of an earlier crash.
    const bool counts =
        candidate.is(kCommitted) && (candidate.is(kValueIntact) || candidate.is(kLive));
    if (counts) versions.push_back(&candidate);
  }
  // Of two that count alike the one that a list leads to: the other one is an original whose table
  // has its copies already, and which a merge that has yet to end will mark obsolete.
  const auto rank = [](const Candidate& c) {
    return 2 * (c.facts & (kLive | kValueIntact)) + (c.is(kLinked) ? 1 : 0);
  };
  std::sort(versions.begin(), versions.end(), [&](const Candidate* a, const Candidate* b) {
    const EntryHeader& x = *EntryOf(*a);
    const EntryHeader& y = *EntryOf(*b);
    if (const int order = x.key().compare(y.key()); order != 0) return order < 0;
    if (x.sequence() != y.sequence()) return x.sequence() > y.sequence();
    return rank(*a) > rank(*b);  // of an original and its copy the one that counts
  });
  for (size_t i = 0; i < versions.size();) {
    size_t end = i + 1;
    while (end < versions.size() &&
           EntryOf(*versions[end])->key() == EntryOf(*versions[i])->key()) {
      ++end;
    }
    DecideKey({versions.begin() + static_cast<std::ptrdiff_t>(i),
               versions.begin() + static_cast<std::ptrdiff_t>(end)});
    i = end;
  }
}

void Salvage::DecideKey(const std::vector<const Candidate*>& versions) {
  const Candidate& newest = *versions[0];
  const EntryHeader& entry = *EntryOf(newest);
  Decided decided{.offset = newest.offset};
  decided.is_salvaged =
      newest.is(kValueIntact) && newest.is(kLive) && entry.op() != EntryOp::kDelete;
  decided.was_replaced = !newest.is(kLive) && entry.op() != EntryOp::kDelete;
  if (decided.is_salvaged) ++count_;
  if (decided.is_salvaged || tier_ != nullptr) decided_.push_back(decided);
  if (!newest.is(kValueIntact)) {
    // What the tier has as well, or something newer, is not lost.
    if (TierHas(entry)) return;
    const std::optional<format::ExtentRef> ref = ValueReader::ExtentOf(entry);
    const bool known = ref && pool_->image().FileAt(ref->offset) != nullptr;
    findings_.Note(known ? ref->offset : newest.offset,
                   known ? sizeof(format::ExtentHeader) + ref->bytes : entry.size(),
                   known ? "extent" : "value of an entry", "the value does not match its check",
                   true, &entry);
    return;
  }
  if (newest.is(kStateDamaged)) {
    findings_.Note(newest.offset + EntryHeader::kStateByteOffset, 1, "state of an entry",
                   "it says neither live nor obsolete; the entry was taken for live", false,
                   &entry);
  }
  if (entry.op() == EntryOp::kDelete) return;
  if (!newest.is(kLive)) {
    // A rebuild that was interrupted takes all deletes for live.
    const bool older_is_live =
        std::any_of(versions.begin(), versions.end(), [&](const Candidate* version) {
          return version->is(kLive) &&
                 (!pool_->lost_page_cache() || EntryOf(*version)->op() != EntryOp::kDelete);
        });
    if (older_is_live && !TierHas(entry)) {
      if (!decided_.empty() && decided_.back().offset == newest.offset) {
        decided_.back().was_replaced = false;  // said here
      }
      findings_.Note(newest.offset, entry.size(), "entry",
                     "a newer version replaced it, and is lost; older ones were left out", true,
                     &entry);
    }
    return;
  }
  if (pool_->has_manifest() && !pool_->lost_page_cache() && newest.is(kFlushed) &&
      !newest.is(kLinked)) {
    findings_.Note(newest.offset, entry.size(), "entry",
                   "no link leads to it: what it holds may be an older version", false, &entry);
  }
}

/// Chunks of which nothing tells what they held. Those within a salvaged extent held that.
void Salvage::NoteUnknownChunks() {
  std::vector<media::PoolImage::Range> ranges;
  for (const Decided& decided : decided_) {
    const EntryHeader* entry = pool_->EntryAt(decided.offset);
    if (!decided.is_salvaged || !entry->has(format::kValueInExtent)) continue;
    const std::string_view value = values_.ValueOf(*entry);
    ranges.push_back({static_cast<uint64_t>(value.data() - pool_->base()), value.size()});
  }
  const RangeSet extents(std::move(ranges));
  for (const uint64_t chunk : map_.unknown_chunks()) {
    const bool in_extent = extents.Meets(chunk, pool_->chunk_bytes());
    const char* bytes = pool_->base() + chunk;
    const bool empty =
        std::all_of(bytes, bytes + pool_->chunk_bytes(), [](char byte) { return byte == 0; });
    // Behind the end of a truncated file, which is listed.
    if (!pool_->image().Holds(chunk, 1)) continue;
    findings_.Note(chunk, pool_->chunk_bytes(), "chunk",
                   "neither its state nor a header of it is intact", !in_extent && !empty);
  }
}

Status Salvage::ForEachRecord(
    const std::function<Status(std::string_view, std::string_view)>& take) const {
  if (tier_ != nullptr) return MergeTier(take, {}, {});
  for (const Decided& decided : decided_) {
    const EntryHeader* entry = pool_->EntryAt(decided.offset);
    if (Status s = take(entry->key(), values_.ValueOf(*entry)); !s.ok()) return s;
  }
  return Status::OK();
}

}  // namespace braid::repair
