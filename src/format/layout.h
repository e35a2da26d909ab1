// Purpose: the persistent layouts of a pool besides entries: segment and pool headers, chunk states
// and headers, table heads, redo records, extents. That of the manifest is manifest.h. Drawn in
// docs/internals/formats.md.
// Thread safety: plain bytes.
// Invariants:
//   1. Every structure carries a check over all its bytes and over its own place; a word that
//      changes alone guards itself.
// Persistence: declared here, written elsewhere; sizes and offsets are part of the format version.
//
// Segment 0:  page 0 segment header | pages 1, 2 pool header A, B | pages 3-4, 5-6 manifest A, B |
//             pages 7-8 table heads | chunk states | ... chunks
// Segment n:  page 0 segment header | chunk states | ... chunks
// In a pool of R regions the segments 0 .. R - 1 are the first ones of regions 0 .. R - 1. Those
// behind segment 0 have table heads of their own: page 0 segment header | pages 1-2 table heads |
// chunk states | ... chunks
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/checksum.h"
#include "format/entry.h"
#include "format/link.h"

namespace braid::format {

inline constexpr uint64_t kPageBytes = 4096;
inline constexpr uint64_t kMaxChunkBytes = 64ull << 20;
/// Ids of tables and merges, and counts of commits, stay below: a pool does not live long enough to
/// reach it, so a higher one is damage.
inline constexpr uint64_t kMaxId = 1ull << 56;
/// So do the lives of a chunk.
inline constexpr uint32_t kMaxGeneration = 0xffff0000;
/// Of new pools. Older ones can be read, and become of this version when they are opened to write.
inline constexpr uint32_t kFormatVersionNumber = 2;
inline constexpr uint32_t kOldestFormatVersion = 1;
inline constexpr uint32_t kEndianMark = 0x01020304;

inline constexpr uint64_t kSegmentMagic = 0x314745535F444942ull;  // "BID_SEG1"
inline constexpr uint64_t kPoolMagic = 0x314C4F4F5F444942ull;     // "BID_OOL1"
inline constexpr uint64_t kRedoMagic = 0x3144455F5F444942ull;     // "BID__ED1"
inline constexpr uint32_t kLogChunkMagic = 0x474F4C42;            // "BLOG"
inline constexpr uint32_t kExtentMagic = 0x54584542;              // "BEXT"

inline constexpr uint64_t kPoolHeaderOffset[2] = {1 * kPageBytes, 2 * kPageBytes};
inline constexpr uint64_t kManifestOffset[2] = {3 * kPageBytes, 5 * kPageBytes};
inline constexpr uint64_t kManifestBytes = 2 * kPageBytes;
inline constexpr uint64_t kTableHeadsOffset = 7 * kPageBytes;
inline constexpr uint64_t kFirstStateTableOffset = 9 * kPageBytes;
inline constexpr uint64_t kOtherStateTableOffset = kPageBytes;
/// Of the table heads in the first segment of a region behind the first.
inline constexpr uint64_t kRegionHeadsOffset = kPageBytes;
inline constexpr uint32_t kMaxRegions = 4;

/// True for the first segment of a region behind the first, in a pool of `regions`.
constexpr bool HasRegionHeads(uint32_t segment, uint32_t regions) noexcept {
  return segment != 0 && segment < regions;
}
/// Offset of the table of chunk states in its segment.
constexpr uint64_t StateTableOffset(uint32_t segment, uint32_t regions = 1) noexcept {
  if (segment == 0) return kFirstStateTableOffset;
  return HasRegionHeads(segment, regions) ? kRegionHeadsOffset + 2 * kPageBytes
                                          : kOtherStateTableOffset;
}
/// Chunks at the start of a segment that hold its headers and its state table.
constexpr uint64_t MetaChunks(uint32_t segment, uint64_t bytes, uint64_t chunk_bytes,
                              uint32_t regions = 1) noexcept {
  const uint64_t table_end =
      StateTableOffset(segment, regions) + bytes / chunk_bytes * sizeof(uint64_t);
  return (table_end + chunk_bytes - 1) / chunk_bytes;
}

/// Features a reader must know (incompat), a writer must know (ro_compat), or may ignore (compat).
/// Incompat: the pool has several regions. Segments and links name theirs, and the header says how
/// lists lead through them.
inline constexpr uint64_t kIncompatRegions = 1;
/// Incompat: chunks of the kinds kWriteAhead and kCopied may be there.
inline constexpr uint64_t kIncompatCopies = 2;
/// Incompat: a merge is, or was, persisted link by link: the manifest's merge_flags and the table
/// flag kEntriesNotCounted may be in use.
inline constexpr uint64_t kIncompatPointerMerges = 1ull << 3;
/// Incompat: the data lies in leaves (leaf.h): chunks of the kinds kLeaf and kLeafIndex, and a list
/// of leaves.
inline constexpr uint64_t kIncompatLeaves = 1ull << 4;
/// Incompat: a TierRecord lies behind each copy of the pool header: entries may have gone to the
/// tier that it names.
inline constexpr uint64_t kIncompatTier = 1ull << 5;
/// Incompat: levels may have several lists, and entries may refer to the values of others: the
/// table flags from kTableOfRun on, the entry flag kValueElsewhere and the state kStateCarrier.
inline constexpr uint64_t kIncompatRuns = 1ull << 6;
/// Incompat: the manifest may say of chunks that they hold nothing of the store (LeftBehind).
inline constexpr uint64_t kIncompatLeftBehind = 1ull << 7;
/// Compat: a DeviceRecord lies behind each copy of the pool header.
inline constexpr uint64_t kCompatDeviceRecord = 1;
/// Compat: pages of free chunks may have been given back to the file system; room for them is asked
/// for before they are written to.
inline constexpr uint64_t kCompatHoles = 2;
inline constexpr uint64_t kKnownIncompat = kIncompatRegions | kIncompatCopies |
                                           kIncompatPointerMerges | kIncompatLeaves |
                                           kIncompatTier | kIncompatRuns | kIncompatLeftBehind;
inline constexpr uint64_t kKnownRoCompat = 0;

struct SegmentHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t endian;
  uint8_t pool_uuid[16];
  uint32_t index;
  uint8_t region;
  uint8_t regions;  // of the pool; 0: one
  uint16_t reserved;
  uint64_t base_offset;  // of the segment in the pool
  uint64_t segment_bytes;
  uint64_t chunk_bytes;
  uint64_t meta_chunks;  // chunks taken by headers and the state table
  uint64_t check;        // of all above
};
static_assert(sizeof(SegmentHeader) == 80);

struct PoolHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t endian;
  uint64_t compat;
  uint64_t ro_compat;
  uint64_t incompat;
  uint8_t uuid[16];
  uint64_t update_count;  // the newer copy has the higher one
  uint64_t chunk_bytes;
  uint32_t media_class;
  uint8_t clean;      // 1: closed in order after the last write
  uint8_t regions;    // with kIncompatRegions: 2 to 4; else 0, which is one
  uint8_t list_kind;  // with kIncompatRegions: a ListKind; else 0
  uint8_t reserved;
  char boot_id[40];  // of the last writer, zero-padded
  char design[24];
  char comparator[24];
  uint64_t segments;          // published ones; a crash may leave one more than this
  uint64_t generation_floor;  // below kMaxGeneration; chunks begin their next life at this
                              // generation or a higher one
  uint64_t check;
};
static_assert(sizeof(PoolHeader) == 192);
static_assert(offsetof(PoolHeader, clean) == 76 && offsetof(PoolHeader, boot_id) == 80);

/// What the kernel said of the devices below the pool when it was opened to write last. In the page
/// of each copy of the pool header, behind it; with kCompatDeviceRecord. It belongs to the copy
/// with the same update_count alone: a program that does not know of it leaves one behind that no
/// longer counts.
struct DeviceRecord {
  uint64_t magic;
  uint64_t update_count;     // of the copy of the header
  uint64_t dirty_shutdowns;  // of all memory modules, in sum
  uint64_t check;
};
static_assert(sizeof(DeviceRecord) == 32);
inline constexpr uint64_t kDeviceRecordMagic = 0x4345524456454442ull;  // "BDEVDREC"
inline constexpr uint64_t kDeviceRecordOffset = 256;  // from the copy of the pool header
static_assert(kDeviceRecordOffset >= sizeof(PoolHeader) &&
              kDeviceRecordOffset + sizeof(DeviceRecord) <= kPageBytes);

/// Which tier is below the pool, and where it was when the pool was opened to write last. In the
/// page of each copy of the pool header; with kIncompatTier. As a DeviceRecord it belongs to the
/// copy with the same update_count alone.
struct TierRecord {
  uint64_t magic;
  uint64_t update_count;  // of the copy of the header
  uint8_t id[16];         // the tier's own
  char path[240];         // zero-padded
  uint64_t check;
};
static_assert(sizeof(TierRecord) == 280);
inline constexpr uint64_t kTierRecordMagic = 0x4452524549544442ull;  // "BDTIERRD"
inline constexpr uint64_t kTierRecordOffset = 512;  // from the copy of the pool header
static_assert(kTierRecordOffset >= kDeviceRecordOffset + sizeof(DeviceRecord) &&
              kTierRecordOffset + sizeof(TierRecord) <= kPageBytes);

/// Kinds of chunk. A chunk's state word: bits 0..31 generation, 44..47 kind, 48..63 check.
enum class ChunkKind : uint8_t {
  kFree = 1,
  kMeta = 2,        ///< headers and state table of its segment
  kLog = 3,         ///< entries of a memtable or table
  kRedo = 4,        ///< redo records of a merge
  kExtentHead = 5,  ///< first chunk of a large value
  kExtentBody = 6,
  kCollected = 7,   ///< entries copied by garbage collection
  kWriteAhead = 8,  ///< entries of a memtable, of no table: a flush copies them
  kCopied = 9,      ///< entries of a table, copied by its flush
  kManifest = 10,   ///< extension of the manifest (manifest.h)
  kLeaf = 12,       ///< leaves (leaf.h)
  kLeafIndex = 13,  ///< image of the index over leaves, written by an orderly close
};

/// Whether a chunk state may say so.
constexpr bool IsChunkKind(ChunkKind kind) noexcept {
  return (kind >= ChunkKind::kFree && kind <= ChunkKind::kManifest) || kind == ChunkKind::kLeaf ||
         kind == ChunkKind::kLeafIndex;
}

/// Whether a chunk of the one kind may become one of the other: anything but headers is free at
/// first and in the end; what lies in between is a log that keeps its entries, and an extent that
/// gets its head.
constexpr bool MayBecome(ChunkKind from, ChunkKind to) noexcept {
  if (from == ChunkKind::kMeta || to == ChunkKind::kMeta) return false;
  if (from == ChunkKind::kFree || to == ChunkKind::kFree) return from != to;
  return (from == ChunkKind::kWriteAhead && to == ChunkKind::kLog) ||
         (from == ChunkKind::kExtentBody &&
          (to == ChunkKind::kExtentHead || to == ChunkKind::kExtentBody));
}

/// Whether chunks of the kind begin with a LogChunkHeader and hold entries.
constexpr bool HoldsEntries(ChunkKind kind) noexcept {
  return kind == ChunkKind::kLog || kind == ChunkKind::kCollected ||
         kind == ChunkKind::kWriteAhead || kind == ChunkKind::kCopied;
}
/// Whether chunks of the kind hold a large value.
constexpr bool IsOfExtent(ChunkKind kind) noexcept {
  return kind == ChunkKind::kExtentHead || kind == ChunkKind::kExtentBody;
}
/// Whether chunks of the kind are logs as long as their table is not flushed.
constexpr bool IsLogKind(ChunkKind kind) noexcept {
  return kind == ChunkKind::kLog || kind == ChunkKind::kWriteAhead;
}

struct ChunkState {
  uint64_t raw = 0;

  static uint64_t Check(uint64_t payload, uint64_t chunk) noexcept {
    // The chunk's number takes part, so that a state in another chunk's place is seen.
    const uint32_t crc = base::Crc32cWord(payload) ^ (base::Crc32cWord(chunk) << 1);
    return static_cast<uint64_t>(((crc ^ (crc >> 16)) & 0xFFFF) ^ 0xB1D5) << 48;
  }
  static ChunkState Make(ChunkKind kind, uint32_t generation, uint64_t chunk) noexcept {
    const uint64_t payload = (static_cast<uint64_t>(kind) << 44) | generation;
    return {payload | Check(payload, chunk)};
  }
  bool IsValid(uint64_t chunk) const noexcept {
    const uint64_t payload = raw & kOffsetMask;
    return (raw & ~kOffsetMask) == Check(payload, chunk) && (payload >> 32 & 0xFFF) == 0 &&
           IsChunkKind(kind());
  }
  ChunkKind kind() const noexcept { return static_cast<ChunkKind>((raw >> 44) & 0xF); }
  uint32_t generation() const noexcept { return static_cast<uint32_t>(raw); }
};

/// First line of a log or collected chunk; durable before the chunk's state says so.
struct LogChunkHeader {
  uint32_t magic;
  uint32_t generation;
  uint64_t table_id;  // the memtable, later table, whose entries these are
  uint32_t shard;
  uint32_t ordinal;        // place in the shard's log, from 0
  uint64_t previous_used;  // bytes used in the chunk with ordinal - 1, header included
  uint64_t within_unit;    // 1: allocated for a write whose first entries are in earlier chunks
  uint64_t kind;           // a ChunkKind, for a repair whose state is damaged; 0 in older chunks
  uint64_t reserved;
  uint64_t check;  // of all above and the chunk's number
};
static_assert(sizeof(LogChunkHeader) == 64);

struct ExtentHeader {
  uint32_t magic;
  uint32_t generation;
  uint64_t chunks;
  uint64_t value_bytes;
  uint64_t owner;  // offset of the entry that names the extent
  uint64_t reserved[3];
  uint64_t check;
};
static_assert(sizeof(ExtentHeader) == 64);

/// Heads of linked tables.
struct TableHead {
  uint64_t links[kMaxHeight];
};
inline constexpr uint32_t kTableHeads = 2 * kPageBytes / sizeof(TableHead);
static_assert(sizeof(TableHead) == 128 && kTableHeads == 64);

/// One absolute update of a merge.
struct RedoUpdate {
  uint64_t target;  // bits 0..47 offset of the word or entry; bit 63: mark the entry obsolete
  uint64_t value;
};
inline constexpr uint64_t kRedoMarkObsolete = 1ull << 63;

/// First line of a redo chunk; the updates follow.
struct RedoHeader {
  uint64_t magic;
  uint64_t merge_id;
  uint64_t batch;  // from 1
  uint32_t count;
  uint32_t generation;
  uint64_t boundary;        // offset of the first entry of the table that is merged already
  int64_t entries_delta;    // of L1 by all batches of the merge up to this one
  uint64_t merged_entries;  // of the table, likewise
  uint64_t check;           // of all above and the updates
};
static_assert(sizeof(RedoHeader) == 64);

/// Check of a structure whose last 8 bytes are its check; `place` is its offset in the pool.
template <class T>
uint64_t StructCheck(const T& structure, uint64_t place) noexcept {
  return base::Mix(base::Hash64(&structure, sizeof(T) - 8), place);
}

}  // namespace braid::format
