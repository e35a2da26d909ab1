// Purpose: the LSM engine: makes the parts of a store of log, memtable, tables and indexes, and
// forwards to them. What is here: opening and closing (lsm_engine.cc), what the background does
// next (background.cc, finish_work.cc, background_jobs.cc), and what writes and loads want done by
// others (write_path.cc). Thread safety: all public calls from any thread. Locks, in the order they
// may be taken: that of loads, KeptRange::Own, inline_mutex_, merge_mutex_, those of Flusher,
// Reclaimer::Hold, those of Writer, LargeValues::Hold, BulkLoader::HoldChunks, that of the
// VersionSet, and then the small ones that are held for a moment (work_mutex_, those of WriteErrors
// and FinishRequests). Nothing is waited for inside an EpochGuard but these. Invariant 1: memtables
// are flushed, and L0 tables merged, in the order of their ids. Invariant 2: a ReadState is freed,
// and a chunk reused, only after a grace period, and after the views that may stand on it are gone.
// Invariant 3: while processes that read beside this one are granted tables, CompactionStep stores
// nothing to the pool; a merge elsewhere takes the tables back before.
// Invariant 4: when Close unlocks the pool, no call works on it: each is in a read section that
// Close waits for, or counted by calls_.
// Persistence: see the parts; the manifest is committed under the lock of the VersionSet.
// Source: ListDB 6.2.
#pragma once

#include <array>
#include <condition_variable>
#include <list>
#include <mutex>
#include <unordered_set>

#include "base/counters.h"
#include "base/workers.h"
#include "cache/lookup_cache.h"
#include "compaction/picker.h"
#include "engine/arranger.h"
#include "engine/bulk_loader.h"
#include "engine/call_gate.h"
#include "engine/collector.h"
#include "engine/engine.h"
#include "engine/finish_requests.h"
#include "engine/flusher.h"
#include "engine/kept_dropper.h"
#include "engine/large_values.h"
#include "engine/lookup_filler.h"
#include "engine/memory_budget.h"
#include "engine/merger.h"
#include "engine/parts.h"
#include "engine/range_deleter.h"
#include "engine/read_state.h"
#include "engine/reader.h"
#include "engine/reader_grants.h"
#include "engine/room_maker.h"
#include "engine/space_accounts.h"
#include "engine/sync_rounds.h"
#include "engine/table_indexes.h"
#include "engine/version_set.h"
#include "engine/view_registry.h"
#include "engine/write_controller.h"
#include "engine/write_errors.h"
#include "engine/writer.h"
#include "pmem/epoch.h"
#include "recovery/recovery_job.h"
#include "space/reclaimer.h"

namespace braid::engine {

enum class EngineCounter : uint8_t {
  kSyncs,
  kFlushes,
  kFlushedEntries,
  kFlushNanos,
  kMerges,
  kMergedEntries,
  kMergeNanos,
  kCount
};

class LsmEngine final : public Engine,
                        private Writer::Host,
                        private BulkLoader::Host,
                        public std::enable_shared_from_this<LsmEngine> {
 public:
  /// Opens the engine on a pool that `media` holds or will hold.
  static Result<std::shared_ptr<LsmEngine>> Open(const Options& options,
                                                 std::unique_ptr<pmem::Media> media);
  ~LsmEngine() override;

  Status Put(const WriteOptions& options, Slice key, Slice value) override {
    return writer_.Put(options, key, value);
  }
  Status Delete(const WriteOptions& options, Slice key) override {
    return writer_.Delete(options, key);
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override {
    return writer_.Write(options, batch);
  }
  Result<bool> CompareAndSwap(const WriteOptions& options, Slice key, std::optional<Slice> expected,
                              Slice desired) override {
    return writer_.CompareAndSwap(options, key, expected, desired);
  }
  Status WriteUnlessChanged(const WriteOptions& options, const WriteBatch& batch,
                            std::span<const Slice> keys, const Snapshot& since) override {
    return writer_.WriteUnlessChanged(options, batch, keys, since);
  }
  Status DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                     uint64_t* deleted) override {
    return range_deleter_.Delete(options, begin, end, deleted);
  }
  Status Get(const ReadOptions& options, Slice key, std::string* value) override {
    return reader_.Get(options, key, value);
  }
  Status GetPinned(const ReadOptions& options, Slice key, PinnedValue* value) override {
    return reader_.GetPinned(options, key, value, [this] { return shared_from_this(); });
  }
  void MultiGet(const ReadOptions& options, std::span<const Slice> keys, std::string* values,
                Status* statuses) override {
    reader_.MultiGet(options, keys, values, statuses);
  }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override {
    return reader_.NewIterator(options, shared_from_this());
  }
  std::shared_ptr<const Snapshot> GetSnapshot() override { return reader_.GetSnapshot(); }
  Status Flush() override;
  Status Compact() override;
  Status Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report) override;
  Statistics GetStatistics() override;
  Status Verify(VerifyReport* report, const std::function<void(double)>& progress) override;
  Status Close() override;
  Status BackgroundStatus() override;
  Status Resume() override;

 private:
  /// All work that was there when somebody asked for it. Compaction thread (finish_work.cc).
  struct Round {
    enum class Phase : uint8_t { kIndex, kDrop, kArrange, kCollect, kMakeRoom, kDone };
    FinishRequests::Request request;
    Phase phase = Phase::kIndex;
    std::optional<uint64_t> steps_left;  // of the phase; none: it has not begun
    bool began_pass = false;             // the phase has begun a pass over L1 of its own
    bool has_turn = false;               // the next step is the round's, not a merge
    std::unordered_set<uint64_t> stuck;  // chunks of rooms that could not be emptied
  };

  LsmEngine(const Options& options, std::unique_ptr<pmem::PmemPool> pool);
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  Status AnnounceWrites();
  Status Recover();
  void TellRecovery() const;
  Status VerifyAll(VerifyReport* report, const std::function<void(double)>& progress);
  size_t sealed_memtables() const;

  // background_jobs.cc
  class BackgroundJob;
  class FlushWork;
  class CompactionWork;
  class SpaceWork;
  void StartJobs();
  void StopJobs();
  void WakeJobs() noexcept;
  void WakeSleepers() noexcept {
    // Sequentially consistent, behind what there is to be done, as the number of a write: either
    // this sees who goes to sleep, or that one sees the work.
    if (asleep_.load() != 0) [[unlikely]]
      Wake();
  }

  // What writes want done; write_path.cc.
  void Wake() noexcept override;
  void SealFull(const LoggedMemTable* full) override;
  bool WaitForSpace(uint64_t reclaimed) override;
  Status Sync() override;
  void Fail(const Status& reason) noexcept override;
  /// Why writes have ended.
  Status WhyEnded() const;
  void SealActive(const LoggedMemTable* expected);

  // background.cc
  bool FlushOldest();
  bool IndexStep();
  bool CompactionStep();
  bool MergeNext();
  bool MergeOldest();
  Result<Merger::Merged> MergeTable();
  /// Carries out a step of the background. One that throws did nothing, or has called Fail.
  bool Guarded(bool (LsmEngine::*step)());
  bool GuardedStep() {
    return Guarded(&LsmEngine::FlushOldest) || Guarded(&LsmEngine::CompactionStep);
  }
  void RunInline();
  // finish_work.cc
  Status WaitUntilIdle(bool merged_too);
  void AwaitFlushes(uint64_t tables);
  uint64_t LastTableId() const;
  void BeginRound();
  void EndRound(const Status& outcome) noexcept;
  bool RoundStep();
  bool RoundWork();
  void UpdatePressure() { TellPressure(false); }
  bool failed() const noexcept { return errors_.failed(); }
  void Log(const std::string& line) const;
  Status FlushForClose();

  // What bulk loads want done.
  Status WhyNot() const override;
  std::shared_ptr<LoggedMemTable> NewMemTable(uint64_t id) override;
  Status FlushMemTables() override;
  bool FlushOldestHeld(const Flusher::Lock& flushes_held) override;
  void LetWork(bool wait) override;
  void TellPressure(bool let_go) override;
  /// Makes the tables that wait durable. Errors: why writes have ended.
  Status Checkpoint() override;
  void Block(const Status& reason);
  void Unblock();
  bool IsBlockedNow() const;

  bool IsAtRest();
  Occasion OccasionOfNow();
  bool DropStep();
  bool ArrangeStep();
  bool CollectStep();
  bool Reclaim();
  /// What reclaims may be busy touching pages for longer than writers need to fill the budget:
  /// where memory is short, whoever has just retired some does not wait for it.
  void FreeMemoryIfShort() {
    if (budget_.IsShort()) reclaimer_.ReclaimMemory();
  }
  /// What a step of the background has come to; writes end with its error.
  bool Worked(const Result<bool>& step) noexcept {
    if (!step.ok()) Fail(step.status());
    return step.ok() && *step;
  }

  bool ServeReaders();

  const Options options_;
  std::unique_ptr<pmem::PmemPool> pool_;
  const std::unique_ptr<cache::LookupCache> lookup_cache_;  // may be null
  const MemoryBudget budget_{options_, pool_.get(), lookup_cache_.get()};
  pmem::ChunkUsage usage_;
  WriteController controller_;
  std::shared_ptr<ViewRegistry> views_;
  space::Reclaimer reclaimer_{pool_.get(), [this] { return views_->OldestPin(); },
                              [this] { WakeSleepers(); }};
  VersionSet versions_{pool_.get(), &reclaimer_};
  mutable base::Counters<EngineCounter, static_cast<size_t>(EngineCounter::kCount)> counters_;

  alignas(64) std::atomic<uint64_t> sequence_{0};  // last one drawn
  std::atomic<bool> closed_{false};
  WriteErrors errors_;
  LargeValues large_values_{pool_.get()};  // its mutex comes between shard locks and load_mutex_
  Reader reader_{{.options = &options_,
                  .pool = pool_.get(),
                  .versions = &versions_,
                  .views = views_,
                  .reclaimer = &reclaimer_,
                  .lookup_cache = lookup_cache_.get(),
                  .sequence = &sequence_,
                  .closed = &closed_}};
  TableIndexes indexes_{
      {&options_, pool_.get(), &versions_, &reclaimer_, &budget_}};  // compaction thread
  LookupFiller lookup_filler_{pool_.get(), &versions_, lookup_cache_.get()};
  std::atomic<bool> stop_merges_{false};
  SpaceAccounts accounts_{
      {&options_, pool_.get(), &usage_, &versions_, &reclaimer_, lookup_cache_.get()}};
  Flusher flusher_{{.options = &options_,
                    .pool = pool_.get(),
                    .usage = &usage_,
                    .versions = &versions_,
                    .views = views_.get(),
                    .reclaimer = &reclaimer_,
                    .accounts = &accounts_,
                    .budget = &budget_,
                    .lookup_cache = lookup_cache_.get(),
                    .sequence = &sequence_}};
  Merger merger_{{.options = &options_,
                  .pool = pool_.get(),
                  .usage = &usage_,
                  .versions = &versions_,
                  .views = views_.get(),
                  .reclaimer = &reclaimer_,
                  .accounts = &accounts_,
                  .indexes = &indexes_,
                  .budget = &budget_,
                  .errors = &errors_,
                  .stop = &stop_merges_}};
  Arranger arranger_{{&options_, pool_.get(), &usage_, &versions_, &indexes_, &merger_}};
  KeptDropper dropper_{{&options_, pool_.get(), &versions_, views_.get(), &indexes_, &merger_}};
  Collector collector_{
      {&options_, pool_.get(), &usage_, &accounts_, &reclaimer_, &merger_, &errors_}};
  RoomMaker room_maker_{{pool_.get(), &usage_, &accounts_, &large_values_, &merger_}};
  std::atomic<uint32_t> asleep_{0};  // jobs that rest until they are woken
  Writer writer_{{.options = &options_,
                  .pool = pool_.get(),
                  .versions = &versions_,
                  .reader = &reader_,
                  .reclaimer = &reclaimer_,
                  .budget = &budget_,
                  .large_values = &large_values_,
                  .controller = &controller_,
                  .errors = &errors_,
                  .sequence = &sequence_,
                  .jobs_asleep = &asleep_,
                  .host = this},
                 ShardCount(options_)};
  RangeDeleter range_deleter_{
      {&options_, pool_.get(), &versions_, &reclaimer_, &reader_, &writer_}};
  BulkLoader bulk_loader_{{.options = &options_,
                           .pool = pool_.get(),
                           .usage = &usage_,
                           .versions = &versions_,
                           .reclaimer = &reclaimer_,
                           .large_values = &large_values_,
                           .lookup_filler = &lookup_filler_,
                           .controller = &controller_,
                           .writer = &writer_,
                           .flusher = &flusher_,
                           .sequence = &sequence_,
                           .host = this}};
  uint64_t l0_found_ = 0;  // tables in L0 when it was opened

  std::mutex close_mutex_;
  CallGate calls_;  // that work on the pool outside of a read section

  mutable std::mutex work_mutex_;           // over workers_
  std::mutex inline_mutex_;                 // without threads: one runs the work at a time
  std::mutex merge_mutex_;                  // held by merges, indexing, collection
  std::shared_ptr<base::Workers> workers_;  // work_mutex_; null without threads, and once closed
  std::array<std::unique_ptr<base::Workers::Job>, 3> jobs_;
  std::atomic<bool> stopping_{false};
  FinishRequests requests_;
  // Compaction thread.
  uint64_t writes_seen_ = 0;
  uint64_t quiet_since_ = 0;
  std::optional<Round> round_;
  // Compaction thread; open and close, where there is none.
  ReaderGrants readers_{{&options_, &versions_, views_.get(), &reclaimer_, &sequence_}};

  SyncRounds syncs_;

  uint64_t open_micros_ = 0;
  uint64_t recovered_entries_ = 0;
};

}  // namespace braid::engine
