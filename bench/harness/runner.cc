#include "bench/harness/runner.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <latch>
#include <mutex>
#include <thread>
#include <utility>

namespace braid::bench {
namespace {

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void PinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  // Where it is forbidden the run goes on unpinned.
  (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

EngineCounters Difference(const EngineCounters& from, const EngineCounters& to) {
  const auto subtract = [](const std::optional<uint64_t>& a, const std::optional<uint64_t>& b) {
    return a && b ? std::optional<uint64_t>(*b - *a) : std::nullopt;
  };
  return {subtract(from.lines_flushed, to.lines_flushed),
          subtract(from.fences, to.fences),
          subtract(from.stall_nanos, to.stall_nanos),
          subtract(from.bytes_written, to.bytes_written),
          subtract(from.tier_gets, to.tier_gets),
          subtract(from.tier_gets_cached, to.tier_gets_cached)};
}

Status WithContext(const Status& status, const std::string& context) {
  const std::string message = context + ": " + std::string(status.message());
  switch (status.code()) {
    case Status::Code::kCorruption:
      return Status::Corruption(message);
    case Status::Code::kInvalidArgument:
      return Status::InvalidArgument(message);
    case Status::Code::kNotSupported:
      return Status::NotSupported(message);
    default:
      return Status::IOError(message);
  }
}

/// What one thread of a benchmark reports.
struct Outcome {
  Status status;
  uint64_t begin = 0;
  uint64_t end = 0;
  WorkerTotals totals;
};

/// The first `measured` outcomes as one result; the others are side writers.
Status Merge(const std::vector<Outcome>& outcomes, int measured, BenchmarkResult* result) {
  uint64_t begin = ~uint64_t{0};
  uint64_t end = 0;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    if (!outcome.status.ok()) return outcome.status;
    if (i >= static_cast<size_t>(measured)) {
      result->side_writes += outcome.totals.operations;
      result->side_seconds = static_cast<double>(outcome.end - outcome.begin) / 1e9;
      for (const Histogram& kind : outcome.totals.latency) result->side_latency.Merge(kind);
      continue;
    }
    begin = std::min(begin, outcome.begin);
    end = std::max(end, outcome.end);
    result->totals.Merge(outcome.totals);
  }
  result->seconds = static_cast<double>(end - begin) / 1e9;
  return Status::OK();
}

}  // namespace

double BenchmarkResult::OperationsPerSecond() const {
  return seconds <= 0 ? 0 : static_cast<double>(totals.operations) / seconds;
}

Histogram BenchmarkResult::Latency() const {
  Histogram all;
  for (const Histogram& kind : totals.latency) all.Merge(kind);
  return all;
}

std::optional<double> BenchmarkResult::WriteAmplification() const {
  if (!counters.bytes_written || totals.bytes_written == 0) return std::nullopt;
  const uint64_t bytes = *counters.bytes_written + settle_counters.bytes_written.value_or(0);
  return static_cast<double>(bytes) / static_cast<double>(totals.bytes_written);
}

double BenchmarkResult::CpuNanosPerOperation() const {
  return totals.operations == 0 ? 0
                                : static_cast<double>(cpu_nanos + settle_cpu_nanos) /
                                      static_cast<double>(totals.operations);
}

Runner::Runner(KvEngine& engine, const WorkloadOptions& options, std::string directory)
    : engine_(engine),
      options_(options),
      directory_(std::move(directory)),
      dataset_(options),
      cpus_(AllowedCpus()) {
  if (options.use_existing_db) {
    dataset_.AssumeExisting();
    fresh_ = false;
  }
}

Status Runner::Run(const std::function<void(const BenchmarkResult&)>& report) {
  const uint64_t begin = NowNanos();
  Status status = engine_.Open(options_.MakeEngineConfig(directory_));
  open_seconds_ = static_cast<double>(NowNanos() - begin) / 1e9;
  if (!status.ok()) {
    // A store that failed halfway may hold a handle.
    (void)engine_.Close();
    return WithContext(status, engine_.name() + " does not open");
  }
  status = RunAll(report);
  Status closed = engine_.Close();
  if (!status.ok()) return status;
  return closed.ok() ? closed : WithContext(closed, engine_.name() + " does not close");
}

Status Runner::RunAll(const std::function<void(const BenchmarkResult&)>& report) {
  for (size_t i = 0; i < options_.benchmarks.size(); ++i) {
    const BenchmarkSpec& spec = *FindBenchmark(options_.benchmarks[i]);
    BenchmarkResult result;
    result.name = spec.name;
    result.threads = options_.threads;
    result.live_bytes = options_.num * (options_.key_size + options_.value_size);
    const MachineMoment before = LookAtMachine();
    Status status = RunOne(spec, &result);
    // Between two benchmarks that only write there is nobody who would profit.
    const bool last = i + 1 == options_.benchmarks.size();
    const bool reads_next = last || FindBenchmark(options_.benchmarks[i + 1])->reads;
    const bool settles = options_.settle && spec.writes && reads_next && !spec.never_settles;
    if (status.ok() && settles) status = Settle(spec, &result);
    result.load = LoadBetween(before, LookAtMachine());
    if (!status.ok()) return WithContext(status, spec.name + " on " + engine_.name());
    report(result);
  }
  return Status::OK();
}

Status Runner::Prepare(const BenchmarkSpec& spec) {
  if (spec.fills && !fresh_ && !options_.use_existing_db) {
    Status status = Recreate();
    if (!status.ok()) return status;
  }
  if (!spec.fills && dataset_.empty()) {
    return Status::InvalidArgument(
        "there is no data yet: put fillrandom first in --benchmarks, or pass --use_existing_db");
  }
  if (spec.deletes) {
    dataset_.BeginDeletes();
  } else if (spec.writes) {
    dataset_.BeginWrites(spec.in_rounds ? options_.overwrites + 1 : 1);
  }
  return Status::OK();
}

Status Runner::Recreate() {
  Status status = engine_.Close();
  if (!status.ok()) return status;
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
  if (error) return Status::IOError("can't remove " + directory_ + ": " + error.message());
  fresh_ = true;
  return engine_.Open(options_.MakeEngineConfig(directory_));
}

Status Runner::RunOne(const BenchmarkSpec& spec, BenchmarkResult* result) {
  Status status = Prepare(spec);
  if (!status.ok()) return status;
  const EngineCounters before = engine_.Counters();
  status = RunWorkers(spec, result);
  if (!status.ok()) return status;
  result->counters = Difference(before, engine_.Counters());
  if (spec.fills) dataset_.CompleteFill(fresh_);
  fresh_ = false;
  return Status::OK();
}

Status Runner::RunWorkers(const BenchmarkSpec& spec, BenchmarkResult* result) {
  const int measured = options_.threads;
  const int threads = measured + (spec.extra_writer ? 1 : 0);
  RunControl control;
  control.duration_nanos =
      spec.fills || spec.scans_all ? 0 : static_cast<uint64_t>(options_.duration * 1e9);
  const bool sampled = SampleMillis(spec) > 0;
  std::latch ready(threads);
  std::latch first_sample(1);
  std::latch readers(measured);
  std::vector<Outcome> outcomes(static_cast<size_t>(threads));
  std::vector<Progress> progress(static_cast<size_t>(threads));
  Sampler sampler = MakeSampler(spec, progress);

  const auto run = [&](int index) {
    if (options_.pin && !cpus_.empty()) PinTo(cpus_[static_cast<size_t>(index) % cpus_.size()]);
    Outcome& outcome = outcomes[static_cast<size_t>(index)];
    Worker worker(index, options_.seed + Mix64(std::hash<std::string>()(spec.name)), dataset_,
                  engine_.NewSession(), control, &progress[static_cast<size_t>(index)]);
    const uint64_t operations = options_.Operations();
    const auto share = [&](int i) { return operations * static_cast<uint64_t>(i) / measured; };
    Part part{index, measured, share(index + 1) - share(index)};
    if (spec.warms_up && options_.warmup_percent > 0) {
      Part warmup = part;
      warmup.steps =
          static_cast<uint64_t>(static_cast<double>(part.steps) * options_.warmup_percent / 100);
      const uint64_t duration = control.duration_nanos;
      // With a duration the caches warm up on the way: a fixed share of operations has no meaning.
      if (duration == 0) outcome.status = spec.body(options_, worker, warmup);
      worker.totals() = WorkerTotals();
    }
    for (auto& count : progress[static_cast<size_t>(index)].done) count = 0;
    ready.arrive_and_wait();
    if (sampled) first_sample.wait();
    if (index < measured) std::this_thread::sleep_for(HeadStart(spec));
    outcome.begin = NowNanos();
    if (outcome.status.ok()) outcome.status = spec.body(options_, worker, part);
    outcome.end = NowNanos();
    if (!outcome.status.ok()) control.stop = true;
    outcome.totals = worker.totals();
    if (index < measured) readers.count_down();
  };

  std::vector<std::thread> pool;
  for (int i = 0; i < threads; ++i) pool.emplace_back(run, i);
  ready.wait();
  if (sampled) {
    sampler.Start();
    first_sample.count_down();
  }
  std::this_thread::sleep_for(HeadStart(spec));
  const uint64_t cpu_begin = ProcessCpuNanos();
  if (spec.extra_writer) {
    readers.wait();
    control.stop = true;
  }
  for (std::thread& thread : pool) thread.join();
  result->cpu_nanos = ProcessCpuNanos() - cpu_begin;
  result->samples = sampler.Stop();

  return Merge(outcomes, measured, result);
}

uint64_t Runner::SampleMillis(const BenchmarkSpec& spec) const {
  if (options_.sample_millis > 0) return options_.sample_millis;
  return spec.in_rounds ? kRoundSampleMillis : 0;
}

std::chrono::nanoseconds Runner::HeadStart(const BenchmarkSpec& spec) const {
  if (!spec.head_start) return {};
  // Long enough for the background to have begun; without a duration there are few operations.
  const double seconds = std::min(0.5, options_.duration / 2);
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

Sampler Runner::MakeSampler(const BenchmarkSpec& spec, std::vector<Progress>& progress) {
  return Sampler(engine_, progress, SampleMillis(spec), spec.in_rounds ? directory_ : "",
                 options_.sample_millis > 0);
}

Status Runner::Settle(const BenchmarkSpec& spec, BenchmarkResult* result) {
  const EngineCounters before = engine_.Counters();
  const uint64_t begin = NowNanos();
  const uint64_t cpu_begin = ProcessCpuNanos();
  std::vector<Progress> nobody;
  Sampler sampler = MakeSampler(spec, nobody);
  if (SampleMillis(spec) > 0) sampler.Start();
  Status status = engine_.Settle();
  result->settled = true;
  result->settle_seconds = static_cast<double>(NowNanos() - begin) / 1e9;
  result->settle_samples = sampler.Stop();
  result->settle_cpu_nanos = ProcessCpuNanos() - cpu_begin;
  result->settle_counters = Difference(before, engine_.Counters());
  return status;
}

}  // namespace braid::bench
