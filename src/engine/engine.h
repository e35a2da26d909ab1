// Purpose: what a design gives to the public API: one database. The recipes in src/design/ make
// them.
// Thread safety: all calls from any thread.
// Persistence: the implementation's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/forks.h"
#include "braid/db.h"
#include "pool/pool.h"

namespace braid::engine {

/// Calls have the meaning of the DB calls of the same name.
/// What a compaction answers that its progress has cancelled.
inline Status CompactionCancelled() {
  return Status::Aborted("the compaction was cancelled; what it has compacted so far stays");
}

class Engine {
 public:
  virtual ~Engine() = default;
  virtual Status Put(const WriteOptions& options, Slice key, Slice value) = 0;
  virtual Status Delete(const WriteOptions& options, Slice key) = 0;
  virtual Status Write(const WriteOptions& options, const WriteBatch& batch) = 0;
  /// NotSupported unless the design overrides it.
  virtual Result<bool> CompareAndSwap(const WriteOptions& options, Slice key,
                                      std::optional<Slice> expected, Slice desired);
  /// Write, if no key of the batch and none of `keys` has been written since `since`, and in its
  /// ranges none was put; else Busy, and nothing is written. One step among writes. Of an empty
  /// batch the answer is that of one moment within the call. NotSupported unless the design
  /// overrides it.
  virtual Status WriteUnlessChanged(const WriteOptions& options, const WriteBatch& batch,
                                    std::span<const Slice> keys, const Snapshot& since);
  /// Key by key, unless the design overrides it. `deleted` is not null.
  virtual Status DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                             uint64_t* deleted);
  virtual Status Get(const ReadOptions& options, Slice key, std::string* value) = 0;
  /// Copies, unless the design overrides it.
  virtual Status GetPinned(const ReadOptions& options, Slice key, PinnedValue* value);
  /// `values` and `statuses` have a place for each key. One Get after the other, unless the design
  /// overrides it.
  virtual void MultiGet(const ReadOptions& options, std::span<const Slice> keys,
                        std::string* values, Status* statuses);
  virtual std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) = 0;
  virtual std::shared_ptr<const Snapshot> GetSnapshot() = 0;
  virtual Status Flush() = 0;
  virtual Status Compact() = 0;
  /// All of it, unless the design overrides it; then `options.progress` is asked before and behind.
  virtual Status CompactRange(const CompactOptions& options, std::optional<Slice> begin,
                              std::optional<Slice> end);
  /// NotSupported unless the design overrides it.
  virtual Status SetBackgroundLimit(uint64_t bytes_per_second);
  /// NotSupported unless the design overrides it. `report` is never null.
  virtual Status Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report);
  virtual Statistics GetStatistics() = 0;
  virtual Status Verify(VerifyReport* report, const std::function<void(double)>& progress) = 0;
  virtual Status Close() = 0;
  virtual Status BackgroundStatus() = 0;
  /// Where a design has nothing that could go on: what BackgroundStatus says.
  virtual Status Resume() { return BackgroundStatus(); }

  /// It was opened before a fork, and this is the child: nothing of it may be used.
  bool is_parents() const noexcept { return !origin_.IsThisProcess(); }
  /// Of the pointers that share an engine. In a child the engine stays as it is: its threads are
  /// not there, its locks may be held by them, and its files are the parent's.
  struct Deleter {
    void operator()(Engine* engine) const noexcept;
  };

  /// True when the medium has failed: whatever the last call said, it can't be relied on.
  bool medium_failed() const noexcept { return medium_ != nullptr && medium_->failed(); }
  /// The pool; null where the design watches none.
  const pool::PmemPool* medium() const noexcept { return medium_; }
  Status MediumStatus() const { return medium_->FaultStatus(); }

 protected:
  /// Once, while the engine is made; the pool lives as long as the engine.
  void WatchMedium(const pool::PmemPool* pool) noexcept { medium_ = pool; }
  /// Calls the listener of `options`, if there is one, at the end of an open. Of the medium above.
  void NotifyRecovery(const Options& options, uint64_t replayed_entries, uint64_t micros) const;

 private:
  const pool::PmemPool* medium_ = nullptr;
  const base::Origin origin_;
  Engine* next_left_ = nullptr;  // of those that a child has left as they were
};

/// The limits that every design refuses alike.
Status CheckKey(Slice key);
Status CheckValue(Slice value);

}  // namespace braid::engine
