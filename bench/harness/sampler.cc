// What is seen of workers and store while they run. Thread safety, persistence: see sampler.h.
#include "bench/harness/sampler.h"

#include <algorithm>
#include <utility>

#include "bench/harness/process_use.h"

namespace braid::bench {

void Sampler::Start() {
  begin_ = NowNanos();
  Take();
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, interval_, [this] { return stopped_; })) Take();
  });
}

std::vector<ProgressSample> Sampler::Stop() {
  if (!thread_.joinable()) return {};
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  thread_.join();
  Take();
  return std::move(samples_);
}

void Sampler::Take() {
  ProgressSample sample;
  for (Progress& worker : progress_) {
    for (size_t kind = 0; kind < kOperationKinds; ++kind) {
      // relaxed: see Progress::Add.
      sample.done[kind] += worker.done[kind].load(std::memory_order_relaxed);
    }
    // relaxed: see Progress::Took.
    const uint64_t longest = worker.longest_nanos.exchange(0, std::memory_order_relaxed);
    sample.longest_nanos = std::max(sample.longest_nanos, longest);
  }
  if (with_fields_) sample.fields = engine_.Fields();
  if (!space_.empty()) {
    sample.file_bytes = AllocatedBytes(space_);
    sample.used_bytes = engine_.UsedBytes();
  }
  sample.cpu_nanos = ProcessCpuNanos();
  sample.seconds = static_cast<double>(NowNanos() - begin_) / 1e9;
  samples_.push_back(std::move(sample));
}

}  // namespace braid::bench
