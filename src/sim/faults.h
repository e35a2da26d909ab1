// Purpose: the seeded faults with which the tests test themselves
// (docs/internals/crash-simulator.md). Each one weakens or reorders a step, a check or an undo at
// one place; that flushes, fences and syncs are dropped is media/sites.h. The product has nothing
// of them: tests/crash/faults says what is written where, and scripts/weave_faults.py weaves it
// into the sources that the crashsim build compiles. There one fault at a time can be switched on,
// by BRAID_MUTANT=<name> in the environment of a test program. What kind of mistake each is, and
// which test finds it first, stands in tests/crash/mutant_table.cc.
// Thread safety: set before any database is opened.
// Persistence: none.
#pragma once

#if defined(BRAID_CRASHSIM)

#include <string_view>

namespace braid::sim {

enum class Mutant : int {
  kNone = 0,

  // Entries and batches.
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

  // Persistent memtables.
  kInPlaceShownBeforeFence,  ///< readers find a put that is not durable yet
  kInPlaceOlderFirst,        ///< a new version is linked behind the older one
  kInPlaceTableNotAsked,     ///< a search that a merge has led into the next level is believed

  // Chunks: allocation and release.
  kChunkStateBeforeHeader,    ///< the chunk is published before its header is durable
  kGenerationNotRaised,       ///< a chunk begins a new life under its old generation
  kWithinUnitNotRecorded,     ///< a chunk that was left within a batch looks as if it were whole
  kAbandonedChunksKept,       ///< a refused write keeps the chunks that it had taken
  kAbandonOldestFirst,        ///< a refused write gives its chunks back in the wrong order
  kReserveForDeletesIgnored,  ///< deletes may not use the last chunks of a full pool
  kReserveForCopiesIgnored,   ///< neither may collection
  kChunkFreedTooEarly,        ///< chunks are freed before the merge is committed
  kChunkRetiredTwice,         ///< an empty chunk is given back once a look
  kObsoleteNotAccounted,      ///< what a merge marks obsolete stays in the counts of live bytes
  kPunchedBeforeFree,         ///< pages are given back before the state says that it is free
  kHoleNotFilled,             ///< a hole is used again without asking for its pages
  kHolesNotAnnounced,         ///< an open takes holes for chunks that have their pages
  kReadChunkPunched,          ///< pages are given back while readers may be reading them

  // Extents.
  kExtentBodiesAfterHead,   ///< the head is taken before the bodies are
  kExtentHeadReserved,      ///< the head is taken while the value is copied, before its header
  kExtentBodiesFreedFirst,  ///< a head is left whose bodies are free
  kExtentFreedTooEarly,     ///< a flush frees extents before it is committed
  kExtentValueNotVerified,  ///< recovery: the bytes of an extent are not checked
  kExtentsNotSwept,         ///< recovery: extents without a live owner are kept
  kExtentsOfObsoleteKept,   ///< recovery: those whose owner is obsolete are kept
  kExtentBodiesNotSwept,    ///< recovery: bodies without a head are kept

  // Creation, growth, the pool header.
  kPoolPublishedEarly,     ///< the pool exists before its first manifest does
  kRegionsNotCompleted,    ///< recovery: regions that a creation had not come to stay without
  kSegmentPublishedEarly,  ///< growth: the segment exists before anything is in it
  kSegmentCountedEarly,    ///< growth: the pool header counts a segment that does not exist
  kSegmentLeftUncounted,   ///< recovery: a pool header that says one less is not corrected
  kHeaderBothAtOnce,       ///< one fence for both copies
  kHeaderNewestFirst,      ///< the copy that may be the only intact one is overwritten first
  kHeaderInPlace,          ///< there is only one copy
  kHeaderCheckIgnored,     ///< a torn copy is taken
  kDirtyNotMarked,         ///< open: the pool stays marked as closed in order
  kDirtyCountNotedEarly,   ///< open: the count of dirty shutdowns is noted before all is verified
  kLockKeptInPool,         ///< the mark of an unclean pool is taken for a lock that is held
  kChunkBytesFromOptions,  ///< open: the chunk size is what the options say

  // The flush of memtables, and the manifest.
  kTowerHalfBuilt,           ///< the topmost layer of a tall entry is not linked
  kFlushIgnoresViews,        ///< versions that a snapshot sees are dropped
  kFlushDropsDeletes,        ///< deletes are dropped although L1 has older versions
  kManifestBeforeLinks,      ///< the table is committed before its links are durable
  kFlushedIdNotRaised,       ///< the manifest has the table, and its log is replayed too
  kGroupTowersNotFlushed,    ///< group: only links of the bottom layer are
  kGroupMarksNotFlushed,     ///< group: obsolete marks are not
  kGroupBeforeWriteBack,     ///< group: committed first, written back then
  kGroupForgetsATable,       ///< group: the boundary moves past a table that is not added
  kGroupBoundaryEarly,       ///< lazy flush: the boundary moves with the next commit of anything
  kWaitingExtentsFreed,      ///< lazy flush: extents of versions left out are freed at once
  kCopyGetsAnotherSequence,  ///< copying flush: a copy does not keep its number
  kKeptChunkNotMarked,       ///< copying flush: what was copied from a chunk that stays lives on
  kKeptChunkNotTurned,       ///< copying flush: a chunk with large values stays write-ahead
  kNeededVersionsSkipped,    ///< copying flush: older versions that views see go
  kExtentOfLogNotNoted,      ///< copying flush: a log with large values goes as if it had none
  kWriteAheadFreedEarly,     ///< copying flush: the log is freed under its readers
  kWriteAheadNotSwept,       ///< recovery keeps logs whose tables have copies
  kFlushCopiesNotSwept,      ///< recovery keeps copies that were not committed
  kOriginalsNotMarked,       ///< merge that copies: what was copied is never marked obsolete
  kOriginalsMarkedEarly,     ///< merge that copies: marked before the table's copies count
  kManifestInPlace,          ///< there is only one copy
  kManifestBothAtOnce,       ///< one fence for both copies
  kManifestOneCopy,          ///< only the first copy is written: damage to it loses the commit
  kManifestCheckIgnored,     ///< a torn copy is taken
  kManifestNotRepaired,      ///< recovery: a torn copy is left for the next commit to complete
  kPlainChunksNotSwept,      ///< recovery: redo chunks of a commit that never came stay
  kFormatNotAnnounced,       ///< a manifest of version 2 in a pool whose header says 1

  // The zipper merge and its redo log.
  kMergeBeginNotCommitted,    ///< links change before the manifest says that a merge is under way
  kMergeIdReused,             ///< redo records of an earlier merge count
  kMergeResumedUnderNewId,    ///< the redo records of the interrupted merge do not count
  kRedoBodyNotFlushed,        ///< only the first line of the record is written back
  kRedoSingleBuffer,          ///< every batch overwrites the same redo chunk
  kRedoNotReplayed,           ///< recovery: the newest batch is not made again
  kRedoCheckIgnored,          ///< recovery: a torn record is taken
  kRedoMergeIdIgnored,        ///< recovery: a record of another merge is taken
  kRedoOlderCounts,           ///< recovery: the older of two records is taken
  kRedoCutByOption,           ///< recovery: no more updates than a batch has entries by the options
  kAddressInRedo,             ///< redo records name addresses
  kMergeOneStrand,            ///< versions in other regions than the newest stay in upper layers
  kMergeBottomOnly,           ///< only the bottom layer is merged
  kMergeIgnoresViews,         ///< versions that a snapshot sees are dropped
  kMergeDropsDeleteEarly,     ///< a delete is dropped although older versions are kept
  kMergeObsoleteMarkSkipped,  ///< entries that are unlinked are not marked obsolete
  kObsoleteMarkNotFlushed,    ///< marks of obsolete entries are not written back
  kMergeBoundaryIgnored,      ///< recovery: a resumed merge starts over from the head
  kMergeCountsForgotten,      ///< recovery: a resumed merge counts from zero
  kOpenMergeWaits,            ///< recovery: other work is done before the open merge is ended
  kMergedSourceKept,          ///< merge end: the source stays a table
  kMergedIdNotRaised,         ///< merge end: chunks of the source are never given back
  kMergeEndNotCommitted,      ///< merge end: space is given back before the manifest says so

  // Merges that are persisted link by link.
  kPointerSourceMarkedFirst,   ///< a source entry is marked obsolete before what it hides is
                               ///< unlinked
  kPointerTakenForRedo,        ///< recovery: looks for redo records
  kPointerBoundaryWrong,       ///< recovery: the entry under way counts as merged
  kPointerObsoleteNotMerged,   ///< recovery: an entry that was dropped does not count as merged
  kPointerObsoleteNotRevived,  ///< recovery: what was to be replaced stays marked obsolete
  kSealedListNotNamed,         ///< list merge: the level's new list is in no manifest
  kSealedHeadNotWritten,       ///< list merge: the new list begins with what its head held before
  kListHeadNotKept,            ///< list merge: a head is used again while readers look at it
  kListDeletesDropped,         ///< list merge: a delete goes although levels below may hold its key
  kOriginalsNotNamed,          ///< list merge: the manifest forgets the list that was copied
  kListMarkedEarly,            ///< list merge: before the copies are a list
  kOriginalsAreAsked,          ///< open: the list that was copied is taken for one of its level
  kRebuiltListsKept,           ///< recovery: lists above the rebuilt one keep their links
  kRunDeletesDropped,          ///< rewrite: a delete goes although levels below may hold its key
  kRunMarkedEarly,             ///< rewrite: originals are marked before the new lists count
  kRunOriginalsNotNamed,       ///< rewrite: the manifest forgets the lists that were replaced
  kBegunNotSaid,               ///< rewrite: it does not say that a part of L0 is in L1 as well
  kCarrierMarkedObsolete,      ///< rewrite: what holds a value goes with its node
  kCarriersKept,               ///< rewrite: what holds a value stays when nobody refers to it
  kCarriersNotSettled,         ///< rebuild: values that nobody refers to stay
  kHiddenByItself,             ///< rewrite: what is in two levels goes from the lower one
  kJoinedAcrossAStep,          ///< rewrite: a list has keys on both sides of where a step goes on
  kOverwrittenNotMarked,       ///< merge: what newer tables have overwritten stays live
  kOverwrittenForViews,        ///< merge: though a view sees it
  kObsoleteForViews,           ///< obsolete table: though a view sees it
  kObsoleteThoughNeeded,       ///< obsolete table: not all of its keys are in newer ones
  kObsoleteListNotWritten,     ///< obsolete table: what lies at its head is not the empty list
  kObsoleteTableNotMarked,     ///< obsolete table: its entries stay live
  kFullMergeForViews,          ///< full merge: though a view needs an older version
  kFullMergeBesideLoad,        ///< full merge: while a load writes to chunks of any id
  kFullMergeLeavesLogs,        ///< full merge: what is hidden may lie in a log that stays
  kFullMergeLeavesExtents,     ///< full merge: or have its value in an extent
  kLeftBehindNotSaid,          ///< full merge: the manifest does not tell of what is left behind
  kLeftBehindTooMuch,          ///< full merge: it tells so of the new list, too
  kLeftBehindKept,             ///< recovery: chunks that were left behind stay
  kLeftBehindNotForgotten,     ///< full merge: the lookup cache goes on to name what is left behind
  kBorderLow,                  ///< merge: a border is in the bottom layer alone
  kBorderDroppedEarly,         ///< merge: while another one is open whose records name the border
  kOldBorderKept,              ///< merge: a border that was left behind stays beside a new one
  kMemberUnbounded,            ///< merge: a list that leads into the target answers for all keys
  kOpenListUnbounded,          ///< open: the same of a list whose merge was interrupted
  kBordersCrossed,            ///< merge: side by side, the border is taken for a version of its key
  kPointerEndNotTakenBack,    ///< recovery: the source ends at the entry under way
  kPointerStrandNotAsked,     ///< recovery: what other strands lead to is not looked for there
  kPointerTowersNotRepaired,  ///< recovery: upper layers stay ahead of the bottom one
  kPointerCountBelieved,      ///< recovery: the number of entries in the manifest is believed

  // Collection.
  kCopiesMergeNotBegun,   ///< the table of copies is committed, but not that it is being merged
  kCollectedIdNotRaised,  ///< recovery frees the chunks of committed copies
  kCopiesNotSwept,        ///< recovery: chunks of an uncommitted collection are kept
  kTwinKept,              ///< the original of a copy stays in L1

  // Room for a large value.
  kMovedValueNotCopied,  ///< an entry moves, and not the value in its extent
  kRunNotKept,           ///< while it is emptied, others take what is free of it
  kRunKeptForever,       ///< nobody may have the chunks after a write that gave up
  kMovedExtentKept,      ///< rewrite: what large values were copied to is not given back

  // Dropping what views no longer need: a merge of an empty table.
  kEmptyHeadNotWritten,     ///< its head is as the table that had it before has left it
  kEmptyMergeNotCommitted,  ///< links change before the manifest names the merge
  kRevisitHasBoundary,      ///< redo records name an entry of the target as what was merged
  kRevisitByPointers,       ///< it is begun as a merge by pointers, whose recovery finds nothing

  // The tier below the pool.
  kTierNotSynced,         ///< entries leave the pool before the tier's run is durable
  kTierDeletesGo,         ///< a delete goes although the tier may have an older version
  kRunTierDeletesGo,      ///< the same where levels are of several lists
  kListLeftFirst,         ///< the commit without a list comes before the tier has its entries
  kTierIgnoresViews,      ///< what a view sees is replaced in the tier by what is newer
  kTierNotRenewed,        ///< iterators go on with what the tier held when they began
  kTierComingForgotten,   ///< a delete goes although what it hides is on its way to the tier
  kTierTakesNewerOut,     ///< what a merge has changed leaves the pool with a run that lacks it
  kTierChunksNotHeld,     ///< chunks are reused whose entries are being written to the tier
  kTierOldRecordKept,     ///< a run does not make the tier's cache forget what it replaces
  kTierOldRecordBrought,  ///< a lookup that began before a run keeps what it found in the cache
  kTierNotAnnounced,      ///< the header names it without a record in its other copy
  kTierRecordLost,        ///< the copy of the header with the only intact record is written first
  kTierOlderCounts,       ///< rebuild: what is older than the tier's version counts

  // Recovery of logs.
  kReplayKeepsOlderVersion,  ///< replay lets an older version win
  kReplayIgnoresDeletes,     ///< deletes are not replayed
  kReplayShardsByOption,     ///< only as many shards are read as the options say
  kReviveSkipped,            ///< marks of a flush that was not committed are believed
  kTornEntriesNotMarked,     ///< intact entries of a torn batch are left alive
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
  kCopiedTakenForLive,         ///< what a log had before a flush is not looked up again
  kMergeOfL0NotNoted,          ///< nor is it when merges have begun to drop what hides it
  kIteratorViewNotRegistered,  ///< an iterator relies on the snapshot it was made from
  kTreeNotUpdatedByMerge,      ///< the index leads to what a merge has unlinked
  kTreeRunSkipsOne,            ///< of neighbours that a merge has replaced the next one is left out
  kTreeEraseSkipped,           ///< the index keeps keys that are gone
  kSparseTreeNotErased,        ///< a thin index keeps an entry whose place a short one has taken
  kTreeShownIncomplete,        ///< lookups use the index before it is built
  // The lookup cache.
  kLookupKeyNotCompared,  ///< the fingerprint is taken for the key
  kLookupIgnoresView,     ///< a snapshot gets the newest version
  kLookupKeepsOlder,      ///< a newcomer does not take its bucket
  kLookupSkipsDeletes,    ///< deletes are not filled
  kLookupAskedFirst,      ///< it is asked before the memtables
  kLookupNotForgotten,    ///< obsolete entries stay in it
  kLookupForgetsUse,      ///< a bucket that was emptied takes what is found in L1
  kLookupFilledTooSoon,   ///< L1 is taken for the newest while tables of before the open are in L0
  kLookupKnowsTooSoon,    ///< an empty bucket is believed before all keys were filled

  // Reclustering L1.
  kReclusterMovesExtents,  ///< an entry whose value is an extent is copied as if it held the value
  kReclusterCopiesDamage,  ///< an entry that does not verify is copied, and gets checks that fit
  kRunNotMarkedObsolete,   ///< originals that gave way as a run are not marked obsolete
  kRunEndNotLinked,        ///< the last copies of a run keep the links they were written with
  kRunBottomOnly,          ///< upper layers go on leading to originals that gave way as a run

  // Page-cache media after a power loss.
  kSyncErrorForgotten,  ///< a sync that failed: those after it are asked for, and succeed
  kMarkBorderMissed,    ///< a flush over a border marks the first side of it only
  kMarksFalseAtFirst,   ///< what the process before has stored is not synced
  kRebuildSkipped,      ///< recovery: links are believed after the page cache was lost
  kRebuildBelievesObsoleteDeletes,  ///< rebuild: a delete marked obsolete does not count
  kRebuildLeavesTornEntries,        ///< rebuild: entries of torn batches stay live
  kRebuildAcceptsHoles,             ///< rebuild: a batch that lost an entry in the middle counts
  kRebuildTakesCopies,              ///< rebuild: copies of an uncommitted collection are kept
  kRebuildLeavesWriteAhead,   ///< rebuild: linked entries stay in chunks that the next open frees
  kRebuildBelievesCopyMarks,  ///< rebuild: what an uncommitted copying flush marked is left out
  kSalvageBelievesLogMarks,   ///< repair: marks that a flush has left in a log are believed
  kSalvageTakesTornValues,    ///< repair: a log's last entry hides what it did not replace
  kSalvageForgetsLeaves,      ///< repair: what no leaf names counts
  kSalvageBelievesRedo,       ///< repair: a redo record's marks count after a power loss, too
  kSalvageTierCounts,         ///< repair: the tier's version counts, though the pool's is newer
  kSalvagePoolCounts,         ///< repair: the pool's version counts, though the tier's is newer
  kSalvageFollowsLogLinks,    ///< repair: links in a log that was not flushed are witnesses
  kRebuildReusesGenerations,  ///< rebuild: a chunk may get a generation that was lost

  // Bulk loads.
  kLoadedTailNotDrained,  ///< the last entries stay in DRAM
  kLoadBeforeFlush,       ///< the table is committed while older memtables wait for their flush
  kLoadNumberNotKept,     ///< later writes get numbers below the load's
  kLoadIdNotKept,         ///< later memtables get ids below the table's
  kAdoptionBottomOnly,    ///< a load becomes L1 without its upper layers
  kAdoptionKeepsIndex,    ///< lookups go on asking the index of the empty L1
  kAbandonedLoadKept,     ///< a load that failed keeps its chunks
  kLookupKeptByLoad,      ///< the lookup cache goes on naming what a load has replaced
  kLoadShownInSteps,      ///< a snapshot may have a load's number and the state before it
  kRangeNotKept,          ///< writes go on in a range that is being deleted
  kTreeApart,             ///< comparator: nodes of the tree are written before the values
  kTreeBelieved,          ///< comparator, page media: the tree is believed after a power loss
  kBatchRangeApart,       ///< the ranges of a batch are deleted before the rest of it
  kCoveredUpdateWritten,  ///< an update stays that a later range of its batch covers
  kRangeAgeIgnored,       ///< a transaction deletes what was put into its range since its begin
  kReadsNotValidated,     ///< a transaction without writes is not validated
  kConditionAskedOnce,    ///< a conditional batch does not look again when no write is under way

  // Leaves.
  kLeafBitmapBeforeSlot,      ///< the bitmap shows a slot before it is written
  kLeafCommitCheckIgnored,    ///< a bitmap is believed whatever its check says
  kLeafShownBeforeFence,      ///< readers see a bitmap that is not durable
  kLeafUpdateInTwoSteps,      ///< an update takes the old version away first
  kLeafLinkBeforeLeaves,      ///< split: the link is stored before the leaves
  kLeafReclaimTooEarly,       ///< what readers may still hold is reused
  kLeafObsoleteNotAccounted,  ///< bytes of obsolete entries count as live
  kLeafImageBelieved,         ///< recovery: the image is believed after a crash
  kLeafImageKept,             ///< an image that has served is kept
  kLeafLostEntriesLive,       ///< recovery: entries that never came to count stay live
  kLeafTornSequenceReused,    ///< recovery: the numbers of such entries are reused
  kLeafExtentsNotSwept,       ///< recovery: extents of such entries are kept
  kLeafSyncPromised,          ///< page media: a write with sync is acknowledged
  kLeafLostPagesBelieved,     ///< page media: leaves are believed after the page cache was lost
  kCount
};

extern Mutant active_mutant;

/// Switches one fault on, by the name of a mutant or of a site (media/sites.h). False when none is
/// called so.
bool SwitchOn(std::string_view name);

}  // namespace braid::sim

#define BRAID_MUTANT(name) (::braid::sim::active_mutant == ::braid::sim::Mutant::name)

#endif  // BRAID_CRASHSIM
