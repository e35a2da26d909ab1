// Purpose: the manifest: what a pool's tables are, which merges are open, how far logs are flushed.
// How its two copies are written, and what lies in an extension, is drawn in
// docs/internals/formats.md; they are written by level/manifest.h.
// Thread safety: plain values.
// Invariants:
//   1. A copy is as long as its content; its check covers all of it, its place, and, where tables
//      lie in the extension, the check of those.
//   2. Both copies name the same extension, and each has tables of its own in it.
// Persistence: declared here, written elsewhere. Copies of format version 1 can be read; their
// magic distinguishes them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/function_ref.h"
#include "format/layout.h"

namespace braid::format {

inline constexpr uint64_t kManifestMagic = 0x4E414D4449415242ull;   // "BRAIDMAN"
inline constexpr uint64_t kManifest1Magic = 0x314E414D5F444942ull;  // "BID_MAN1"

/// Flag of a table record: copies made by garbage collection, on their way into the last level.
/// Readers do not ask such a table, since the originals are still there.
inline constexpr uint16_t kTableOfCopies = 1;
/// Flag of the record of a merge's target: a merge without records is open or was interrupted, so
/// that `entries` is a guess until the table is counted as a whole.
inline constexpr uint16_t kEntriesNotCounted = 2;
/// The table's entries were copied, and its merge has begun: live entries of its logs are
/// leftovers.
inline constexpr uint16_t kTableWasCopied = 4;
/// A list whose entries were copied, and whose level has a list of the copies in its place: what is
/// left is to mark its entries obsolete. Readers do not ask it.
inline constexpr uint16_t kTableOfOriginals = 8;
/// One of the lists of a level, whose ranges of keys lie apart. It never changes.
inline constexpr uint16_t kTableOfRun = 16;
/// A table of L0 of which a part may be in L1 as well: it is rewritten before anything else.
inline constexpr uint16_t kTableIsBegun = 32;
/// Of a run: it was written with versions that only views see, or with deletes.
inline constexpr uint16_t kTableKeepsVersions = 64;

struct TableRecord {
  uint64_t id;
  uint16_t level;
  uint16_t flags;
  uint32_t head;     // index of its TableHead
  uint64_t entries;  // linked at the bottom layer
  uint64_t max_sequence;
};
static_assert(sizeof(TableRecord) == 32);

/// Flag of an open merge: it has no redo records; each of its links was made durable in turn.
inline constexpr uint32_t kMergeByPointers = 1;

/// An open merge, or the place for one.
struct MergeRecord {
  uint64_t id;         // 0: none is open here
  uint64_t source_id;  // of the table that is merged
  uint64_t target_id;  // of the list that it is merged into
  uint32_t flags;
  uint32_t floor;           // no part of the merge: see ManifestState, left_behind
  uint64_t redo_chunks[2];  // the place's own, kept when a merge has ended; 0: it has none yet
};
static_assert(sizeof(MergeRecord) == 48);
inline constexpr uint32_t kMaxMerges = 4;
inline constexpr uint32_t kMaxLevels = 8;

/// A copy. Not all of `tables` is written.
struct ManifestRecord {
  uint64_t magic;
  uint64_t check;  // of all that is written but these two
  uint64_t commit_count;
  uint64_t flushed_table_id;  // log chunks of higher ids are replayed
  uint64_t next_table_id;
  uint64_t last_sequence;  // no lower one may be handed out
  uint64_t next_merge_id;
  uint64_t collected_table_id;  // collected chunks up to this id belong to the store
  uint64_t merged_table_id;     // log chunks up to this id hold entries of the last level only
  uint32_t level_count;
  uint32_t table_count;
  uint64_t extension;        // chunk with more heads, and with tables that don't fit here; 0: none
  uint64_t extension_check;  // of this copy's tables there
  MergeRecord merges[kMaxMerges];
  TableRecord tables[247];  // newest first, level by level
};
inline constexpr uint32_t kTablesInRecord = sizeof(ManifestRecord::tables) / sizeof(TableRecord);
static_assert(offsetof(ManifestRecord, merges) == 96);
static_assert(offsetof(ManifestRecord, tables) == 96 + 48 * kMaxMerges);
static_assert(sizeof(ManifestRecord) == kManifestBytes);

/// A copy as format version 1 has it: two levels, one merge.
struct Manifest1Record {
  uint64_t magic;
  uint64_t commit_count;
  uint64_t flushed_table_id;
  uint64_t next_table_id;
  uint64_t last_sequence;
  uint64_t merge_id;  // of the merge in progress, 0 when there is none
  uint64_t merging_table_id;
  uint64_t next_merge_id;
  uint64_t collected_table_id;
  uint64_t merged_table_id;
  uint32_t table_count;
  uint32_t merge_flags;
  TableRecord tables[63];
  uint64_t check;  // of all above
};
static_assert(sizeof(Manifest1Record) == 88 + 32 * 63 + 8);

/// The id of the first list of a new pool: of the last level, where there are two.
inline constexpr uint64_t kL1Id = 1;

/// Bytes of a copy that are written; the most there are, where its counts are impossible.
uint64_t ManifestBytes(const ManifestRecord& record) noexcept;
/// What `check` should be in a copy at `place`.
uint64_t ManifestCheck(const ManifestRecord& record, uint64_t place) noexcept;

/// What the extension has room for, in a pool of such chunks: in its first quarter the tables of
/// the one copy, in the second those of the other, in its second half heads.
constexpr uint64_t ExtensionTables(uint64_t chunk_bytes) noexcept {
  return chunk_bytes / 4 / sizeof(TableRecord);
}
/// Heads: of each table one a strand, side by side.
constexpr uint64_t ExtensionHeads(uint64_t chunk_bytes, uint32_t strands) noexcept {
  return chunk_bytes / 2 / (sizeof(TableHead) * strands);
}
/// Where the tables of a copy (0, 1) begin in the extension.
constexpr uint64_t ExtensionTablesOffset(uint64_t chunk_bytes, int copy) noexcept {
  return copy == 0 ? 0 : chunk_bytes / 4;
}
/// Offset of the head with this index, of strand 0. The first kTableHeads lie in pages of the first
/// segment, all others in the extension.
constexpr uint64_t HeadOffset(uint32_t head, uint64_t extension_offset, uint64_t chunk_bytes,
                              uint32_t strands) noexcept {
  if (head < kTableHeads) return kTableHeadsOffset + head * sizeof(TableHead);
  return extension_offset + chunk_bytes / 2 + (head - kTableHeads) * sizeof(TableHead) * strands;
}

/// Chunks that hold nothing of the store any more, whatever the marks of their entries say: a merge
/// has written all that was needed of them elsewhere. With kIncompatLeftBehind.
struct LeftBehind {
  uint64_t table_id = 0;      // copied chunks of tables up to this id
  uint64_t collected_id = 0;  // collected chunks up to this id

  bool Has(ChunkKind kind, uint64_t id) const noexcept {
    return (kind == ChunkKind::kCopied && id <= table_id) ||
           (kind == ChunkKind::kCollected && id <= collected_id);
  }
};

/// What a manifest says.
struct ManifestState {
  uint64_t commit_count = 0;
  uint64_t flushed_table_id = 0;
  uint64_t next_table_id = 0;
  uint64_t last_sequence = 0;
  uint64_t next_merge_id = 1;
  uint64_t collected_table_id = 0;
  uint64_t merged_table_id = 0;
  uint32_t level_count = 2;
  uint64_t extension = 0;
  LeftBehind left_behind;  // in a copy: a word in each of its merge records
  std::array<MergeRecord, kMaxMerges> merges{};
  std::vector<TableRecord> tables;  // newest first, level by level

  /// The open merge of a table, or null.
  const MergeRecord* MergeOf(uint64_t source_id) const noexcept;
  MergeRecord* MergeOf(uint64_t source_id) noexcept;
  bool IsTarget(uint64_t table_id) const noexcept;
  uint32_t open_merges() const noexcept;
  bool AnyMerge() const noexcept { return open_merges() != 0; }
  /// How many chunks hold redo records.
  uint64_t redo_chunks() const noexcept;
  /// Copies on their way into the last level, or null.
  const TableRecord* Copies() const noexcept;
  /// A list of originals that are not marked obsolete yet, or null; of runs there may be several.
  const TableRecord* Originals() const noexcept;
  /// The list that `level` takes entries in with, or null; of the last level the one there is. Of a
  /// run: its first.
  const TableRecord* ListOf(uint32_t level) const noexcept;
  /// The list that everything is merged into, or null.
  const TableRecord* Bottom() const noexcept { return ListOf(level_count - 1); }
  const TableRecord* Find(uint64_t id) const noexcept;
  TableRecord* Find(uint64_t id) noexcept;
};

/// Gives `bytes` of a chunk from `offset` in it on, or null where the pool has no such chunk.
using ExtensionReader =
    base::FunctionRef<const char*(uint64_t chunk, uint64_t offset, uint64_t bytes)>;

/// Reads the copy (0, 1) whose kManifestBytes are at `bytes`, of either format version. False, and
/// nothing is said about `state`, when it is not intact. `version`: which it is. Whether what it
/// says is possible is not looked at. Throws std::bad_alloc.
bool DecodeManifest(const char* bytes, int copy, uint64_t chunk_bytes, ExtensionReader extension,
                    ManifestState* state, uint32_t* version);
/// Writes the copy as it is to lie in the pages; its tables from kTablesInRecord on are the
/// caller's to write. Returns its bytes.
uint64_t EncodeManifest(const ManifestState& state, int copy, ManifestRecord* record) noexcept;

}  // namespace braid::format
