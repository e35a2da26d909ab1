// Worker: one thread's operations on a store. Each read is checked against the Dataset, each
// operation is timed.
//
// Thread safety: one thread; Dataset and RunControl are shared.
// Persistence: none.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/dataset.h"
#include "bench/harness/kv_engine.h"
#include "src/base/clock.h"
#include "src/base/histogram.h"
#include "src/base/random.h"

namespace braid::bench {

enum class OperationKind { kRead = 0, kWrite = 1, kScan = 2 };
inline constexpr size_t kOperationKinds = 3;
const char* OperationKindName(OperationKind kind);

/// How far one worker got, for whoever watches while it runs.
struct alignas(64) Progress {
  std::array<std::atomic<uint64_t>, kOperationKinds> done{};  ///< full scans count records
  std::atomic<uint64_t> longest_nanos{0};                     ///< since it was last looked at

  /// By the worker alone.
  void Add(OperationKind kind, uint64_t steps = 1) {
    std::atomic<uint64_t>& count = done[static_cast<size_t>(kind)];
    // relaxed: a number to look at; nothing is published with it.
    count.store(count.load(std::memory_order_relaxed) + steps, std::memory_order_relaxed);
  }
  /// By the worker alone, for each operation.
  void Took(uint64_t nanos) {
    // relaxed: a number to look at. One that ends between load and store of a look is seen later.
    if (nanos > longest_nanos.load(std::memory_order_relaxed)) {
      longest_nanos.store(nanos, std::memory_order_relaxed);
    }
  }
};

/// What all workers of a benchmark share.
struct RunControl {
  std::atomic<bool> stop{false};
  uint64_t duration_nanos = 0;  ///< 0: no limit
};

/// One of several parts of a benchmark that follow one another without a pause.
struct RoundTotals {
  double ops_per_second = 0;  ///< each worker's over its own part, summed up: workers drift apart
  double processors = 0;      ///< that the process used during the parts, summed up over workers
  int workers = 0;
  Histogram latency;
};

/// What a worker did; merged over workers.
struct WorkerTotals {
  uint64_t operations = 0;
  uint64_t found = 0;
  uint64_t not_found = 0;
  uint64_t bytes_written = 0;
  std::array<Histogram, kOperationKinds> latency;
  std::vector<RoundTotals> rounds;

  void Merge(const WorkerTotals& other);
};

class Worker {
 public:
  /// `progress`: where the worker counts its steps as it goes; may be null.
  Worker(int index, uint64_t seed, Dataset& dataset, std::unique_ptr<KvSession> session,
         RunControl& control, Progress* progress = nullptr);

  int index() const { return index_; }
  Random& random() { return random_; }
  Dataset& dataset() { return dataset_; }
  WorkerTotals& totals() { return totals_; }

  Status Get(uint64_t number);
  /// Gets all of them with one call; each is an operation.
  Status MultiGet(const std::vector<uint64_t>& numbers);
  /// Looks for a key that was never written.
  Status GetMissing(uint64_t number);
  Status Put(uint64_t number) { return PutVersion(number, dataset_.generation()); }
  /// The same with a value of that generation, which Dataset::versions() must have.
  Status PutVersion(uint64_t number, uint32_t version);
  Status PutBatch(const std::vector<uint64_t>& numbers);
  Status Insert();
  Status Delete(uint64_t number);
  /// To the key and `nexts` records on.
  Status Seek(uint64_t number, uint64_t nexts);
  /// All records in order, at most `limit`; each is an operation, timed in groups of kScanGroup.
  Status FullScan(bool reverse, uint64_t limit);

  /// Runs `step(&kind)` `steps` times, or until the time is over, and times each.
  template <class Step>
  Status Loop(uint64_t steps, Step&& step) {
    uint64_t begin = NowNanos();
    const uint64_t deadline = control_.duration_nanos == 0 ? 0 : begin + control_.duration_nanos;
    for (uint64_t i = 0; (deadline != 0 || i < steps) && !stopped(); ++i) {
      OperationKind kind = OperationKind::kRead;
      Status status = step(&kind);
      if (!status.ok()) return status;
      const uint64_t end = NowNanos();
      totals_.latency[static_cast<size_t>(kind)].Record(end - begin);
      if (progress_ != nullptr) {
        progress_->Add(kind);
        progress_->Took(end - begin);
      }
      begin = end;
      if (deadline != 0 && end >= deadline) break;
    }
    return Status::OK();
  }

  // relaxed: stopping a little later is fine, and nothing is published with it.
  bool stopped() const { return control_.stop.load(std::memory_order_relaxed); }

  static constexpr uint64_t kScanGroup = 64;
  static constexpr uint64_t kThoroughEvery = 64;

 private:
  Status CheckGet(uint64_t number, std::string_view key, const Status& status,
                  std::string_view value);
  Status CheckRecord(std::string_view key, std::string_view value);
  Status CheckOrder(std::string_view key, bool reverse);
  Status Missing(std::string_view key) const;

  int index_;
  Random random_;
  Dataset& dataset_;
  std::unique_ptr<KvSession> session_;
  RunControl& control_;
  Progress* progress_;
  KeyBuffer key_;
  std::string value_;       // to write
  std::string read_value_;  // that was read
  std::string last_key_;    // of a scan
  std::string batch_bytes_;
  std::vector<std::string_view> many_keys_;
  std::vector<std::string> many_values_;
  std::vector<Status> many_statuses_;
  std::vector<BatchUpdate> batch_;
  uint64_t checks_ = 0;
  WorkerTotals totals_;
};

}  // namespace braid::bench
