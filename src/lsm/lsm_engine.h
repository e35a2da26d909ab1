// Purpose: the engine of log, memtable, tables and indexes: opens and closes a store (lsm_store.h)
// and its scheduler, and forwards to them.
// Thread safety: all public calls from any thread; the order of locks is at the head of
// lsm_store.h.
// Invariants:
//   1. A ReadState is freed, and a chunk reused, only after a grace period, and after the views
//      that may stand on it are gone.
//   2. When Close unlocks the pool, no call works on it: each is in a read section that Close waits
//      for, or counted by LsmStore::calls.
// Persistence: see the parts; the manifest is committed under the lock of the VersionSet.
// Source: ListDB 6.2.
#pragma once

#include "base/mutex.h"
#include "engine/engine.h"
#include "lsm/lsm_store.h"
#include "lsm/scheduler.h"

namespace braid::lsm {

class LsmEngine final : public engine::Engine, public std::enable_shared_from_this<LsmEngine> {
 public:
  /// Opens the engine on a pool that `media` holds or will hold.
  static Result<std::shared_ptr<LsmEngine>> Open(const Options& options,
                                                 std::unique_ptr<media::Media> media);
  ~LsmEngine() override;

  Status Put(const WriteOptions& options, Slice key, Slice value) override {
    return store_.writer.Put(options, key, value);
  }
  Status Delete(const WriteOptions& options, Slice key) override {
    return store_.writer.Delete(options, key);
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override {
    return store_.range_deleter.Write(options, batch, nullptr);
  }
  Result<bool> CompareAndSwap(const WriteOptions& options, Slice key, std::optional<Slice> expected,
                              Slice desired) override {
    return store_.writer.CompareAndSwap(options, key, expected, desired);
  }
  Status WriteUnlessChanged(const WriteOptions& options, const WriteBatch& batch,
                            std::span<const Slice> keys, const Snapshot& since) override {
    const write::Writer::Unchanged unchanged{keys, &since};
    return store_.range_deleter.Write(options, batch, &unchanged);
  }
  Status DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                     uint64_t* deleted) override {
    return store_.range_deleter.Delete(options, begin, end, deleted);
  }
  Status Get(const ReadOptions& options, Slice key, std::string* value) override {
    return store_.reader.Get(options, key, value);
  }
  Status GetPinned(const ReadOptions& options, Slice key, PinnedValue* value) override {
    return store_.reader.GetPinned(options, key, value, [this] { return shared_from_this(); });
  }
  void MultiGet(const ReadOptions& options, std::span<const Slice> keys, std::string* values,
                Status* statuses) override {
    store_.reader.MultiGet(options, keys, values, statuses);
  }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override {
    return store_.reader.NewIterator(options, shared_from_this());
  }
  std::shared_ptr<const Snapshot> GetSnapshot() override { return store_.reader.GetSnapshot(); }
  Status Flush() override;
  Status Compact() override;
  Status CompactRange(const CompactOptions& options, std::optional<Slice> begin,
                      std::optional<Slice> end) override;
  Status SetBackgroundLimit(uint64_t bytes_per_second) override {
    store_.limit.Set(bytes_per_second);
    return Status::OK();
  }
  Status Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report) override;
  Statistics GetStatistics() override;
  Status Verify(VerifyReport* report, const std::function<void(double)>& progress) override;
  Status Close() override;
  Status BackgroundStatus() override;
  Status Resume() override;

 private:
  LsmEngine(const Options& options, std::unique_ptr<pool::PmemPool> pool,
            std::unique_ptr<tier::Store> tier, std::unique_ptr<level::MemoryBudget::Share> share);
  bool closed() const noexcept { return store_.reader.closed(); }
  Status AnnounceWrites();
  Status Recover();
  Status OrderRuns(level::Version* version) const;
  Status VerifyAll(VerifyReport* report, const std::function<void(double)>& progress);
  Status FinishWork(bool merged_too);
  Status BehindWork(Status idle);
  Status AwaitTier();
  void GiveSpaceBack();

  Scheduler scheduler_{&store_};  // its jobs end before the store does: see ~LsmEngine
  LsmStore store_;
  base::Mutex close_mutex_;
  uint64_t open_micros_ = 0;
  uint64_t recovered_entries_ = 0;
};

}  // namespace braid::lsm
