// Writes records to a database in batches, on several threads.
//
// Thread safety: Add, Finish and the constructor belong to one thread; the counters may be read
// from any.
// Invariants:
//  1. Two records of one key go to the same thread, in order: the later one wins, as in the input.
//  2. A record is counted as written, and noted in the acknowledgement file, only after the
//     database acknowledged the batch that holds it.
// Persistence: none of its own; DB::Write commits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "braid/db.h"
#include "tools/record_reader.h"

namespace braid::tools {

struct BatchSettings {
  size_t threads = 1;
  size_t batch_records = 256;
  bool sync = false;
  int acknowledge_fd = -1;  ///< where acknowledged keys go, escaped, a line each; -1: nowhere
  bool hex = false;         ///< write those keys as hex
};

class BatchWriter {
 public:
  BatchWriter(DB* db, const BatchSettings& settings);
  ~BatchWriter();
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;

  /// Takes a record over. Waits while its thread is behind. False after a failure: call Finish.
  bool Add(Record&& record);
  /// Writes what is pending, ends the threads and returns the first failure.
  Status Finish();

  uint64_t written() const { return written_.load(std::memory_order_relaxed); }
  /// After Finish: the first line of the input with a record that was not written, if any. All
  /// records on earlier lines were.
  std::optional<uint64_t> first_unwritten_line() const { return first_unwritten_line_; }

 private:
  struct Batch {
    std::vector<Record> records;
    size_t bytes = 0;
  };
  struct Lane {
    Batch pending;  // filled by Add, not shared
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Batch> queue;
    bool closed = false;
    std::thread thread;
  };

  void Submit(Lane& lane);
  void EndThreads();
  Status failure() {
    const std::lock_guard lock(failure_mutex_);
    return failure_;
  }
  void RunLane(Lane& lane);
  Status WriteBatchOf(const Batch& batch);
  Status Acknowledge(const Batch& batch);
  void NoteFailure(const Status& status, const Batch& batch);

  DB* const db_;
  const BatchSettings settings_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::atomic<uint64_t> written_{0};
  std::atomic<bool> failed_{false};
  std::mutex acknowledge_mutex_;
  std::mutex failure_mutex_;
  Status failure_;
  std::optional<uint64_t> first_unwritten_line_;
};

}  // namespace braid::tools
