// Purpose: a name for each place that makes something durable: what is written back there, what a
// fence waits for, what is synced. Docs and reports call them by these names. In the crashsim build
// each one can be dropped by itself (BRAID_MUTANT=<name>), and the crash tests must find that
// (tests/crash/site_table.cc): so no write-back is without a test that needs it.
// Thread safety: constants; `dropped_site` is set before any database is opened.
// Persistence: none; persist.h does it.
#pragma once

#include <cstdint>

namespace braid::media {

/// kXFence: waits until X and what was written back before it is durable. kXSync: page-cache media
/// only.
enum class Site : uint8_t {
  kNone = 0,  ///< names no place

  // Entries and batches.
  kEntryHeader,   ///< header, links and the lines that they share with the key
  kEntryPayload,  ///< the lines of key and value behind these
  kEntryFence,
  kBatchFence,
  kPutSync,

  // Chunks.
  kChunkHeader,
  kChunkHeaderFence,  ///< before the state says that the chunk is in use
  kChunkState,        ///< in use
  kChunkStateFence,
  kFreeState,
  kFreeStateFence,  ///< before the chunk is given out again
  kFreeStateSync,   ///< before the pages of a free chunk are given back
  kRedoState,
  kPlainStateFence,

  // Extents.
  kExtentValue,
  kExtentHeader,
  kExtentHeaderFence,  ///< header, value and bodies, before the state of the head
  kExtentState,

  // The pool's own structure.
  kSegmentHeader,
  kStateTable,
  kSegmentFence,
  kRegionHeads,
  kPoolHeader,
  kPoolHeaderFence,  ///< of one copy, before the other is touched
  kPoolHeaderSync,
  kDeviceRecord,      ///< of one copy of the pool header, what the devices said
  kCleanSync,         ///< everything, before the mark that the pool is clean
  kInheritedHeaders,  ///< open: what a process that died may have left in the caches
  kInheritedStates,
  kInheritedRecords,
  kInheritedFence,

  // The manifest.
  kLevelHead,
  kManifest,
  kManifestTables,  ///< those that have no room in the record
  kManifestFence,   ///< of one copy, before the other is touched
  kManifestSync,
  kManifestTablesSync,

  // Insertions into persistent memtables.
  kInPlaceLink,  ///< of the bottom layer
  kInPlaceUpperLink,
  kInPlaceOwnLinks,  ///< those of an entry of a batch
  kInPlaceFence,     ///< the links of a batch

  // Link flushes, and the write-back of their groups.
  kFlushLink,  ///< of the bottom layer
  kFlushUpperLink,
  kFlushEnd,  ///< the last link of a layer
  kFlushObsoleteMark,
  kFlushHead,
  kFlushStrandHead,
  kFlushFence,
  kFlushEntriesSync,  ///< before older versions are marked obsolete
  kGroupLinks,
  kGroupHead,
  kGroupFence,

  // Flushes by copies, bulk loads, copies made by collection.
  kCopies,
  kCopiesLink,
  kCopiesHead,
  kCopiesFence,
  kLoadedLink,
  kLoadSync,
  kKeptChunkMark,
  kCopyFlushMark,
  kCopyFlushFence,
  kCopyFlushSync,
  kCollectedCopiesSync,
  kMergeCopiesSync,
  kOriginalsMark,
  kOriginalsMarkFence,

  // Merges.
  kRedoRecord,
  kRedoFence,
  kMergeLines,  ///< links and obsolete marks
  kMergeFence,
  kPointerPrepareFence,
  kPointerUnlinkFence,
  kPointerLastFence,
  kPointerRepair,
  kPointerRepairFence,
  kReclaimSync,

  // Recovery.
  kLastWrites,
  kLastWritesFence,
  kTornMark,
  kSweepSync,
  kRebuildMark,  ///< what becomes of an entry
  kRebuildSync,
  kTierSync,  ///< all that the last level has, before the tier gets some of it

  // Leaves.
  kLeafSlot,
  kLeafSlotFence,
  kLeafCommit,
  kLeafCommitFence,
  kLeafRedirect,
  kLeafRedirectFence,
  kLeafCopyFence,
  kLeafObsoleteMark,
  kLeafHead,
  kNewLeaves,
  kNewLeavesFence,
  kLeafLink,
  kLeafLinkFence,
  kLeafImage,
  kLeafEmptyUnlinked,
  kLeafInherited,
  kLeafInheritedFence,
  kLeafLostMark,
  kLeafLostMarkFence,

  kOutside,  ///< of programs that use the seam without the store: peers in benchmarks, tests
  kCount
};

#if defined(BRAID_CRASHSIM)
/// The seeded fault of a site: nothing happens there.
extern Site dropped_site;
inline bool IsDropped(Site site) noexcept { return site == dropped_site; }
#else
constexpr bool IsDropped(Site) noexcept { return false; }
#endif

}  // namespace braid::media
