// Purpose: the second half of a salvage: what links still tell, and which version of each key
// counts.
// Thread safety, invariants, persistence: see salvage.h.
#include "repair/salvage.h"

#include <algorithm>
#include <cstring>

#include "media/file_media.h"

namespace braid::repair {

using format::EntryHeader;
using format::EntryOp;
using format::EntryPtr;

namespace {

using Ranges = std::vector<media::PoolImage::Range>;

/// The same bytes, by ranges that are ascending and apart.
Ranges Joined(Ranges ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  Ranges joined;
  for (const media::PoolImage::Range& range : ranges) {
    const uint64_t end = range.offset + range.bytes;
    if (joined.empty() || range.offset > joined.back().offset + joined.back().bytes) {
      joined.push_back(range);
    } else {
      joined.back().bytes = std::max(joined.back().bytes, end - joined.back().offset);
    }
  }
  return joined;
}

/// Whether any of the bytes is in ranges that are ascending and apart.
bool Meets(const Ranges& ranges, uint64_t offset, uint64_t bytes) {
  const auto behind = std::lower_bound(
      ranges.begin(), ranges.end(), offset + bytes,
      [](const media::PoolImage::Range& range, uint64_t end) { return range.offset < end; });
  if (behind == ranges.begin()) return false;
  const media::PoolImage::Range& last = *std::prev(behind);
  return last.offset + last.bytes > offset;
}

}  // namespace

Salvage::~Salvage() = default;

Result<std::unique_ptr<Salvage>> Salvage::Read(const std::string& path,
                                               const RepairOptions& options) {
  Result<std::unique_ptr<media::PoolImage>> image = media::PoolImage::Open(path);
  if (!image.ok()) return image.status();
  return Read(std::move(image).value(), options, media::CurrentBootId());
}

Result<std::unique_ptr<Salvage>> Salvage::Read(std::unique_ptr<media::PoolImage> image,
                                               const RepairOptions& options,
                                               const std::string& boot_id) {
  Result<Geometry> geometry = FindGeometry(*image, options.chunk_bytes);
  if (!geometry.ok()) return geometry.status();
  std::unique_ptr<Salvage> salvage(new Salvage());
  salvage->image_ = std::move(image);
  salvage->geometry_ = std::move(geometry).value();
  const Geometry& found = salvage->geometry_;
  salvage->report_.findings = found.findings;
  salvage->report_.chunk_bytes = found.chunk_bytes;
  salvage->report_.segments = found.segments.size();
  std::vector<media::PoolImage::Place> places;
  for (const SegmentPlace& segment : found.segments) places.push_back({segment.file, segment.base});
  // A file may be longer than its segment was.
  uint64_t bytes = found.pool_bytes;
  for (const auto& place : places) {
    bytes = std::max(bytes, place.base + salvage->image_->files()[place.file].bytes);
  }
  const uint64_t unit = found.chunk_bytes;
  bytes = (bytes + unit - 1) / unit * unit;
  if (Status s = salvage->image_->Map(places, bytes); !s.ok()) return s;
  // A sound pool's extents share no byte. Those of a damaged one are sometimes named by entries
  // that are not intact; and a copy of a pool may have holes where values are zero.
  constexpr uint64_t kInVain = 8;
  constexpr uint64_t kInHoles = 1ull << 36;
  salvage->extent_bytes_left_ = kInHoles;
  for (const media::PoolImage::File& file : salvage->image_->files()) {
    for (const auto& data : file.data) salvage->extent_bytes_left_ += kInVain * data.bytes;
  }
  if (found.header && found.header->clean == 0 &&
      found.header->media_class == static_cast<uint32_t>(MediaClass::kPage)) {
    salvage->links_mean_something_ = boot_id == found.header->boot_id;
  }
  salvage->has_leaves_ = found.header && (found.header->incompat & format::kIncompatLeaves) != 0;
  salvage->NoteUnreadable();
  salvage->LoadManifest();
  salvage->ClassifyChunks();
  salvage->ReadRedo();
  salvage->ReadEntries(options.progress);
  salvage->JudgeLogs();
  salvage->FollowLeaves();
  salvage->FollowLinks();
  salvage->Decide();
  salvage->NoteUnknownChunks();
  std::sort(salvage->report_.findings.begin(), salvage->report_.findings.end(),
            [](const RepairFinding& a, const RepairFinding& b) {
              return a.file != b.file ? a.file < b.file : a.offset < b.offset;
            });
  return salvage;
}

void Salvage::Note(uint64_t offset, uint64_t bytes, const std::string& object,
                   const std::string& problem, bool lost, const EntryHeader* entry) {
  RepairFinding finding;
  const media::PoolImage::File* file = image_->FileAt(offset);
  finding.file = file != nullptr ? file->name : "(no file)";
  finding.offset = file != nullptr ? offset - file->base : offset;
  finding.bytes = bytes;
  finding.object = object;
  finding.problem = problem;
  if (entry != nullptr) finding.key = std::string(entry->key());
  finding.lost = lost;
  report_.findings.push_back(std::move(finding));
  if (lost) lost_ranges_.push_back({offset, std::max<uint64_t>(bytes, 1)});
}

void Salvage::NoteUnreadable() {
  for (const media::PoolImage::Range& range : image_->unreadable()) {
    report_.unreadable += range.bytes;
    Note(range.offset, range.bytes, "medium", "it can't be read", true);
  }
}

bool Salvage::ValueIsIntact(const EntryHeader& entry, bool live) {
  if (format::ValueCheck(entry.value()) != entry.value_check) return false;
  if (!entry.has(format::kValueInExtent)) return true;
  format::ExtentRef ref;
  if (entry.value_bytes != sizeof ref) return false;
  // Of an obsolete entry the extent is given back, and another may have it.
  if (!live) return true;
  std::memcpy(&ref, entry.value().data(), sizeof ref);
  return ExtentIsIntact(ref);
}

/// The hash in the entry vouches for the value, whatever has become of the extent's header.
bool Salvage::ExtentIsIntact(const format::ExtentRef& ref) {
  const uint64_t begin = ref.offset + sizeof(format::ExtentHeader);
  if (ref.offset >= image_->bytes() || !image_->Holds(begin, ref.bytes)) return false;
  const uint64_t end = begin + ref.bytes;
  const auto behind = extents_.lower_bound(end);
  if (behind != extents_.begin()) {
    const auto& [known_begin, known] = *std::prev(behind);
    if (known.end > begin) {
      return known_begin == begin && known.end == end && known.check == ref.check;
    }
  }
  if (ref.bytes > extent_bytes_left_) return false;
  extent_bytes_left_ -= ref.bytes;
  if (base::Hash64(image_->base() + begin, ref.bytes) != ref.check) return false;
  if (ref.bytes != 0) extents_[begin] = {end, ref.check};
  return true;
}

std::string_view Salvage::ValueOf(const EntryHeader& entry) const {
  if (!entry.has(format::kValueInExtent)) return entry.value();
  format::ExtentRef ref;
  std::memcpy(&ref, entry.value().data(), sizeof ref);
  return {image_->base() + ref.offset + sizeof(format::ExtentHeader), ref.bytes};
}

/// A link is no way to an entry here, but a witness: what it leads to was there.
void Salvage::TakeLink(uint64_t raw, bool bottom, std::vector<uint64_t>* targets) {
  const EntryPtr link{raw};
  if (raw == 0 || !link.IsValid() || link.IsEnd()) return;
  Candidate* candidate = FindCandidate(link.offset());
  if (candidate == nullptr) {
    // Of an entry that is left over, or of a flush that was not committed: to what was given back.
    const uint64_t chunk = link.offset() / geometry_.chunk_bytes;
    if (std::binary_search(idle_chunks_.begin(), idle_chunks_.end(), chunk)) return;
    targets->push_back(link.offset());
  } else if (bottom) {
    candidate->facts |= kLinked;
  }
}

/// The links of a table's head from a layer on; below it a strand's head has none.
void Salvage::FollowHead(uint64_t head, const format::TableRecord& table, uint32_t layer,
                         std::vector<uint64_t>* lost) {
  if (!image_->Holds(head, sizeof(format::TableHead))) return;
  for (; layer < format::kMaxHeight; ++layer) {
    uint64_t raw;
    std::memcpy(&raw, image_->base() + head + layer * sizeof raw, sizeof raw);
    if (!EntryPtr{raw}.IsValid()) {
      Note(head + layer * sizeof raw, sizeof raw, "head of table " + std::to_string(table.id),
           "its check does not match", false);
    }
    TakeLink(raw, layer == 0, lost);
  }
}

/// The links of a chunk's entries that count.
void Salvage::FollowEntries(const EntryChunk& chunk, std::vector<uint64_t>* lost) {
  for (size_t i = 0; i < chunk.candidates; ++i) {
    const Candidate& candidate = candidates_[chunk.first_candidate + i];
    if (!candidate.is(kLive) || !candidate.is(kCommitted)) continue;
    const EntryHeader& entry = *EntryOf(candidate);
    for (uint32_t layer = 0; layer < entry.height(); ++layer) {
      const EntryPtr link{entry.links()[layer]};
      if (!link.IsValid() && (link.raw != 0 || candidate.is(kFlushed))) {
        Note(candidate.offset + sizeof entry + layer * sizeof link.raw, sizeof link.raw,
             "link of layer " + std::to_string(layer), "its check does not match", false, &entry);
      }
      TakeLink(link.raw, layer == 0 && candidate.is(kFlushed), lost);
    }
  }
}

void Salvage::FollowTable(const format::TableRecord& table, std::vector<uint64_t>* lost) {
  if (table.head >= format::kTableHeads) {
    const uint64_t extension = manifest_.extension * geometry_.chunk_bytes;
    const bool is_braided = geometry_.regions > 1 &&
                            (!geometry_.header || geometry_.header->list_kind ==
                                                      static_cast<uint8_t>(ListKind::kBraided));
    const uint32_t strands = is_braided ? geometry_.regions : 1;
    const uint64_t head = format::HeadOffset(table.head, extension, geometry_.chunk_bytes, strands);
    for (uint32_t strand = 0; manifest_.extension != 0 && strand < strands; ++strand) {
      FollowHead(head + strand * sizeof(format::TableHead), table, strand == 0 ? 0 : 1, lost);
    }
    return;
  }
  const uint64_t head = table.head * sizeof(format::TableHead);
  FollowHead(format::kTableHeadsOffset + head, table, 0, lost);
  for (const SegmentPlace& segment : geometry_.segments) {
    if (!format::HasRegionHeads(segment.index, geometry_.regions)) continue;
    FollowHead(segment.base + format::kRegionHeadsOffset + head, table, 1, lost);
  }
}

void Salvage::FollowLinks() {
  if (!links_mean_something_ || has_leaves_) return;
  std::vector<uint64_t> lost;
  for (const EntryChunk& chunk : chunks_) {
    if (LinksAreOfTable(chunk)) {
      FollowEntries(chunk, &lost);
    }
  }
  for (const uint64_t raw : redo_links_) TakeLink(raw, true, &lost);
  for (const format::TableRecord& table : manifest_.tables) FollowTable(table, &lost);
  std::sort(lost.begin(), lost.end());
  lost.erase(std::unique(lost.begin(), lost.end()), lost.end());
  const std::vector<media::PoolImage::Range> known = Joined(lost_ranges_);
  for (const uint64_t offset : lost) {
    if (Meets(known, offset, 1) || image_->FileAt(offset) == nullptr) continue;
    Note(offset, 0, "entry", "a link leads here, but no intact entry is here", true);
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
  if (!newest.is(kValueIntact)) {
    format::ExtentRef ref{};
    const bool in_extent = entry.has(format::kValueInExtent) && entry.value_bytes == sizeof ref &&
                           format::ValueCheck(entry.value()) == entry.value_check;
    if (in_extent) std::memcpy(&ref, entry.value().data(), sizeof ref);
    const bool known = in_extent && image_->FileAt(ref.offset) != nullptr;
    Note(known ? ref.offset : newest.offset,
         known ? sizeof(format::ExtentHeader) + ref.bytes : entry.size(),
         known ? "extent" : "value of an entry", "the value does not match its check", true,
         &entry);
    return;
  }
  if (newest.is(kStateDamaged)) {
    Note(newest.offset + EntryHeader::kStateByteOffset, 1, "state of an entry",
         "it says neither live nor obsolete; the entry was taken for live", false, &entry);
  }
  if (entry.op() == EntryOp::kDelete) return;
  if (!newest.is(kLive)) {
    // A rebuild that was interrupted takes all deletes for live.
    const bool older_is_live =
        std::any_of(versions.begin(), versions.end(), [&](const Candidate* version) {
          return version->is(kLive) &&
                 (links_mean_something_ || EntryOf(*version)->op() != EntryOp::kDelete);
        });
    if (older_is_live) {
      Note(newest.offset, entry.size(), "entry",
           "a newer version took its place, and is lost; older ones were left out", true, &entry);
    }
    return;
  }
  if (has_manifest_ && links_mean_something_ && newest.is(kFlushed) && !newest.is(kLinked)) {
    Note(newest.offset, entry.size(), "entry",
         "no link leads to it: what it holds may be an older version", false, &entry);
  }
  records_.push_back(newest.offset);
}

/// Chunks of which nothing tells what they held. Those within a salvaged extent held that.
void Salvage::NoteUnknownChunks() {
  std::vector<media::PoolImage::Range> extents;
  for (const uint64_t offset : records_) {
    const auto* entry = reinterpret_cast<const EntryHeader*>(image_->base() + offset);
    if (!entry->has(format::kValueInExtent)) continue;
    const std::string_view value = ValueOf(*entry);
    extents.push_back({static_cast<uint64_t>(value.data() - image_->base()), value.size()});
  }
  extents = Joined(std::move(extents));
  for (const uint64_t chunk : unknown_chunks_) {
    const bool in_extent = Meets(extents, chunk, geometry_.chunk_bytes);
    const char* bytes = image_->base() + chunk;
    const bool empty =
        std::all_of(bytes, bytes + geometry_.chunk_bytes, [](char byte) { return byte == 0; });
    if (!image_->Holds(chunk, 1)) continue;  // behind the end of a truncated file, which is listed
    Note(chunk, geometry_.chunk_bytes, "chunk", "neither its state nor a header of it is intact",
         !in_extent && !empty);
  }
}

Status Salvage::ForEachRecord(
    const std::function<Status(std::string_view, std::string_view)>& take) const {
  for (const uint64_t offset : records_) {
    const auto* entry = reinterpret_cast<const EntryHeader*>(image_->base() + offset);
    if (Status s = take(entry->key(), ValueOf(*entry)); !s.ok()) return s;
  }
  return Status::OK();
}

}  // namespace braid::repair
