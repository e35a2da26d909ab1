// Purpose: finding a damaged pool's geometry.
// Thread safety, persistence: see geometry.h.
#include "repair/geometry.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "pool/pool_facts.h"

namespace braid::repair {

using format::ChunkKind;
using format::ChunkState;
using format::kPageBytes;
using format::LogChunkHeader;
using format::PoolHeader;
using format::SegmentHeader;
using media::PoolImage;

namespace {

constexpr uint64_t kLargestChunk = 64ull << 20;
constexpr uint64_t kLargestPool = 1ull << 46;   // what is still mapped
constexpr uint64_t kSearchedPool = 1ull << 40;  // where a segment without a header is looked for
constexpr uint64_t kMostTries = 1ull << 26;     // places tried for all such segments together

struct FoundSegment {
  size_t file = 0;
  std::optional<SegmentHeader> header;
};

/// Headers of chunks in a file, by the hash that each mixes with its place.
struct Anchor {
  uint64_t in_file = 0;
  uint64_t hash = 0;
  uint64_t check = 0;
  uint32_t generation = 0;
  bool LiesAt(uint64_t place) const noexcept { return base::Mix(hash, place) == check; }
};

bool IsChunkSize(uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes >= kPageBytes && bytes <= kLargestChunk;
}

class GeometryFinder {
 public:
  GeometryFinder(const PoolImage& image, uint64_t chunk_bytes)
      : image_(image), wanted_(chunk_bytes) {}

  Result<Geometry> Run() {
    if (Status s = ReadPoolHeader(); !s.ok()) return s;
    ReadSegmentHeaders();
    FindRegions();
    if (Status s = FindChunkBytes(); !s.ok()) return s;
    PlaceSegments();
    const bool any_header =
        found_.header || std::any_of(segments_.begin(), segments_.end(), [](const auto& segment) {
          return segment.header.has_value();
        });
    if (!any_header) FindRegionsByStates();
    if (found_.segments.empty()) {
      return Status::Corruption(image_.files()[0].name +
                                "+0x0: segment header: neither it nor any chunk says where the "
                                "file belongs; nothing can be salvaged");
    }
    NoteMissing();
    return std::move(found_);
  }

 private:
  void Note(const std::string& file, uint64_t offset, uint64_t bytes, const std::string& object,
            const std::string& problem, bool lost) {
    found_.findings.push_back({file, offset, bytes, object, problem, std::nullopt, lost});
  }

  Status ReadPoolHeader() {
    const auto& files = image_.files();
    const auto first = std::find_if(files.begin(), files.end(),
                                    [](const PoolImage::File& file) { return file.index == 0; });
    if (first == files.end()) return Status::OK();
    PoolHeader copies[2] = {};
    for (int i = 0; i < 2; ++i) {
      const uint64_t place = format::kPoolHeaderOffset[i];
      const bool read = image_.ReadFile(static_cast<size_t>(first - files.begin()), place,
                                        &copies[i], sizeof copies[i]);
      if (!read || copies[i].magic != format::kPoolMagic ||
          copies[i].check != format::StructCheck(copies[i], place)) {
        copies[i] = PoolHeader{};
        Note(first->name, place, sizeof(PoolHeader), "pool header copy " + std::to_string(i + 1),
             "its check does not match", false);
      }
    }
    Result<PoolHeader> header = pool::ChooseHeader(copies, first->name + "+0x1000");
    if (header.ok()) {
      found_.header = *header;
    } else if (!header.status().IsCorruption()) {
      return header.status();
    }
    return Status::OK();
  }

  /// The header proves itself by a check that covers its own place.
  bool ReadSegmentHeader(size_t file, SegmentHeader* header) const {
    return image_.ReadFile(file, 0, header, sizeof *header) &&
           header->magic == format::kSegmentMagic &&
           header->check == format::StructCheck(*header, header->base_offset) &&
           IsChunkSize(header->chunk_bytes) && header->base_offset % header->chunk_bytes == 0 &&
           header->segment_bytes % header->chunk_bytes == 0 && header->segment_bytes != 0 &&
           header->base_offset < kLargestPool && header->segment_bytes < kLargestPool;
  }

  void ReadSegmentHeaders() {
    std::optional<SegmentHeader> first;
    for (size_t file = 0; file < image_.files().size(); ++file) {
      FoundSegment segment{file, std::nullopt};
      SegmentHeader header;
      const std::string& name = image_.files()[file].name;
      if (!ReadSegmentHeader(file, &header)) {
        Note(name, 0, sizeof header, "segment header", "its check does not match", false);
      } else {
        if (!first) first = header;
        const uint8_t* uuid = found_.header ? found_.header->uuid : first->pool_uuid;
        if (std::memcmp(header.pool_uuid, uuid, sizeof header.pool_uuid) != 0) {
          Note(name, 0, image_.files()[file].bytes, "segment",
               "it belongs to another pool; nothing was taken from it", true);
          continue;
        }
        if (header.index != image_.files()[file].index) {
          Note(name, 0, 0, "segment",
               "it is segment " + std::to_string(header.index) + " under another's name", false);
        }
        segment.header = header;
      }
      segments_.push_back(segment);
    }
  }

  void FindRegions() {
    for (const std::string& folder : image_.lost_folders()) {
      Note(folder, 0, 0, "folder of a region", "it can't be read", true);
    }
    uint32_t regions = found_.header ? found_.header->regions : 0;
    for (const FoundSegment& segment : segments_) {
      if (regions == 0 && segment.header) regions = segment.header->regions;
    }
    if (regions > 1 && regions <= format::kMaxRegions) found_.regions = regions;
  }

  Status FindChunkBytes() {
    uint64_t known = found_.header ? found_.header->chunk_bytes : 0;
    for (const FoundSegment& segment : segments_) {
      if (known == 0 && segment.header) known = segment.header->chunk_bytes;
    }
    if (wanted_ != 0 && !IsChunkSize(wanted_)) {
      return Status::InvalidArgument("chunks have a power of two of bytes, 4 KiB to 64 MiB, not " +
                                     std::to_string(wanted_));
    }
    if (known != 0 && wanted_ != 0 && known != wanted_) {
      return Status::InvalidArgument("the pool's headers are intact and say that a chunk has " +
                                     std::to_string(known) + " bytes, not " +
                                     std::to_string(wanted_) + "; leave the size away");
    }
    if (known == 0) known = wanted_;
    if (known == 0) known = SearchChunkBytes();
    if (known == 0) {
      return Status::Corruption(image_.files()[0].name +
                                "+0x0: segment header: neither a header nor the chunks give the "
                                "size of a chunk; name it with --chunk-bytes");
    }
    found_.chunk_bytes = known;
    return Status::OK();
  }

  /// Chunk headers of a file that look like one; their checks show later.
  std::vector<Anchor> ReadAnchors(size_t file, size_t limit) const {
    std::vector<Anchor> anchors;
    const uint64_t bytes = image_.files()[file].bytes;
    for (const PoolImage::Range& data : image_.files()[file].data) {
      for (uint64_t at = (data.offset + kPageBytes - 1) / kPageBytes * kPageBytes;
           at < data.offset + data.bytes && anchors.size() < limit; at += kPageBytes) {
        LogChunkHeader header;  // an extent's has magic, generation and check in the same places
        if (at + sizeof header > bytes || !image_.ReadFile(file, at, &header, sizeof header)) {
          continue;
        }
        const bool looks_like_one =
            header.magic == format::kLogChunkMagic || header.magic == format::kExtentMagic;
        if (!looks_like_one) continue;
        anchors.push_back(
            {at, base::Hash64(&header, sizeof header - 8), header.check, header.generation});
      }
    }
    return anchors;
  }

  /// Without any header: the chunk states of segment 0 are as many as it has chunks, and each chunk
  /// of entries has the generation that its state says.
  uint64_t SearchChunkBytes() {
    if (segments_.empty() || image_.files()[segments_[0].file].index != 0) return 0;
    const size_t file = segments_[0].file;
    const uint64_t bytes = image_.files()[file].bytes;
    const auto state_of = [&](uint64_t chunk) {
      ChunkState state;
      const uint64_t at = format::kFirstStateTableOffset + chunk * sizeof state.raw;
      return image_.ReadFile(file, at, &state.raw, sizeof state.raw) ? state : ChunkState{};
    };
    std::vector<Anchor> anchors = ReadAnchors(file, 1 << 16);
    std::erase_if(anchors, [](const Anchor& anchor) { return !anchor.LiesAt(anchor.in_file); });
    uint64_t states = 0;
    while (state_of(states).IsValid(states)) ++states;
    uint64_t best = 0;
    size_t most = 0;
    for (uint64_t size = kPageBytes; size <= kLargestChunk; size *= 2) {
      size_t score = bytes == states * size ? 2 : 0;
      for (const Anchor& anchor : anchors) {
        const uint64_t chunk = anchor.in_file / size;
        const ChunkState state = state_of(chunk);
        const bool fits = state.IsValid(chunk) && state.generation() == anchor.generation &&
                          state.kind() != ChunkKind::kMeta && state.kind() != ChunkKind::kRedo;
        if (anchor.in_file % size != 0) {
          score = 0;
          break;
        }
        score += fits ? 1 : 0;
      }
      if (score > 0 && score >= most) {
        most = score;
        best = size;
      }
    }
    if (best != 0 || anchors.empty()) return best;
    // The states are gone too. A size that all places of chunks share is the size of a chunk or a
    // multiple of it, which does for reading entries: they are found by their checks.
    uint64_t shared = kLargestChunk;
    for (const Anchor& anchor : anchors) shared |= anchor.in_file;
    Note(image_.files()[file].name, format::kFirstStateTableOffset, 0, "chunk states",
         "neither they nor a header give the size of a chunk; it was derived from the positions of "
         "chunks",
         false);
    return 1ull << std::countr_zero(shared);
  }

  /// A place where a chunk header of the file verifies.
  std::optional<uint64_t> SearchBase(size_t file) {
    const std::vector<Anchor> anchors = ReadAnchors(file, 16);
    std::vector<uint64_t> likely;  // side by side with a neighbour
    if (image_.files()[file].index == 0) likely.push_back(0);
    for (const SegmentPlace& other : found_.segments) {
      likely.push_back(other.base + other.bytes);
      if (other.base >= image_.files()[file].bytes) {
        likely.push_back(other.base - image_.files()[file].bytes);
      }
    }
    for (const Anchor& anchor : anchors) {
      for (const uint64_t base : likely) {
        if (anchor.LiesAt(base + anchor.in_file)) return base;
      }
    }
    for (size_t i = 0; i < std::min<size_t>(anchors.size(), 4); ++i) {
      for (uint64_t base = 0; base < kSearchedPool && tries_ < kMostTries;
           base += found_.chunk_bytes, ++tries_) {
        if (anchors[i].LiesAt(base + anchors[i].in_file)) return base;
      }
    }
    // Nothing to salvage lies here, but extents may; a first segment lies at the beginning.
    if (image_.files()[file].index == 0) return 0;
    return std::nullopt;
  }

  bool IsApart(const SegmentPlace& place) const {
    return std::none_of(
        found_.segments.begin(), found_.segments.end(), [&](const SegmentPlace& other) {
          return place.base < other.base + other.bytes && other.base < place.base + place.bytes;
        });
  }

  void Place(size_t file, uint32_t index, uint64_t base, uint64_t bytes) {
    const PoolImage::File& data = image_.files()[file];
    const SegmentPlace place{file, index, base, bytes, found_.regions};
    if (!IsApart(place)) {
      Note(data.name, 0, data.bytes, "segment",
           "its place in the pool is taken by another file; nothing was taken from it", true);
      return;
    }
    if (data.bytes < bytes) {
      Note(data.name, data.bytes, bytes - data.bytes, "segment",
           "the file was truncated: it had " + std::to_string(bytes) + " bytes", true);
    }
    found_.segments.push_back(place);
  }

  void PlaceSegments() {
    for (const FoundSegment& segment : segments_) {
      if (!segment.header) continue;
      Place(segment.file, segment.header->index, segment.header->base_offset,
            segment.header->segment_bytes);
    }
    for (const FoundSegment& segment : segments_) {
      if (segment.header) continue;
      const PoolImage::File& data = image_.files()[segment.file];
      const std::optional<uint64_t> base = SearchBase(segment.file);
      if (!base) {
        Note(data.name, 0, data.bytes, "segment",
             "its header is lost, and no chunk in it gives its position", true);
        continue;
      }
      // Without a header the file's own size has to do, up to the next segment.
      uint64_t bytes = std::max(data.bytes, found_.chunk_bytes);
      bytes = (bytes + found_.chunk_bytes - 1) / found_.chunk_bytes * found_.chunk_bytes;
      for (const SegmentPlace& other : found_.segments) {
        if (other.base > *base) bytes = std::min(bytes, other.base - *base);
      }
      Place(segment.file, data.index, *base, bytes);
    }
    std::sort(found_.segments.begin(), found_.segments.end(),
              [](const SegmentPlace& a, const SegmentPlace& b) { return a.base < b.base; });
    if (!found_.segments.empty()) {
      found_.pool_bytes = found_.segments.back().base + found_.segments.back().bytes;
    }
  }

  /// Whether the table of chunk states of a segment that was placed begins here: with the state of
  /// its own headers.
  bool StatesBeginAt(const SegmentPlace& place, uint64_t in_file) const {
    ChunkState state;
    return image_.ReadFile(place.file, in_file, &state.raw, sizeof state.raw) &&
           state.IsValid(place.base / found_.chunk_bytes) && state.kind() == ChunkKind::kMeta;
  }

  /// Where no header is left that says how many there are: the first segment of each region behind
  /// the first has heads before its chunk states, so that these begin further on.
  void FindRegionsByStates() {
    uint32_t regions = 1;
    for (const SegmentPlace& place : found_.segments) {
      const uint32_t most = format::kMaxRegions;
      const bool has_heads = format::HasRegionHeads(place.index, most) &&
                             StatesBeginAt(place, format::StateTableOffset(place.index, most)) &&
                             !StatesBeginAt(place, format::StateTableOffset(place.index, 1));
      if (has_heads) regions = std::max(regions, place.index + 1);
    }
    found_.regions = regions;
    for (SegmentPlace& place : found_.segments) place.regions = regions;
  }

  /// Segments that are not there, and those that the header counts behind the last: one finding a
  /// run of them, however many a number in a header or a name claims.
  void NoteMissing() {
    std::vector<uint64_t> there;
    for (const SegmentPlace& place : found_.segments) there.push_back(place.index);
    std::sort(there.begin(), there.end());
    there.push_back(std::max(found_.header ? found_.header->segments : 0, there.back() + 1));
    uint64_t next = 0;
    for (const uint64_t index : there) {
      if (index > next) {
        const std::string others =
            index - next == 1 ? "" : ", with those up to " + NameOf(index - 1);
        Note(NameOf(next), 0, 0, "segment", "the file is missing, or is not this pool's" + others,
             true);
      }
      next = std::max(next, index + 1);
    }
  }

  static std::string NameOf(uint64_t index) {
    char name[40];
    std::snprintf(name, sizeof name, "segment-%06llu", static_cast<unsigned long long>(index));
    return name;
  }

  const PoolImage& image_;
  const uint64_t wanted_;
  std::vector<FoundSegment> segments_;
  uint64_t tries_ = 0;
  Geometry found_;
};

}  // namespace

Result<Geometry> FindGeometry(const PoolImage& image, uint64_t chunk_bytes) {
  return GeometryFinder(image, chunk_bytes).Run();
}

}  // namespace braid::repair
