// Purpose: the LSM engine: wires log, memtable, flush, tables, merges, index and recovery into one
// database. Paths: write_path.cc, compare_and_swap.cc, write_unless_changed.cc, delete_range.cc,
// read_path.cc, multi_get.cc, background.cc, background_jobs.cc, finish_work.cc, space.cc,
// make_room.cc, drop_kept.cc, arrange.cc, memory.cc, readers.cc; opening and closing here. Thread
// safety: all public calls from any thread. Locks, in the order they may be taken: ingest_mutex_,
// range_mutex_, inline_mutex_, merge_mutex_, flush_mutex_, checkpoint_mutex_, the reclaimer's,
// batch_mutex_, shard locks (ascending), load_mutex_, structure_mutex_, work_mutex_. Nothing is
// waited for inside an EpochGuard but these. Invariant 1: sequence numbers are drawn under the lock
// of the memtable leaf that the write goes to, and the leaf stays locked until the entry is durable
// and inserted. So the order of sequence numbers is a linearization, and a snapshot at the last
// drawn number needs no waiting. Invariant 2: a batch of several updates holds all shard locks, so
// that no other write draws a number between its own; its numbers are published when all its
// entries are inserted. Invariant 3: memtables are flushed, and L0 tables merged, in the order of
// their ids. Invariant 4: a ReadState is freed, and a chunk reused, only after a grace period, and
// after the views that may stand on it are gone. Invariant 5: tables that wait for their checkpoint
// are the newest of L0, and in no manifest; nothing that only their flush made superfluous is given
// back before their commit. Invariant 6: a bulk load is committed while no memtable holds anything
// and no table waits, with an id and a number above all that were drawn before; so it is the newest
// table, and invariant 3 holds. Invariant 7: while processes that read beside this one are granted
// tables, CompactionStep stores nothing to the pool; a merge elsewhere takes the tables back
// before. Invariant 8: when Close unlocks the pool, no call works on it: each is in a read section
// that Close waits for, or counted by calls_. Invariant 9: all writes are admitted in one place,
// and look once more under their shard lock whether writes have ended: the numbers of a batch that
// failed after it was durable are not drawn again. Persistence: see the parts; the manifest is
// committed under structure_mutex_. Source: ListDB 6.2.
#pragma once

#include <array>
#include <condition_variable>
#include <list>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "base/counters.h"
#include "base/workers.h"
#include "cache/dram_index.h"
#include "cache/lookup_cache.h"
#include "cache/lookup_fill.h"
#include "cache/second_chance_cache.h"
#include "compaction/compaction_job.h"
#include "compaction/kept_versions.h"
#include "compaction/picker.h"
#include "engine/attempts.h"
#include "engine/call_gate.h"
#include "engine/delete_range.h"
#include "engine/engine.h"
#include "engine/large_values.h"
#include "engine/read_state.h"
#include "engine/sync_rounds.h"
#include "engine/view_registry.h"
#include "engine/write_controller.h"
#include "flush/checkpoint.h"
#include "flush/link_flush.h"
#include "index/visits.h"
#include "level/level_check.h"
#include "level/merging_iterator.h"
#include "pmem/epoch.h"
#include "pmem/reader_slots.h"
#include "recovery/recovery_job.h"
#include "space/reclaimer.h"

namespace braid::engine {

enum class EngineCounter : uint8_t {
  kPuts,
  kDeletes,
  kBatches,
  kGets,
  kGetsFound,
  kIterators,
  kPassedEntries,
  kBytesPut,
  kSyncs,
  kFlushes,
  kFlushedEntries,
  kFlushNanos,
  kMerges,
  kMergedEntries,
  kMergeNanos,
  kArrangedEntries,
  kCount
};

class NumberedSource;

class LsmEngine final : public Engine, public std::enable_shared_from_this<LsmEngine> {
 public:
  /// Opens the engine on a pool that `media` holds or will hold.
  static Result<std::shared_ptr<LsmEngine>> Open(const Options& options,
                                                 std::unique_ptr<pmem::Media> media);
  ~LsmEngine() override;

  Status Put(const WriteOptions& options, Slice key, Slice value) override;
  Status Delete(const WriteOptions& options, Slice key) override;
  Status Write(const WriteOptions& options, const WriteBatch& batch) override;
  Result<bool> CompareAndSwap(const WriteOptions& options, Slice key, std::optional<Slice> expected,
                              Slice desired) override;
  Status WriteUnlessChanged(const WriteOptions& options, const WriteBatch& batch,
                            std::span<const Slice> keys, const Snapshot& since) override;
  Status DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                     uint64_t* deleted) override;
  Status Get(const ReadOptions& options, Slice key, std::string* value) override;
  Status GetPinned(const ReadOptions& options, Slice key, PinnedValue* value) override;
  void MultiGet(const ReadOptions& options, std::span<const Slice> keys, std::string* values,
                Status* statuses) override;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override;
  std::shared_ptr<const Snapshot> GetSnapshot() override;
  Status Flush() override;
  Status Compact() override;
  Status Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report) override;
  Statistics GetStatistics() override;
  Status Verify(VerifyReport* report, const std::function<void(double)>& progress) override;
  Status Close() override;
  Status BackgroundStatus() override;
  Status Resume() override;

  // For iterators:
  const pmem::PmemPool& pool() const { return *pool_; }
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  /// The entry that `view` sees for the key in the tables of now; null when there is none. Inside
  /// an EpochGuard.
  const format::EntryHeader* Find(Slice key, const index::ReadView& view, Status* status) const;
  /// As Find, but a delete is an answer too: null only when no table knows the key.
  const format::EntryHeader* FindVersion(Slice key, const index::ReadView& view,
                                         Status* status) const;
  /// Copies or points to the value of a checked entry. Corruption when it does not verify.
  Status ValueOf(const format::EntryHeader& entry, std::string_view* value) const;
  /// See PlainValues.
  size_t PlainValuesOf(std::span<const index::CursorItem> items) const noexcept;
  /// An iterator had to pass so many deleted keys.
  void CountPassed(uint64_t keys) const { counters_.Add(EngineCounter::kPassedEntries, keys); }

 private:
  struct alignas(64) ShardLock {
    std::mutex mutex;
  };
  /// What a conditional write has read: it goes into `table`, and only if that is still the active
  /// one and holds no version of the key but the one with number `sequence` (0: none is known).
  struct Condition {
    LoggedMemTable* table;
    uint64_t sequence;
  };
  /// What a conditional batch has looked at: it is written only if `state` is still the one that
  /// is shown, and its memtables hold no version of `keys` with a number above `since`.
  struct BatchCondition {
    std::vector<index::LookupKey> keys;
    uint64_t since;
    std::shared_ptr<const ReadState> state;
  };
  /// Who writes a batch: a DeleteRange may write to the range that it keeps for itself.
  enum class Writer : uint8_t { kUser, kRangeDelete };
  /// What a swap of states needs memory for, made before anything durable depends on the swap.
  struct NextState {
    std::shared_ptr<ReadState> state;
    space::RetiredMemory retired;  // one place for the old state
  };

  /// Where a table of copies is made.
  struct CopySlot {
    uint32_t head = 0;
    uint64_t table_id = 0;
  };

  /// A chunk that can't be collected while it has so many live bytes and no more chunks are free.
  struct PinnedChunk {
    pmem::ChunkId id{};
    int64_t live = 0;
    uint64_t free_chunks = 0;
  };

  /// All work that was there when somebody asked for it. Compaction thread (finish_work.cc).
  struct Round {
    enum class Phase : uint8_t { kIndex, kDrop, kArrange, kCollect, kMakeRoom, kDone };
    uint64_t request = 0;  // the last one that it serves
    uint64_t tables = 0;   // tables up to this id are merged first
    Phase phase = Phase::kIndex;
    std::optional<uint64_t> steps_left;  // of the phase; none: it has not begun
    bool began_pass = false;             // the phase has begun a pass over L1 of its own
    bool has_turn = false;               // the next step is the round's, not a merge
    std::unordered_set<uint64_t> stuck;  // chunks of rooms that could not be emptied
  };

  LsmEngine(const Options& options, std::unique_ptr<pmem::PmemPool> pool);
  ViewRegistry::Handle RegisterView(const std::atomic<uint64_t>* clock);
  const format::EntryHeader* FindCounting(Slice key, index::ReadView view, Status* status) const;
  level::MergingIterator MergeOf(const ReadState& state, const index::ReadView& view) const;
  // multi_get.cc
  void GetGroup(const index::ReadView& view, std::span<const Slice> keys, std::string* values,
                Status* statuses);
  void FindGroup(const index::ReadView& view, std::span<const Slice> keys,
                 index::LookupResult* results) const;
  void FillVisits(Statistics* statistics) const;
  Status AnnounceWrites();
  Status Recover();
  void TellRecovery() const;
  Status VerifyAll(VerifyReport* report, const std::function<void(double)>& progress);
  size_t sealed_memtables() const;

  // verify.cc, verify_space.cc
  void CheckTables(const format::ManifestRecord& manifest,
                   const std::function<void(double)>& progress, level::CheckTotals* totals);
  void SetEntriesOfL1(uint64_t entries);
  void CheckChunk(uint64_t chunk, const format::ManifestRecord& manifest,
                  level::CheckTotals* totals) const;
  void CheckSpace(level::CheckTotals* totals);
  bool IsBeingLoaded(uint64_t chunk) const;
  void CheckExtents(bool merging, level::CheckTotals* totals);
  void CheckExtent(uint64_t extent, bool merging, const std::unordered_set<uint64_t>& retired,
                   level::CheckTotals* totals) const;
  void CheckLogs(const ReadState& state, uint64_t flushed_table_id,
                 level::CheckTotals* totals) const;

  // background_jobs.cc
  class BackgroundJob;
  class FlushWork;
  class CompactionWork;
  class SpaceWork;
  void StartJobs();
  void StopJobs();
  void Wake() noexcept;
  void WakeLocked() noexcept;
  void WakeSleepers() noexcept {
    // Sequentially consistent, behind what there is to be done, as the number of a write: either
    // this sees who goes to sleep, or that one sees the work.
    if (asleep_.load() != 0) [[unlikely]]
      Wake();
  }

  // write_path.cc
  Status AdmitWrite();
  /// Calls `attempt` until it has written, or has another reason not to than one that passes.
  template <class Attempt>
  Status AttemptUntilDone(Writer writer, Attempt&& attempt);
  Status WhyRefused(Status status);
  Status Update(const WriteOptions& options, log::Draft draft);
  Status TryUpdate(log::Draft* draft);
  uint32_t ShardOfThread() const noexcept {
    return pool_->region_map().ShardOfThread(static_cast<uint32_t>(shards_.size()));
  }
  Status CopyLarge(LargeValues::Scope* large, pmem::AllocationClass allocation) {
    const Stalls::Asked asked;  // a large value takes its time
    return large->Copy(ShardOfThread() % pool_->regions(), allocation);
  }
  Status Insert(LoggedMemTable* target, log::Draft* draft, const Condition* condition);
  std::vector<std::unique_lock<std::mutex>> LockShards();
  Status PlaceWatched(LoggedMemTable* target, uint32_t shard, log::Draft* draft);
  void WriteWatched(LoggedMemTable* target, log::Draft* draft);
  Status TryBatch(std::vector<log::Draft>* drafts, pmem::AllocationClass allocation, Writer writer,
                  const BatchCondition* condition);
  /// `condition` may be null.
  Status WriteDrafts(const WriteOptions& options, std::vector<log::Draft> drafts, Writer writer,
                     BatchCondition* condition);
  Result<std::vector<log::Draft>> DraftsOf(const WriteBatch& batch);
  Status AfterWrite(const WriteOptions& options);
  void InsertBatch(LoggedMemTable* target, const std::vector<log::Draft>& drafts);
  Status WriteError() const;
  Status SyncPool();
  /// Syncs page-cache media; `skip` is a seeded fault.
  Status SyncUnless(bool skip) { return skip ? Status::OK() : pool_->media().Sync(); }
  // delete_range.cc
  void ShowRange(const KeyRange* range);
  bool IsBeingDeleted(Slice key) const noexcept;
  void AwaitRange();
  Status DeleteKeys(const WriteOptions& options, const KeyRange& range, uint64_t* deleted);
  Status ReadKeys(const KeyRange& range, const std::string& from, size_t step, KeysToDelete* keys);
  // write_unless_changed.cc
  Status LookBeforeBatch(BatchCondition* condition) const;
  Status CheckInMemTables(const BatchCondition& condition) const;
  // compare_and_swap.cc
  Result<bool> TryCompareAndSwap(log::Draft* draft, std::optional<Slice> expected,
                                 const LargeValues::Scope& large, bool* wants_copy);
  /// `reclaims` is from before the attempt that found no room.
  bool WaitForSpace(uint64_t reclaims);
  void SealActive(const LoggedMemTable* expected);

  // background.cc
  bool IsStopping() const;
  bool FlushOldest();
  bool FlushOldestLocked();
  Status FlushTable(const std::shared_ptr<LoggedMemTable>& oldest, uint32_t head);
  Result<flush::FlushResult> LinkOrCopy(const LoggedMemTable& memtable,
                                        const index::LiveViews& views, uint32_t head);
  void AddTable(const format::TableRecord& record);
  Status ShowFlushed(LoggedMemTable& memtable, std::list<flush::WaitingTable>* table);
  bool CompactionStep();
  bool MergeNext();
  bool MergeOldest();
  bool CanAdopt(const level::PmemTable& source, const level::PmemTable& target) const;
  void StartIndexAnew(level::PmemTable* l1);
  // copy_merge.cc
  Status CopyOldest();
  std::vector<uint64_t> MarkCopiedOriginals(const level::PmemTable& source);
  Status MergeTable();
  /// Carries out a step of the background. One that throws did nothing, or has called Fail.
  bool Guarded(bool (LsmEngine::*step)());
  bool GuardedStep() {
    return Guarded(&LsmEngine::FlushOldest) || Guarded(&LsmEngine::CompactionStep);
  }
  void RunInline();
  // finish_work.cc
  Status WaitUntilIdle(bool merged_too);
  void AwaitFlushes(std::unique_lock<std::mutex>* work_lock, uint64_t tables);
  uint64_t LastTableId() const;
  void BeginRound();
  void EndRound(const Status& outcome) noexcept;
  bool RoundStep();
  bool RoundWork();
  void SwapState(NextState next) noexcept;
  NextState CopyState() const;
  void UpdatePressure();
  /// Writes end here, until the database is opened again; reads go on.
  void Fail(const Status& status) noexcept;
  bool failed() const noexcept { return failed_.load(std::memory_order_relaxed); }
  Status background_error() const;
  void Log(const std::string& line) const;
  Status FlushForClose();

  // ingest.cc
  class Loading;
  class WriteHold;
  Status IngestRun(NumberedSource* source, IngestReport* report);
  Status LoadRecords(NumberedSource* source, Loading* loading);
  Status TakeHeadForLoad(Loading* loading);
  Status CommitLoad(Loading* loading);
  Status FlushMostEntries();
  Result<bool> ShowLoad(Loading* loading);
  void SealForLoad(WriteHold* hold);
  Result<bool> CommitHeld(Loading* loading, WriteHold* hold);
  void LetWritersGo();

  // checkpoint.cc
  /// Makes the tables that wait durable: writes them back and commits them together.
  Status Checkpoint();
  Status CommitWaiting();
  bool GroupIsComplete() const;
  /// Whether the memtable's table waits for a checkpoint.
  bool Waits(const LoggedMemTable& memtable) const {
    return options_.flush.checkpoint_tables > 1 && !memtable.is_copied;
  }
  /// Whether the next table to be merged is in no manifest yet.
  bool OldestWaits() const;
  /// The manifest as it will be when the tables that wait are committed. Under structure_mutex_.
  format::ManifestRecord ManifestOfNow() const;

  // blocked.cc: flushes that find no room, while writes return the reason
  static Status L0IsFull();
  void Block(const Status& reason);
  void Unblock();
  bool IsBlockedNow() const;
  Status BlockedReason() const;

  // space.cc
  void RetireWriteAheadChunks();
  pmem::ChunkId IdOf(uint64_t chunk) const { return {chunk, pool_->StateOf(chunk).generation()}; }
  bool PlanCollection(std::vector<uint64_t>* sparse);
  bool IsPinned(uint64_t chunk) const;
  /// Keeps chunks from being collected again until their live bytes change, or more than
  /// `free_chunks` are free.
  void Pin(const std::vector<uint64_t>& chunks, uint64_t free_chunks);
  bool CollectStep();
  bool TakeCopySlot(CopySlot* slot);
  bool CommitCopies(const CopySlot& slot, Result<format::TableRecord> copies);
  bool IsAtRest();
  bool WantsArrangement();
  bool ArrangeStep();
  std::string LastKeyOf(const index::SkipList& list) const;
  bool ArrangePart(const index::SkipList& list);
  bool CountStep();
  bool FinishCopies(const std::vector<index::Replacement>* moved = nullptr,
                    const std::vector<uint64_t>* revisited = nullptr);
  Status MergeCopies(const std::vector<index::Replacement>* moved,
                     const std::vector<uint64_t>* revisited);
  Status RunMerge(compaction::CompactionJob* job, const compaction::BatchProgress& resumed);
  void AccountDead(const std::vector<uint64_t>& dead);
  void AccountMoved(const index::Replacement* moved, size_t count);
  void TakeFromLookupCache(const format::EntryHeader& entry, uint64_t offset);
  void RetireEmptyChunks();
  bool Reclaim();
  void FreeMemoryIfShort();

  // make_room.cc
  bool MakeRoomStep();
  bool MoveAway(const std::vector<uint64_t>& entries);

  // drop_kept.cc
  bool WantsDropping();
  bool DropStep();
  Result<bool> DropPart(const index::SkipList& list);
  Status BeginEmptyMerge(const CopySlot& slot);

  // readers.cc
  bool ServeReaders();
  void SealForReaders();
  std::optional<pmem::GrantWaitsFor> WhatReadersWaitFor() const;
  void GrantReaders();
  bool ReadersHold(const compaction::StoreFacts& facts);
  void TakeBackFromReaders();
  uint64_t MostTablesForReaders() const;

  // memory.cc
  bool LacksIndexes() const;
  bool IndexStep();
  uint32_t WantedMinHeight() const;
  bool RemakeIndexStep();
  std::shared_ptr<level::PmemTable> NextUnindexed();
  bool IndexFoundTable();
  bool FillLookupStep();
  uint64_t MemoryBytes() const;
  uint64_t MemoryGoal() const;
  uint64_t MemoryToCome(const ReadState& state) const;
  bool IsFull(const LoggedMemTable& memtable) const;
  void ChargeWaiting();
  void FitMemory();
  void FitSecondChance(bool at_least_once);
  /// What is kept over L1, or null. On the compaction thread, which replaces it.
  index::EntryIndex* IndexTree() const {
    if (index_ != nullptr) return index_->tree().get();
    return second_chance_ != nullptr ? second_chance_->tree().get() : nullptr;
  }
  compaction::TargetTree TreesOfL1() const;

  const Options options_;
  const uint64_t memtable_memory_;  // DRAM at which a memtable is sealed
  const bool watches_memtables_;    // its log reaches its own limit no later than that otherwise
  std::unique_ptr<pmem::PmemPool> pool_;
  pmem::ChunkUsage usage_;
  level::Manifest manifest_;
  WriteController controller_;
  std::shared_ptr<ViewRegistry> views_;
  space::Reclaimer reclaimer_{pool_.get(), [this] { return views_->OldestPin(); },
                              [this] { WakeSleepers(); }};
  mutable base::Counters<EngineCounter, static_cast<size_t>(EngineCounter::kCount)> counters_;
  std::unique_ptr<index::VisitCounters> visits_;  // with lists.count_visits

  alignas(64) std::atomic<uint64_t> sequence_{0};       // last one drawn
  alignas(64) std::atomic<ReadState*> state_{nullptr};  // owned by state_owner_
  std::atomic<const KeyRange*> deleting_{nullptr};      // stored under all shard locks
  std::atomic<bool> closed_{false};
  std::atomic<bool> failed_{false};   // error_ is set
  std::atomic<bool> blocked_{false};  // blocked_reason_ is set
  Status blocked_reason_;             // work_mutex_
  uint64_t blocked_at_free_ = 0;      // work_mutex_: free chunks then
  uint64_t logs_retired_to_ = 0;      // structure_mutex_: id of the last table whose log is retired
  std::atomic<uint64_t> relinks_{0};  // odd while a merge changes what lookups find, and tables
  std::shared_ptr<ReadState> state_owner_;  // structure_mutex_
  uint64_t next_table_id_ = 0;              // structure_mutex_
  uint64_t loading_table_id_ = 0;           // structure_mutex_: of the bulk load under way, or 0
  std::atomic<bool> switching_{false};      // sequence_ is that of a state that is not shown yet
  /// Oldest first. Added to under structure_mutex_, taken out under checkpoint_mutex_ as well.
  std::list<flush::WaitingTable> waiting_;
  base::MemoryCharge waiting_charge_;
  compaction::BatchProgress resumed_merge_;
  std::unique_ptr<cache::DramIndex> index_;       // compaction thread; may be null
  std::unique_ptr<cache::DramIndex> next_index_;  // likewise: takes its place when it is complete
  // What the index given up last took, over how many entries, and from which height: one as dense
  // is made anew only where there is room for it twice. Under structure_mutex_.
  struct {
    uint64_t bytes = 0;
    uint64_t entries = 1;
    uint32_t height = 0;
  } given_up_;
  std::unique_ptr<cache::SecondChanceCache> second_chance_;  // likewise; never both
  std::vector<uint64_t> unindexed_;  // compaction thread: tables the open found, to be indexed
  std::unique_ptr<cache::DramIndex> table_index_;  // of the last of them, likewise as index_
  std::atomic<uint64_t> indexes_left_{0};          // size of unindexed_
  uint64_t l0_found_ = 0;                          // tables in L0 when it was opened
  const std::unique_ptr<cache::LookupCache> lookup_cache_;  // may be null
  std::unique_ptr<cache::LookupFill> lookup_fill_;          // compaction thread; may be null
  bool lookup_fill_begins_ = true;  // structure_mutex_: what was found before is of no use
  uint64_t unfilled_id_ = 0;  // structure_mutex_: of the newest table of L0 that no flush of this
                              // session has filled the lookup cache with

  std::vector<ShardLock> shards_;
  LargeValues large_values_{pool_.get()};  // its mutex comes between shard locks and load_mutex_
  std::mutex ingest_mutex_;                // held by a bulk load
  std::mutex load_mutex_;   // held while one takes or gives back chunks; Verify keeps it out
  std::mutex range_mutex_;  // held by a DeleteRange, from its begin to its end
  std::mutex batch_mutex_;
  mutable std::mutex structure_mutex_;
  std::mutex close_mutex_;
  CallGate calls_;  // that work on the pool outside of a read section

  // Background work: one mutex for the flags, one condition for all who wait.
  mutable std::mutex work_mutex_;
  std::condition_variable work_changed_;
  std::mutex inline_mutex_;                 // without threads: one runs the work at a time
  std::mutex flush_mutex_;                  // held by a flush; Verify keeps flushes out
  std::mutex merge_mutex_;                  // likewise for merges, indexing, collection
  std::mutex checkpoint_mutex_;             // likewise for checkpoints
  std::atomic<uint32_t> asleep_{0};         // jobs that rest until they are woken
  std::shared_ptr<base::Workers> workers_;  // work_mutex_; null without threads, and once closed
  std::array<std::unique_ptr<base::Workers::Job>, 3> jobs_;
  bool stopping_ = false;  // work_mutex_
  std::atomic<bool> stop_merges_{false};
  // Callers that wait for all work that was there, by the number of their request; work_mutex_.
  uint64_t finish_all_ = 0;                     // how many wait
  uint64_t finish_asked_ = 0;                   // the last request
  uint64_t finish_done_ = 0;                    // the last one that is done with
  uint64_t finish_tables_ = 0;                  // tables up to this id are to be merged
  Status finish_outcome_;                       // of the last round
  Status error_;                                // work_mutex_
  std::vector<pmem::ChunkId> retiring_chunks_;  // compaction thread: retired, not yet free
  // Merging and arranging L1; compaction thread.
  uint64_t merged_last_ = 0;  // entries of the last merge
  bool arranging_ = false;
  std::optional<uint64_t> arranged_at_;  // merged entries when the last pass began
  std::string arrange_from_;             // the key the pass has come to
  std::string arrange_to_;               // the last key when it began
  uint64_t writes_seen_ = 0;
  uint64_t quiet_since_ = 0;
  std::unordered_map<uint64_t, PinnedChunk> pinned_chunks_;  // by chunk; compaction thread
  std::optional<Round> round_;                               // likewise
  // What only views keep in L1; compaction thread.
  compaction::KeptVersions kept_;
  uint64_t kept_left_ = 0;  // of the last merge that revisited keys
  bool dropping_ = false;
  std::string drop_from_;  // the key the pass has come to
  std::string drop_to_;    // the last key when it began
  // Processes that read beside this one. Compaction thread; open and close, where there is none.
  pmem::WriterSlots reader_slots_;
  std::optional<uint64_t> reader_flush_;             // who asks waits for tables up to this id
  std::optional<ViewRegistry::Handle> reader_pin_;   // of those that are granted
  std::optional<ViewRegistry::Handle> revoked_pin_;  // of calls that a revocation met

  SyncRounds syncs_;

  uint64_t open_micros_ = 0;
  uint64_t recovered_entries_ = 0;
};

template <class Attempt>
Status LsmEngine::AttemptUntilDone(Writer writer, Attempt&& attempt) {
  struct Host {
    LsmEngine& engine;
    Writer writer;
    Status Admit() { return engine.AdmitWrite(); }
    uint64_t TimesReclaimed() const { return engine.reclaimer_.times(); }
    void AwaitTurn() {
      if (writer == Writer::kUser) engine.AwaitRange();
    }
    bool WaitForSpace(uint64_t reclaimed) { return engine.WaitForSpace(reclaimed); }
    Status WhyRefused(Status s) { return engine.WhyRefused(std::move(s)); }
  };
  return engine::AttemptUntilDone(Host{*this, writer}, std::forward<Attempt>(attempt));
}

}  // namespace braid::engine
