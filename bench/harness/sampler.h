// Purpose: Sampler, which looks at the workers and the store at equal intervals while a benchmark
// runs.
// Thread safety: Start and Stop from one thread; it looks on a thread of its own.
// Persistence: none.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/harness/kv_engine.h"
#include "bench/harness/worker.h"

namespace braid::bench {

/// What was seen while a benchmark ran, at one moment.
struct ProgressSample {
  double seconds = 0;  ///< since the workers started, or settling did
  std::array<uint64_t, kOperationKinds> done{};
  std::vector<EngineField> fields;          ///< as the store tells them
  uint64_t file_bytes = 0;                  ///< of the medium, that the store's files take
  std::optional<uint64_t> used_bytes = {};  ///< KvEngine::UsedBytes()
  uint64_t cpu_nanos = 0;                   ///< of the whole process
  uint64_t longest_nanos = 0;               ///< of the operations that ended since the last look
};

class Sampler {
 public:
  /// `space`: the store's files, looked at when not empty; `with_fields`: what the store tells,
  /// too.
  Sampler(KvEngine& engine, std::vector<Progress>& progress, uint64_t interval_millis,
          std::string space, bool with_fields)
      : engine_(engine),
        progress_(progress),
        interval_(interval_millis),
        space_(std::move(space)),
        with_fields_(with_fields) {}
  ~Sampler() { (void)Stop(); }

  /// Has taken the first sample when it returns, so that a run that ends at once has two.
  void Start();
  /// Takes the last one.
  std::vector<ProgressSample> Stop();

 private:
  void Take();

  KvEngine& engine_;
  std::vector<Progress>& progress_;
  std::chrono::milliseconds interval_;
  std::string space_;
  bool with_fields_;
  uint64_t begin_ = 0;
  std::vector<ProgressSample> samples_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace braid::bench
