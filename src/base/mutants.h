// Purpose: the seeded faults with which the tests test themselves (docs/crash-simulator.md). Each
// one drops, weakens or reorders a single flush, fence, check, order or undo step at the place that
// names it. In the crashsim build one mutant at a time can be switched on (BRAID_MUTANT=<name> in
// the environment of a test program); in every other build BRAID_MUTANT is the constant false and
// nothing of it is compiled in. What kind of mistake each is, and which test finds it first, stands
// in tests/crash/mutant_table.cc.
// Thread safety: active_mutant is set before any database is opened. Persistence: none.
#pragma once

namespace braid::base {

enum class Mutant : int {
  kNone = 0,

  // Entries and batches.
  kEntryFlushSkipped,           ///< an entry is fenced without its header being written back
  kEntryFenceSkipped,           ///< an entry is acknowledged before the fence
  kEntryPayloadNotFlushed,      ///< the lines of key and value behind the header are left out
  kEntryLastLineNotFlushed,     ///< the flush stops one line early
  kEntryShownBeforeFence,       ///< readers find a put that is not durable yet
  kEntryChecksumNotVerified,    ///< recovery: a torn entry is replayed
  kEntryValueNotVerified,       ///< recovery: only the key's checksum is checked
  kGenerationNotInChecksum,     ///< entries of a chunk's earlier life verify
  kAddressInCheck,              ///< checks depend on where the pool is mapped
  kBatchFenceOnlyFirst,         ///< only the first entry of a batch is flushed
  kBatchAsSingles,              ///< the entries of a batch are not chained
  kBatchShownBeforeFence,       ///< readers find a batch that is not durable yet
  kBatchPublishedBeforeInsert,  ///< readers may see the part of a batch that is inserted already
  kFailureMissedByInsert,       ///< a write that was admitted draws the numbers of a failed batch
  kBatchTornAccepted,           ///< recovery: an incomplete batch is replayed

  // Chunks: allocation and release.
  kChunkHeaderNotFlushed,     ///< the header of a new chunk is not written back
  kChunkHeaderNotFenced,      ///< its header and its state become durable in any order
  kChunkStateBeforeHeader,    ///< the chunk is published before its header is durable
  kChunkStateNotFlushed,      ///< no chunk's state is ever written back
  kChunkStateNotFenced,       ///< entries may be durable in a chunk that is free
  kGenerationNotRaised,       ///< a chunk begins a new life under its old generation
  kWithinUnitNotRecorded,     ///< a chunk that was left within a batch looks as if it were whole
  kAbandonedChunksKept,       ///< a refused write keeps the chunks that it had taken
  kAbandonOldestFirst,        ///< a refused write gives its chunks back in the wrong order
  kReserveForDeletesIgnored,  ///< deletes may not use the last chunks of a full pool
  kReserveForCopiesIgnored,   ///< neither may collection
  kChunkFreedTooEarly,        ///< chunks are freed before the merge is committed
  kChunkRetiredTwice,         ///< an empty chunk is given back once a look
  kFreeStateNotFlushed,       ///< that a chunk is free is not written back
  kFreeStateNotFenced,        ///< a chunk is reused before it is durably free
  kDeadNotAccounted,          ///< what a merge marks dead stays in the counts of live bytes

  // Extents.
  kExtentNotFlushed,        ///< the entry commits before its extent's bytes are durable
  kExtentHeaderNotFlushed,  ///< the extent's header is not written back
  kExtentHeaderNotFenced,   ///< its header and the state of its head become durable in any order
  kExtentStatesNotFlushed,  ///< the states of its chunks are not written back
  kExtentBodiesAfterHead,   ///< the head is taken before the bodies are
  kExtentHeadReserved,      ///< the head is taken while the value is copied, before its header
  kExtentBodiesFreedFirst,  ///< a head is left whose bodies are free
  kExtentFreedTooEarly,     ///< a flush frees extents before it is committed
  kExtentValueNotVerified,  ///< recovery: the bytes of an extent are not checked
  kExtentsNotSwept,         ///< recovery: extents without a live owner are kept
  kExtentsOfDeadKept,       ///< recovery: those whose owner is dead are kept
  kSweepNotSynced,          ///< recovery: extents are freed before the marks of death are durable
  kExtentBodiesNotSwept,    ///< recovery: bodies without a head are kept

  // Creation, growth, the pool header.
  kPoolPublishedEarly,       ///< the pool exists before its first manifest does
  kSegmentHeaderNotFlushed,  ///< a segment exists before its header is durable
  kStateTableNotFlushed,     ///< a segment exists before its chunk states are durable
  kRedoChunksNotFlushed,     ///< the pool exists before its redo chunks are durable
  kL1HeadNotFlushed,         ///< the pool exists before L1's empty head is durable
  kRegionsNotCompleted,      ///< recovery: regions that a creation had not come to stay without
  kRegionHeadsNotFlushed,    ///< a region exists before the empty heads in it are durable
  kSegmentPublishedEarly,    ///< growth: the segment exists before anything is in it
  kSegmentCountedEarly,      ///< growth: the pool header counts a segment that does not exist
  kSegmentLeftUncounted,     ///< recovery: a pool header that says one less is not corrected
  kHeaderNotFlushed,         ///< the pool header is never written back
  kHeaderBothAtOnce,         ///< one fence for both copies
  kHeaderNewestFirst,        ///< the copy that may be the only intact one is overwritten first
  kHeaderInPlace,            ///< there is only one copy
  kHeaderCheckIgnored,       ///< a torn copy is taken
  kDirtyNotMarked,           ///< open: the pool stays marked as closed in order
  kLockKeptInPool,           ///< the mark of an unclean pool is taken for a lock that is held
  kChunkBytesFromOptions,    ///< open: the chunk size is what the options say

  // The flush of memtables, and the manifest.
  kFlushLinksNotFlushed,        ///< links of the new L0 table are not written back
  kFlushUpperLinksNotFlushed,   ///< those above the bottom layer are not
  kFlushEndsNotFlushed,         ///< the ends of its layers are not
  kFlushHeadNotFlushed,         ///< its head is not
  kFlushStrandHeadsNotFlushed,  ///< of a braided list only the first region's head is
  kFlushNotFenced,              ///< links and manifest become durable in any order
  kTowerHalfBuilt,              ///< the topmost layer of a tall entry is not linked
  kFlushIgnoresViews,           ///< versions that a snapshot sees are dropped
  kFlushDropsDeletes,           ///< deletes are dropped although L1 has older versions
  kManifestBeforeLinks,         ///< the table is committed before its links are durable
  kFlushedIdNotRaised,          ///< the manifest has the table, and its log is replayed too
  kCheckpointLinksNotFlushed,   ///< checkpoint: links and marks of the group are not written back
  kCheckpointTowersNotFlushed,  ///< checkpoint: only links of the bottom layer are
  kCheckpointMarksNotFlushed,   ///< checkpoint: marks of death are not
  kCheckpointHeadsNotFlushed,   ///< checkpoint: heads of the tables are not
  kCheckpointNotFenced,         ///< checkpoint: no fence before the commit
  kCheckpointBeforeWriteBack,   ///< checkpoint: committed first, written back then
  kCheckpointForgetsATable,     ///< checkpoint: the boundary moves past a table that is not added
  kCheckpointBoundaryEarly,     ///< lazy flush: the boundary moves with the next commit of anything
  kWaitingExtentsFreed,         ///< lazy flush: extents of versions left out are freed at once
  kCopyFlushNotFenced,          ///< copying flush: no fence behind marks and chunk states
  kCopyGetsAnotherSequence,     ///< copying flush: a copy does not keep its number
  kKeptChunkNotMarked,          ///< copying flush: what was copied from a chunk that stays lives on
  kKeptChunkNotTurned,          ///< copying flush: a chunk with large values stays write-ahead
  kWriteAheadFreedEarly,        ///< copying flush: the log is freed under its readers
  kWriteAheadNotSwept,          ///< recovery keeps logs whose tables have copies
  kFlushCopiesNotSwept,         ///< recovery keeps copies that were not committed
  kOriginalsNotMarked,          ///< merge that copies: what was copied is never marked dead
  kOriginalsMarkNotFlushed,     ///< merge that copies: these marks are not written back
  kOriginalsMarkedEarly,        ///< merge that copies: marked before the table's copies count
  kManifestNotFlushed,          ///< the manifest is never written back
  kManifestInPlace,             ///< there is only one copy
  kManifestBothAtOnce,          ///< one fence for both copies
  kManifestOneCopy,             ///< only the first copy is written: damage to it loses the commit
  kManifestCheckIgnored,        ///< a torn copy is taken
  kManifestNotRepaired,         ///< recovery: a torn copy is left for the next commit to complete
  kExtensionNotFlushed,         ///< the manifest's tables that lie in its extension are not
  kPlainChunksNotSwept,         ///< recovery: redo chunks of a commit that never came stay
  kFormatNotAnnounced,          ///< a manifest of version 2 in a pool whose header says 1

  // The zipper merge and its redo log.
  kMergeBeginNotCommitted,  ///< links change before the manifest says that a merge is under way
  kMergeIdReused,           ///< redo records of an earlier merge count
  kMergeResumedUnderNewId,  ///< the redo records of the interrupted merge do not count
  kRedoNotFlushed,          ///< links are stored before the redo record is durable
  kRedoBodyNotFlushed,      ///< only the first line of the record is written back
  kRedoNotFenced,           ///< record and links become durable in any order
  kRedoSingleBuffer,        ///< every batch overwrites the same redo chunk
  kRedoNotReplayed,         ///< recovery: the newest batch is not made again
  kRedoCheckIgnored,        ///< recovery: a torn record is taken
  kRedoMergeIdIgnored,      ///< recovery: a record of another merge is taken
  kRedoOlderCounts,         ///< recovery: the older of two records is taken
  kRedoCutByOption,         ///< recovery: no more updates than a batch has entries by the options
  kAddressInRedo,           ///< redo records name addresses
  kMergeLinksNotFlushed,    ///< merged links are not durable when the redo is retired
  kMergeLinksNotFenced,     ///< a batch's updates and the next record become durable in any order
  kMergeOneStrand,          ///< versions in other regions than the newest stay in upper layers
  kMergeBottomOnly,         ///< only the bottom layer is merged
  kMergeIgnoresViews,       ///< versions that a snapshot sees are dropped
  kMergeDropsDeleteEarly,   ///< a delete is dropped although older versions are kept
  kMergeDeadMarkSkipped,    ///< entries that are unlinked are not marked dead
  kDeadMarkNotFlushed,      ///< marks of obsolete entries are not written back
  kMergeBoundaryIgnored,    ///< recovery: a resumed merge starts over from the head
  kMergeCountsForgotten,    ///< recovery: a resumed merge counts from zero
  kOpenMergeWaits,          ///< recovery: other work is done before the open merge is ended
  kMergedSourceKept,        ///< merge end: the source stays a table
  kMergedIdNotRaised,       ///< merge end: chunks of the source are never given back
  kMergeEndNotCommitted,    ///< merge end: space is given back before the manifest says so

  // Merges that are persisted link by link.
  kPointerTowerNotFenced,     ///< an entry is linked before its own links are durable
  kPointerUnlinkNotFenced,    ///< an entry counts as merged before what it replaces is unlinked
  kPointerLastNotFenced,      ///< the next entry is begun before this one's link is durable
  kPointerSourceMarkedFirst,  ///< a source entry is marked dead before what it hides is unlinked
  kPointerTakenForRedo,       ///< recovery: looks for redo records
  kPointerBoundaryWrong,      ///< recovery: the entry under way counts as merged
  kPointerDeadNotMerged,      ///< recovery: an entry that was dropped does not count as merged
  kPointerDeadNotRevived,     ///< recovery: what was to be replaced stays marked dead
  kBorderLow,                 ///< merge: a border is in the bottom layer alone
  kBorderDroppedEarly,        ///< merge: while another one is open whose records name the border
  kBordersCrossed,            ///< merge: side by side, the border is taken for a version of its key
  kPointerEndNotTakenBack,    ///< recovery: the source ends at the entry under way
  kPointerTowersNotRepaired,  ///< recovery: upper layers stay ahead of the bottom one
  kPointerRepairNotFlushed,   ///< recovery: what lies in the caches is not written back
  kPointerCountBelieved,      ///< recovery: the number of entries in the manifest is believed

  // Collection.
  kCopiesNotFlushed,      ///< links of the copies are not written back
  kCopiesHeadNotFlushed,  ///< the head of the copies is not
  kCopiesNotFenced,       ///< copies and manifest become durable in any order
  kCopiesMergeNotBegun,   ///< the table of copies is committed, but not that it is being merged
  kCollectedIdNotRaised,  ///< recovery frees the chunks of committed copies
  kCopiesNotSwept,        ///< recovery: chunks of an uncommitted collection are kept
  kTwinKept,              ///< the original of a copy stays in L1

  // Room for a large value.
  kMovedValueNotCopied,  ///< an entry moves, and not the value in its extent
  kRunNotKept,           ///< while it is emptied, others take what is free of it
  kRunKeptForever,       ///< nobody may have the chunks after a write that gave up

  // Dropping what views no longer need: a merge of an empty table.
  kEmptyHeadNotWritten,     ///< its head is as the table that had it before has left it
  kEmptyMergeNotCommitted,  ///< links change before the manifest names the merge
  kRevisitHasBoundary,      ///< redo records name an entry of the target as what was merged
  kRevisitByPointers,       ///< it is begun as a merge by pointers, whose recovery finds nothing

  // Recovery of logs.
  kReplayKeepsOlderVersion,  ///< replay lets an older version win
  kReplayIgnoresDeletes,     ///< deletes are not replayed
  kReplayShardsByOption,     ///< only as many shards are read as the options say
  kReviveSkipped,            ///< marks of a flush that was not committed are believed
  kTornEntriesNotMarked,     ///< intact entries of a torn batch are left alive
  kTornMarkNotFlushed,       ///< that they are dead is not written back
  kLogForgottenByRecovery,   ///< a replayed log counts as flushed
  kDamageTakenForTail,       ///< intact entries behind a damaged one are taken for torn
  kShortChunkTakenForTail,   ///< a chunk that is not intact up to its length is the end of the log
  kTailTakenForDamage,       ///< a torn entry with an intact header makes the open fail
  kTableIdReused,            ///< a new log gets the number of one that is replayed
  kSequenceRestartsAtZero,   ///< sequence numbers are reused
  kManifestSequenceIgnored,  ///< those of flushed entries are reused
  kTornSequenceReused,       ///< those of torn entries are reused
  kRecoveredSequenceNotSaved,  ///< those of torn entries are, once their log is flushed
  kRebuildForgetsLogs,         ///< page media: what was not flushed is not looked for

  // Close.
  kCloseLeavesLog,    ///< memtables are not flushed
  kCleanBeforeFlush,  ///< the pool is marked as closed before they are

  // Views, and the DRAM index over L1.
  kPinIgnored,                 ///< chunks are reused that an iterator may stand on
  kReclaimClockStands,         ///< those retired in an iterator's lifetime look older than it
  kIteratorViewNotRegistered,  ///< an iterator relies on the snapshot it was made from
  kTreeNotUpdatedByMerge,      ///< the index leads to what a merge has unlinked
  kTreeEraseSkipped,           ///< the index keeps keys that are gone
  kSparseTreeNotErased,        ///< a thin index keeps an entry whose place a short one has taken
  kTreeShownIncomplete,        ///< lookups use the index before it is built
  // The lookup cache.
  kLookupKeyNotCompared,  ///< the fingerprint is taken for the key
  kLookupIgnoresView,     ///< a snapshot gets the newest version
  kLookupKeepsOlder,      ///< a newcomer does not take its bucket
  kLookupSkipsDeletes,    ///< deletes are not filled
  kLookupAskedFirst,      ///< it is asked before the memtables
  kLookupNotForgotten,    ///< entries that die stay in it
  kLookupForgetsUse,      ///< a bucket that was emptied takes what is found in L1
  kLookupFilledTooSoon,   ///< L1 is taken for the newest while tables of before the open are in L0
  kLookupKnowsTooSoon,    ///< an empty bucket is believed before all keys were filled

  // Arranging L1.
  kArrangeMovesExtents,  ///< an entry whose value is an extent is copied as if it held the value
  kArrangeCopiesDamage,  ///< an entry that does not verify is copied, and gets checks that fit
  kRunNotMarkedDead,     ///< originals that gave way as a run are not marked dead
  kRunEndNotLinked,      ///< the last copies of a run keep the links they were written with
  kRunBottomOnly,        ///< upper layers go on leading to originals that gave way as a run

  // A power loss after a crash of the process.
  kInheritedNotFlushed,   ///< open: headers, states and redo records stay in the caches
  kLastWritesNotFlushed,  ///< open: the last write of each log stays in the caches

  // Page-cache media after a power loss.
  kSyncPutNotSynced,            ///< put with sync: the medium is not asked
  kFlushEntriesNotSynced,       ///< flush: versions are marked dead before the newer one is synced
  kCollectedCopiesNotSynced,    ///< collection: originals are marked dead before copies are synced
  kReclaimNotSynced,            ///< reclamation: chunks are reused before marks of death are synced
  kSyncErrorForgotten,          ///< a sync that failed: those after it are asked for, and succeed
  kHeaderCopiesNotSynced,       ///< pool header: nothing orders its two copies
  kManifestCopiesNotSynced,     ///< manifest: nothing orders its two copies
  kRebuildSkipped,              ///< recovery: links are believed after the page cache was lost
  kRebuildBelievesDeadDeletes,  ///< rebuild: a delete marked dead does not count
  kRebuildLeavesTornEntries,    ///< rebuild: entries of torn batches stay live
  kRebuildAcceptsHoles,         ///< rebuild: a batch that lost an entry in the middle counts
  kRebuildTakesCopies,          ///< rebuild: copies of an uncommitted collection are kept
  kCopyFlushNotSynced,          ///< page media: a table of copies is named before they are synced
  kMergeCopiesNotSynced,        ///< page media: originals are marked dead before copies are synced
  kRebuildLeavesWriteAhead,     ///< rebuild: linked entries stay in chunks that the next open frees
  kRebuildBelievesCopyMarks,    ///< rebuild: what an uncommitted copying flush marked is left out
  kSalvageBelievesLogMarks,     ///< repair: marks that a flush has left in a log are believed
  kSalvageTakesTornValues,      ///< repair: a log's last entry hides what it did not replace
  kSalvageForgetsLeaves,        ///< repair: what no leaf names counts
  kSalvageBelievesRedo,         ///< repair: a redo record's marks count after a power loss, too
  kSalvageFollowsLogLinks,      ///< repair: links in a log that was not flushed are witnesses
  kRebuildReusesGenerations,    ///< rebuild: a chunk may get a generation that was lost

  // Bulk loads.
  kLoadedTailNotDrained,  ///< the last entries stay in DRAM
  kLoadedLinkNotFlushed,  ///< a link to the next part is not written back
  kLoadNotSynced,         ///< page media: the table is named before its entries are synced
  kLoadBeforeFlush,       ///< the table is committed while older memtables wait for their flush
  kLoadNumberNotKept,     ///< later writes get numbers below the load's
  kLoadIdNotKept,         ///< later memtables get ids below the table's
  kAdoptionBottomOnly,    ///< a load becomes L1 without its upper layers
  kAdoptionKeepsIndex,    ///< lookups go on asking the index of the empty L1
  kAbandonedLoadKept,     ///< a load that failed keeps its chunks
  kLookupKeptByLoad,      ///< the lookup cache goes on naming what a load has replaced
  kLoadShownInSteps,      ///< a snapshot may have a load's number and the state before it
  kRangeNotKept,          ///< writes go on in a range that is being deleted
  kConditionAskedOnce,    ///< a conditional batch does not look again when no write is under way

  // Leaves.
  kLeafSlotNotFlushed,       ///< a slot is not written back
  kLeafSlotNotFenced,        ///< slot and bitmap become durable in any order
  kLeafBitmapBeforeSlot,     ///< the bitmap shows a slot before it is written
  kLeafCommitNotFlushed,     ///< the bitmap is not written back
  kLeafCommitNotFenced,      ///< nothing waits for the bitmap
  kLeafCommitCheckIgnored,   ///< a bitmap is believed whatever its check says
  kLeafShownBeforeFence,     ///< readers see a bitmap that is not durable
  kLeafUpdateInTwoSteps,     ///< an update takes the old version away first
  kNewLeavesNotFlushed,      ///< split: new leaves are not written back
  kNewLeavesNotFenced,       ///< split: leaves and link become durable in any order
  kLeafLinkBeforeLeaves,     ///< split: the link is stored before the leaves
  kLeafLinkNotFlushed,       ///< split: the link is not written back
  kLeafReclaimTooEarly,      ///< what readers may still hold is used anew
  kLeafDeadNotAccounted,     ///< bytes of dead entries count as live
  kLeafRedirectNotFlushed,   ///< collection: a slot names the copy in the cache only
  kLeafCopyNotFenced,        ///< collection: a slot may name a copy that is not durable
  kLeafImageNotFlushed,      ///< close: the image is not written back
  kLeafImageBelieved,        ///< recovery: the image is believed after a crash
  kLeafImageKept,            ///< an image that has served is kept
  kLeafInheritedNotFlushed,  ///< recovery: leaves of a process that died stay in the caches
  kLeafLostEntriesLive,      ///< recovery: entries that never came to count stay live
  kLeafTornSequenceReused,   ///< recovery: the numbers of such entries are reused
  kLeafExtentsNotSwept,      ///< recovery: extents of such entries are kept
  kLeafSyncPromised,         ///< page media: a write with sync is acknowledged
  kLeafLostPagesBelieved,    ///< page media: leaves are believed after the page cache was lost
  kCount
};

#if defined(BRAID_CRASHSIM)
extern Mutant active_mutant;
#define BRAID_MUTANT(name) (::braid::base::active_mutant == ::braid::base::Mutant::name)
#else
#define BRAID_MUTANT(name) false
#endif

}  // namespace braid::base
