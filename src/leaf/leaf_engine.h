// Purpose: an engine without log and memtable: entries lie where a put has placed them, leaves in
// persistent memory name them, an index in DRAM leads to the leaves. Paths: leaf_write.cc,
// leaf_read.cc, leaf_space.cc, leaf_verify.cc; opening and closing here.
// Thread safety: all public calls from any thread.
// Locks, in the order they may be taken: closing_mutex_, close_mutex_, maintenance_mutex_,
// pause_mutex_, mutexes of leaves (left to right), locks of heap, list and index, retired_mutex_.
// Inside an EpochGuard, block only on mutexes of leaves and on what follows them.
// Invariants:
//   1. A write takes effect under the mutex of the leaf that is responsible for its key, when
//      readers are shown a bitmap that is durable. That is its place in the order of all calls, and
//      a read's is its last look at the leaf's version.
//   2. Sequence numbers of a key grow with its versions; they order what a salvage finds, and
//      nothing else.
//   3. What no leaf names any more is reused only after a grace period.
// Persistence: see leaf_list.h. On page-cache media nothing but Close outlives the operating
// system: writes that ask for more are refused, and so is a pool that was open when the system went
// down (leaf_recovery.h).
// Source: NV-Skiplist; entries of any size, concurrency and space are braid's.
#pragma once

#include <list>
#include <memory>

#include "base/counters.h"
#include "base/epoch.h"
#include "base/mutex.h"
#include "base/stalls.h"
#include "base/workers.h"
#include "engine/engine.h"
#include "engine/failed_snapshot.h"
#include "engine/write_errors.h"
#include "leaf/leaf_list.h"
#include "leaf/leaf_recovery.h"
#include "level/manifest.h"
#include "log/entry_heap.h"
#include "space/large_values.h"

namespace braid::leaf {

enum class LeafCounter : uint8_t {
  kPuts,
  kDeletes,
  kBatches,
  kGets,
  kGetsFound,
  kIterators,
  kBytesPut,
  kSplits,
  kUnions,
  kInserted,
  kRemoved,
  kMoved,
  kFreedChunks,
  kCount
};

class LeafEngine final : public engine::Engine, public std::enable_shared_from_this<LeafEngine> {
 public:
  static Result<std::shared_ptr<LeafEngine>> Open(const Options& options,
                                                  std::unique_ptr<media::Media> media);
  ~LeafEngine() override;

  Status Put(const WriteOptions& options, Slice key, Slice value) override;
  Status Delete(const WriteOptions& options, Slice key) override;
  Status Write(const WriteOptions& options, const WriteBatch& batch) override;
  Result<bool> CompareAndSwap(const WriteOptions& options, Slice key, std::optional<Slice> expected,
                              Slice desired) override;
  Status Get(const ReadOptions& options, Slice key, std::string* value) override;
  /// Shows each key that is there during the whole life of the iterator exactly once in a scan of
  /// one direction, with a value it had when the iterator came to it; keys that come, go or change
  /// meanwhile are shown as the iterator finds them. Key and value are copies.
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override;
  std::shared_ptr<const Snapshot> GetSnapshot() override {
    return engine::NewUnsupportedSnapshot();
  }
  Status Flush() override;
  Status Compact() override;
  Statistics GetStatistics() override;
  Status Verify(VerifyReport* report, const std::function<void(double)>& progress) override;
  Status Close() override;
  Status BackgroundStatus() override;

  // For iterators:
  bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  LeafList& list() noexcept { return *list_; }
  const pool::PmemPool& pool() const noexcept { return *pool_; }
  Status ValueOf(uint64_t entry, std::string_view* value) const;

 private:
  /// What a conditional write asks for, and whether it was so.
  struct Condition {
    std::optional<Slice> expected;
    bool met = false;
    bool wants_copy = false;  // it was met, and nothing written: the value is to be copied first
  };
  /// What a write must do once it has counted; made before, where memory may be missing.
  struct RetiredEntry {
    std::list<uint64_t> extent;  // one place, or none
  };

  LeafEngine(const Options& options, std::unique_ptr<pool::PmemPool> pool);
  Status Recover();
  Status CloseInOrder();
  class Maintenance;
  void StartJob();

  // leaf_write.cc
  Status Update(const WriteOptions& options, log::PendingEntry pending, Condition* condition);
  Status TryUpdate(log::PendingEntry* pending, Condition* condition);
  Status UpdateLeaf(LeafNode* node, log::PendingEntry* pending, Condition* condition);
  Status PutInLeaf(LeafNode* node, const LeafLookup& found, log::PendingEntry* pending);
  Status RemoveFromLeaf(LeafNode* node, const LeafLookup& found);
  Status LockLeaf(std::string_view key, base::MutexHold* lock, LeafNode** node);
  Status MakeFirstLeaf(LeafNode* head, pool::AllocationClass allocation);
  Status Split(LeafNode* node, pool::AllocationClass allocation);
  Status Shrink(std::string_view key);
  Result<std::vector<LeafItem>> ItemsOf(const LeafNode& node) const;
  void AfterWrite();
  Status AdmitWrite() const;
  Status CheckSync(const WriteOptions& options) const;

  // leaf_space.cc
  RetiredEntry PrepareToRetire(uint64_t entry) const;
  void Retire(uint64_t entry, RetiredEntry* retired) noexcept;
  bool Reclaim(bool open_too);
  bool CollectStep(bool drain);
  bool Collect(const std::vector<uint64_t>& sparse);
  Status MoveEntry(uint64_t entry, bool* moved);
  Status TryMove(uint64_t entry, log::PendingEntry* pending, const space::LargeValues::Scope& large,
                 bool* moved);
  void MakeRoom();
  /// `reclaims` is from before the attempt that found no room.
  bool WaitForSpace(uint64_t reclaims);
  void Maintain();
  uint64_t GarbageLimit() const;

  // leaf_verify.cc
  class Pause;
  struct Totals;
  Status VerifyAll(VerifyReport* report, const std::function<void(double)>& progress);
  void CheckLeaves(const std::function<void(double)>& progress, Totals* totals);
  bool CheckLeaf(LeafNode* node, Totals* totals);
  void CheckSpace(Totals* totals);
  void CheckChunk(uint64_t chunk, Totals* totals);
  bool IsNamed(uint64_t offset);
  void CheckExtents(Totals* totals);

  void Log(const std::string& line) const;
  uint64_t entries() const noexcept {
    return opened_entries_ + counters_.Sum(LeafCounter::kInserted) -
           counters_.Sum(LeafCounter::kRemoved);
  }
  bool page_media() const noexcept { return pool_->ops().media_class() == MediaClass::kPage; }

  const Options options_;
  std::unique_ptr<pool::PmemPool> pool_;
  pool::ChunkUsage usage_;
  level::Manifest manifest_;
  std::unique_ptr<LeafList> list_;
  log::EntryHeap heap_;
  space::LargeValues large_values_{pool_.get()};
  base::Counters<LeafCounter, static_cast<size_t>(LeafCounter::kCount)> counters_;
  base::Stalls stalls_;

  alignas(64) std::atomic<uint64_t> sequence_{0};  // last one drawn
  alignas(64) std::atomic<uint64_t> garbage_bytes_{0};
  std::atomic<uint64_t> reclaims_{0};  // that gave space back
  std::atomic<bool> closed_{false};
  engine::WriteErrors errors_{pool_.get(), &closed_};
  std::atomic<bool> paused_{false};  // writes wait at pause_mutex_

  base::Mutex closing_mutex_;  // held by Close
  base::Mutex close_mutex_;
  base::Mutex maintenance_mutex_;
  // What a collection left sparse that gained no chunk; 0 chunks: the last one gained some.
  size_t futile_chunks_ BRAID_GUARDED_BY(maintenance_mutex_) = 0;
  int64_t futile_live_ BRAID_GUARDED_BY(maintenance_mutex_) = 0;
  base::Mutex pause_mutex_;

  mutable base::Mutex retired_mutex_;
  std::list<uint64_t> extents_ BRAID_GUARDED_BY(retired_mutex_);  // of entries that no leaf names

  std::atomic<bool> maintenance_wanted_{false};
  std::shared_ptr<base::Workers> workers_;   // null without threads
  std::unique_ptr<base::Workers::Job> job_;  // likewise

  bool image_served_ = false;  // the image of the last close is freed
  uint64_t opened_entries_ = 0;
  uint64_t recovered_entries_ = 0;
  uint64_t open_micros_ = 0;
};

}  // namespace braid::leaf
