// Purpose: an engine without log and memtable: entries lie where a put has placed them, leaves in
// persistent memory name them, an index in DRAM leads to the leaves. It opens and closes the store,
// reads (leaf_read.cc), and forwards to its parts (leaf_store.h).
// Thread safety: all public calls from any thread.
// Locks: one close at a time, before those of the parts.
// Invariants:
//   1. A read's place in the order of all calls is its last look at the leaf's version; that of a
//      write see leaf_writer.h.
//   2. After a close no call is under way: what reads or writes is inside an EpochGuard, the rest
//      holds LeafScheduler::Hold.
// Persistence: see leaf_list.h. On page-cache media nothing but Close outlives the operating
// system: writes that ask for more are refused, and so is a pool that was open when the system went
// down (leaf_recovery.h).
// Source: NV-Skiplist; entries of any size, concurrency and space are braid's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/counters.h"
#include "base/latencies.h"
#include "base/mutex.h"
#include "engine/engine.h"
#include "engine/failed_snapshot.h"
#include "leaf/leaf_store.h"

namespace braid::leaf {

class LeafEngine final : public engine::Engine, public std::enable_shared_from_this<LeafEngine> {
 public:
  static Result<std::shared_ptr<LeafEngine>> Open(const Options& options,
                                                  std::unique_ptr<media::Media> media);
  ~LeafEngine() override;

  Status Put(const WriteOptions& options, Slice key, Slice value) override {
    return store_.writer.Put(options, key, value);
  }
  Status Delete(const WriteOptions& options, Slice key) override {
    return store_.writer.Delete(options, key);
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override {
    return store_.writer.Write(options, batch);
  }
  Result<bool> CompareAndSwap(const WriteOptions& options, Slice key, std::optional<Slice> expected,
                              Slice desired) override {
    return store_.writer.CompareAndSwap(options, key, expected, desired);
  }
  Status Get(const ReadOptions& options, Slice key, std::string* value) override;
  /// Shows each key that is there during the whole life of the iterator exactly once in a scan of
  /// one direction, with a value it had when the iterator came to it; keys that come, go or change
  /// meanwhile are shown as the iterator finds them. Key and value are copies.
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override;
  std::shared_ptr<const Snapshot> GetSnapshot() override {
    return engine::NewUnsupportedSnapshot();
  }
  Status Flush() override;
  Status Compact() override { return CompactRange({}, std::nullopt, std::nullopt); }
  /// Of all: the chunks of entries hold keys of any range.
  Status CompactRange(const CompactOptions& options, std::optional<Slice> begin,
                      std::optional<Slice> end) override;
  Statistics GetStatistics() override;
  Status Verify(VerifyReport* report, const std::function<void(double)>& progress) override;
  Status Close() override;
  Status BackgroundStatus() override;

  // For iterators:
  bool closed() const noexcept { return store_.closed.load(std::memory_order_acquire); }
  LeafList& list() noexcept { return store_.list; }
  const pool::PmemPool& pool() const noexcept { return *store_.pool; }
  base::Latencies::Timing TimeMove(LatencyKind kind) {
    const bool seeks = kind == LatencyKind::kSeek;
    return {store_.stalls.latencies(), kind,
            counters_.Add(seeks ? Counter::kSeeks : Counter::kSteps)};
  }

 private:
  enum class Counter : uint8_t { kGets, kGetsFound, kIterators, kSeeks, kSteps, kCount };

  LeafEngine(const Options& options, std::unique_ptr<pool::PmemPool> pool,
             std::unique_ptr<base::SharedBudget::Share> share);
  Status Recover();
  Status CloseInOrder();
  Status VerifyAll(VerifyReport* report, const std::function<void(double)>& progress);
  void Log(const std::string& line) const;

  LeafStore store_;
  base::Counters<Counter, static_cast<size_t>(Counter::kCount)> counters_;
  base::Mutex close_mutex_;    // held by Close
  bool image_served_ = false;  // the image of the last close is freed
  uint64_t recovered_entries_ = 0;
  uint64_t open_micros_ = 0;
};

}  // namespace braid::leaf
