// Overwriting everything again and again. Thread safety, invariants, persistence: see sustained.h.
#include "bench/harness/sustained.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/harness/process_use.h"

namespace braid::bench {
namespace {

using Json = nlohmann::json;

double PerSecond(uint64_t count, double seconds) {
  return seconds <= 0 ? 0 : static_cast<double>(count) / seconds;
}

/// Processor time of the process, for each operation of the round.
double RoundCpuNanos(const RoundTotals& round) {
  if (round.ops_per_second <= 0) return 0;
  return round.processors / round.workers / round.ops_per_second * 1e9;
}

Json RoundsToJson(const BenchmarkResult& result) {
  Json rounds = Json::array();
  for (size_t i = 0; i < result.totals.rounds.size(); ++i) {
    const RoundTotals& round = result.totals.rounds[i];
    const Histogram& latency = round.latency;
    rounds.push_back({{"ops_per_second", round.ops_per_second},
                      {"p50_ns", latency.Percentile(50)},
                      {"p99_ns", latency.Percentile(99)},
                      {"p99_99_ns", latency.Percentile(99.99)},
                      {"max_ns", latency.max()},
                      {"cpu_ns_per_operation", RoundCpuNanos(round)}});
  }
  return rounds;
}

/// Samples of the benchmark and of settling behind it, on one clock.
std::vector<ProgressSample> AllSamples(const BenchmarkResult& result) {
  std::vector<ProgressSample> all = result.samples;
  if (all.empty()) return all;
  const ProgressSample last = all.back();
  for (ProgressSample sample : result.settle_samples) {
    sample.seconds += last.seconds;
    sample.done = last.done;
    all.push_back(std::move(sample));
  }
  return all;
}

Json SpaceToJson(const BenchmarkResult& result, const std::vector<ProgressSample>& samples) {
  Json space = {{"live_bytes", result.live_bytes}};
  uint64_t file_peak = 0;
  uint64_t used_peak = 0;
  for (const ProgressSample& sample : samples) {
    file_peak = std::max(file_peak, sample.file_bytes);
    used_peak = std::max(used_peak, sample.used_bytes.value_or(0));
  }
  if (samples.empty()) return space;
  space["peak_file_bytes"] = file_peak;
  space["rest_file_bytes"] = samples.back().file_bytes;
  if (samples.back().used_bytes) {
    space["peak_used_bytes"] = used_peak;
    space["rest_used_bytes"] = *samples.back().used_bytes;
  }
  return space;
}

/// Columns over time: totals at the end of each interval, and the most of what comes and goes in
/// it.
Json SeriesToJson(const std::vector<ProgressSample>& samples) {
  Json series = {{"seconds", Json::array()}};
  if (samples.empty()) return series;
  const double step = samples.back().seconds / static_cast<double>(kMostMoments);
  ProgressSample interval;
  uint64_t used = 0;
  double next = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const ProgressSample& sample = samples[i];
    interval.file_bytes = std::max(interval.file_bytes, sample.file_bytes);
    used = std::max(used, sample.used_bytes.value_or(0));
    interval.longest_nanos = std::max(interval.longest_nanos, sample.longest_nanos);
    if (sample.seconds < next && i + 1 < samples.size()) continue;
    uint64_t done = 0;
    for (const uint64_t kind : sample.done) done += kind;
    series["seconds"].push_back(sample.seconds);
    series["operations"].push_back(done);
    series["cpu_ns"].push_back(sample.cpu_nanos - samples.front().cpu_nanos);
    series["file_bytes"].push_back(interval.file_bytes);
    if (used > 0) series["used_bytes"].push_back(used);
    series["longest_ns"].push_back(interval.longest_nanos);
    interval = ProgressSample();
    used = 0;
    next = sample.seconds + step;
  }
  return series;
}

double OfLive(uint64_t bytes, const BenchmarkResult& result) {
  return static_cast<double>(bytes) / static_cast<double>(std::max<uint64_t>(1, result.live_bytes));
}

}  // namespace

Status Sustain(const WorkloadOptions& options, Worker& worker, const Part& part) {
  const auto threads = static_cast<uint64_t>(part.threads);
  const auto first = static_cast<uint64_t>(part.index);
  // Numbers that leave the remainder `first`: each worker has some everywhere in the order of keys.
  const uint64_t count = options.num > first ? (options.num - first + threads - 1) / threads : 0;
  const uint32_t rounds = options.overwrites + 1;
  const uint32_t oldest = worker.dataset().generation() - options.overwrites;
  Histogram& latency = worker.totals().latency[static_cast<size_t>(OperationKind::kWrite)];
  std::vector<RoundTotals> done;
  uint64_t begin = NowNanos();
  uint64_t cpu_begin = ProcessCpuNanos();
  Status status;
  for (uint32_t round = 0; round < rounds && status.ok(); ++round) {
    if (count > 0) {
      const Permutation order(count, options.seed + round);
      uint64_t next = 0;
      status = worker.Loop(count, [&](OperationKind* kind) {
        *kind = OperationKind::kWrite;
        return worker.PutVersion(order(next++) * threads + first, oldest + round);
      });
    }
    const uint64_t end = NowNanos();
    const uint64_t cpu_end = ProcessCpuNanos();
    const double seconds = static_cast<double>(std::max<uint64_t>(1, end - begin)) / 1e9;
    done.push_back({PerSecond(latency.count(), seconds),
                    static_cast<double>(cpu_end - cpu_begin) / 1e9 / seconds, 1, latency});
    begin = end;
    cpu_begin = cpu_end;
    latency.Clear();
  }
  for (const RoundTotals& round : done) latency.Merge(round.latency);
  worker.totals().rounds = std::move(done);
  return status;
}

void AddRoundsToJson(const BenchmarkResult& result, Json* json) {
  if (result.totals.rounds.empty()) return;
  const std::vector<ProgressSample> samples = AllSamples(result);
  (*json)["rounds"] = RoundsToJson(result);
  (*json)["space"] = SpaceToJson(result, samples);
  (*json)["series"] = SeriesToJson(samples);
  const double all = result.seconds + result.settle_seconds;
  (*json)["ops_per_second_settled"] = PerSecond(result.totals.operations, all);
  const Json& rounds = (*json)["rounds"];
  if (rounds.size() > 1) {
    double slowest = rounds[1].at("ops_per_second").get<double>();
    const double first = slowest;
    for (size_t i = 2; i < rounds.size(); ++i) {
      slowest = std::min(slowest, rounds[i].at("ops_per_second").get<double>());
    }
    if (first > 0) (*json)["slowest_round_share"] = slowest / first;
  }
  if (samples.empty() || result.live_bytes == 0) return;
  const Json& space = (*json)["space"];
  (*json)["rest_bytes_per_live_byte"] = OfLive(space.at("rest_file_bytes"), result);
  (*json)["peak_bytes_per_live_byte"] = OfLive(space.at("peak_file_bytes"), result);
}

std::string FormatRounds(const BenchmarkResult& result) {
  std::string text;
  for (size_t i = 0; i < result.totals.rounds.size(); ++i) {
    const RoundTotals& round = result.totals.rounds[i];
    const Histogram& latency = round.latency;
    text += fmt::format(
        "    {:<12} {:>11.0f} ops/s  p50 {:.2f}  p99.99 {:.1f}  max {:.0f}  cpu/op {:.2f}\n",
        i == 0 ? "fill" : fmt::format("overwrite {}", i), round.ops_per_second,
        static_cast<double>(latency.Percentile(50)) / 1e3,
        static_cast<double>(latency.Percentile(99.99)) / 1e3,
        static_cast<double>(latency.max()) / 1e3, RoundCpuNanos(round) / 1e3);
  }
  const std::vector<ProgressSample> samples = AllSamples(result);
  if (text.empty() || samples.empty()) return text;
  uint64_t peak = 0;
  for (const ProgressSample& sample : samples) peak = std::max(peak, sample.file_bytes);
  text += fmt::format(
      "    with settling {:.0f} ops/s; {:.2f} bytes of files for each live byte, {:.2f} at most",
      PerSecond(result.totals.operations, result.seconds + result.settle_seconds),
      OfLive(samples.back().file_bytes, result), OfLive(peak, result));
  if (samples.back().used_bytes) {
    text += fmt::format(", {:.2f} of them in use", OfLive(*samples.back().used_bytes, result));
  }
  return text + "\n";
}

}  // namespace braid::bench
