// Purpose: bulk load: records become a table of L0 without passing log and memtable.
// Thread safety: any thread; one load at a time, the others wait.
// Locks, in the order they may be taken: that of loads, KeptRange::Own, Flusher::HoldFlushes,
// Writer::HoldBatches, and those over chunks and the VersionSet.
// Invariants:
//   1. A load is committed while no memtable holds anything and no table waits, with an id and a
//      number above all that were drawn before; so it is the newest table.
// Persistence: flush/sorted_load.h; what a crash leaves of a load that was not committed is swept
// at the next open.
//
// Steps of a run of sorted records:
//  1. Choose the table's id and its one sequence number far above the current ones, so that all
//     tables and writes that come while it is written stay below them. The entries carry both.
//  2. Write the entries; reads and writes go on. What is written belongs to nobody yet.
//  3. Flush the memtables. When little is left, hold the writers, and flush the rest.
//  4. Commit the table with the manifest, draw its number, and show it, as the newest of L0 below a
//     fresh memtable; let the writers go on. The commit is the moment at which the records are in
//     the store, and the swap of the state the one at which others see them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/mutex.h"
#include "compaction/lookup_filler.h"
#include "flush/flusher.h"
#include "space/large_values.h"
#include "write/write_controller.h"
#include "write/writer.h"

namespace braid::lsm {

class NumberedSource;

class BulkLoader {
 public:
  /// What a load wants done by the store it belongs to.
  class Host {
   public:
    /// As Writer::Host.
    virtual bool WaitForSpace(uint64_t reclaimed) = 0;
    virtual void Fail(const Status& reason) noexcept = 0;
    /// Why the load is to end, if it is: the store closes, or writes have ended.
    virtual Status WhyNot() const = 0;
    virtual std::shared_ptr<memtable::MemTable> NewMemTable(uint64_t id,
                                                            const memtable::MemTable* before) = 0;
    /// Switches the active memtable, and waits until no immutable one is left. Errors: why some
    /// are.
    virtual Status FlushMemTables() = 0;
    /// Flushes the oldest immutable memtable. False when there is none, or no room for its table.
    virtual bool FlushOldestHeld(const flush::Flusher::Lock& flushes_held) = 0;
    /// Makes the tables that wait durable.
    virtual Status WriteBackGroup() = 0;
    /// The background has work: lets it do some, and waits a moment for it where `wait`.
    virtual void LetWork(bool wait) = 0;
    /// Tells writers how far the background is behind; `resume`: they were held until now.
    virtual void TellPressure(bool resume) = 0;

   protected:
    ~Host() = default;
  };
  /// What is loaded into, and outlives the loader.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    pool::ChunkUsage* usage;
    level::VersionSet* versions;
    space::Reclaimer* reclaimer;
    space::LargeValues* large_values;
    compaction::LookupFiller* lookup_filler;
    write::WriteController* controller;
    write::Writer* writer;
    flush::Flusher* flusher;
    std::atomic<uint64_t>* sequence;  // last one drawn
    Host* host;
  };

  explicit BulkLoader(const Store& store) noexcept : store_(store), pool_(*store.pool) {}

  /// As DB::Ingest.
  Status Load(RecordSource* source, const IngestOptions& options, IngestReport* report);
  /// While it is held, no load takes or gives back chunks.
  base::MutexHold HoldChunks() { return base::MutexHold(chunks_mutex_); }

 private:
  class Loading;
  class WritePause;

  Status LoadRun(NumberedSource* source, IngestReport* report);
  Status LoadRecords(NumberedSource* source, Loading* loading);
  Status TakeHead(Loading* loading);
  Status Commit(Loading* loading);
  Status FlushMostEntries();
  Result<bool> Show(Loading* loading);
  void SealMemTable(WritePause* hold);
  Result<bool> CommitHeld(Loading* loading, WritePause* hold);

  const Store store_;
  pool::PmemPool& pool_;
  base::Mutex load_mutex_;
  base::Mutex chunks_mutex_;
};

}  // namespace braid::lsm
