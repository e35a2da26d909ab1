// Purpose: the seeded faults with which the crash tests test themselves (docs/testing.md). Each one
// drops or reorders a single flush, fence, check or undo step at the place that names it.
// In the crashsim build one mutant at a time can be switched on; in every other build BRAID_MUTANT
// is the constant false and nothing of it is compiled in.
// Thread safety: active_mutant is set before any database is opened. Persistence: none.
#pragma once

namespace braid::base {

enum class Mutant : int {
  kNone = 0,
  kEntryFlushSkipped,         ///< log: an entry is fenced without being written back
  kEntryFenceSkipped,         ///< log: an entry is acknowledged before the fence
  kEntryLastLineNotFlushed,   ///< log: the flush stops one line early
  kEntryChecksumNotVerified,  ///< recovery: a torn entry is replayed
  kEntryValueNotVerified,     ///< recovery: only the key's checksum is checked
  kBatchFenceOnlyFirst,       ///< log: only the first entry of a batch is flushed
  kBatchTornAccepted,         ///< recovery: an incomplete batch is replayed
  kGenerationNotInChecksum,   ///< format: entries of a chunk's earlier life verify
  kChunkStateBeforeHeader,    ///< allocator: the chunk is published before its header is durable
  kChunkStateNotFlushed,      ///< allocator: an allocated chunk's state is never written back
  kChunkFreedTooEarly,        ///< reclamation: chunks are freed before the merge is committed
  kFlushLinksNotFlushed,      ///< link flush: links of the new L0 table are not written back
  kFlushHeadNotFlushed,       ///< link flush: the head of the new table is not written back
  kManifestBeforeLinks,       ///< link flush: the table is committed before its links are durable
  kManifestNotFlushed,        ///< manifest: the record is not written back
  kManifestInPlace,           ///< manifest: always the same slot is overwritten
  kRedoNotFlushed,            ///< zipper: links are stored before the redo record is durable
  kRedoNotReplayed,           ///< recovery: an interrupted merge is not finished
  kRedoSingleBuffer,          ///< zipper: every batch overwrites the same redo chunk
  kMergeLinksNotFlushed,      ///< zipper: merged links are not durable when the redo is retired
  kMergeBoundaryIgnored,      ///< recovery: a resumed merge starts over from the head
  kSequenceRestartsAtZero,    ///< recovery: sequence numbers are reused
  kHeaderNotFlushed,          ///< creation: the pool header is published before it is durable
  kStateTableNotFlushed,      ///< creation, growth: chunk states are published before being durable
  kExtentNotFlushed,          ///< large values: the entry commits before its extent is durable
  kDeadMarkNotFlushed,        ///< zipper: marks of obsolete entries are not written back
  kReviveSkipped,             ///< recovery: marks of a flush that was not committed are believed
  kReplayKeepsOlderVersion,   ///< recovery: replay lets an older version win
  // Page-cache media
  kSyncPutNotSynced,            ///< put with sync: the medium is not asked
  kFlushEntriesNotSynced,       ///< flush: versions are marked dead before the newer one is synced
  kCollectedCopiesNotSynced,    ///< collection: originals are marked dead before copies are synced
  kReclaimNotSynced,            ///< reclamation: chunks are reused before marks of death are synced
  kHeaderCopiesNotSynced,       ///< pool header: nothing orders its two copies
  kManifestCopiesNotSynced,     ///< manifest: nothing orders its two copies
  kRebuildSkipped,              ///< recovery: links are believed after the page cache was lost
  kRebuildBelievesDeadDeletes,  ///< rebuild: a delete marked dead does not count
  kRebuildLeavesTornEntries,    ///< rebuild: entries of torn batches stay live
  kRebuildAcceptsHoles,         ///< rebuild: a batch that lost an entry in the middle counts
  kRebuildTakesCopies,          ///< rebuild: copies of an uncommitted collection are kept
  kRebuildFreesDeadExtents,     ///< rebuild: extents are freed that an interrupted one would need
  kRebuildReusesGenerations,    ///< rebuild: a chunk may get a generation that was lost
  kCount
};

#if defined(BRAID_CRASHSIM)
extern Mutant active_mutant;
#define BRAID_MUTANT(name) (::braid::base::active_mutant == ::braid::base::Mutant::name)
#else
#define BRAID_MUTANT(name) false
#endif

}  // namespace braid::base
