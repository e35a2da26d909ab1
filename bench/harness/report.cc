#include "bench/harness/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "bench/harness/sustained.h"

namespace braid::bench {
namespace {

double Micros(uint64_t nanos) { return static_cast<double>(nanos) / 1000; }

nlohmann::json LatencyToJson(const Histogram& latency) {
  return {{"count", latency.count()},
          {"mean_ns", latency.Mean()},
          {"min_ns", latency.min()},
          {"p50_ns", latency.Percentile(50)},
          {"p90_ns", latency.Percentile(90)},
          {"p99_ns", latency.Percentile(99)},
          {"p99_9_ns", latency.Percentile(99.9)},
          {"p99_99_ns", latency.Percentile(99.99)},
          {"max_ns", latency.max()}};
}

nlohmann::json OptionalToJson(const std::optional<uint64_t>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json CountersToJson(const EngineCounters& counters) {
  return {{"lines_flushed", OptionalToJson(counters.lines_flushed)},
          {"fences", OptionalToJson(counters.fences)},
          {"stall_ns", OptionalToJson(counters.stall_nanos)},
          {"bytes_written", OptionalToJson(counters.bytes_written)},
          {"tier_gets", OptionalToJson(counters.tier_gets)},
          {"tier_gets_cached", OptionalToJson(counters.tier_gets_cached)}};
}

/// Columns: the seconds, and a row of numbers for each kind of operation and field.
nlohmann::json SamplesToJson(const std::vector<ProgressSample>& samples) {
  nlohmann::json json = {{"seconds", nlohmann::json::array()}};
  for (const ProgressSample& sample : samples) {
    json["seconds"].push_back(sample.seconds);
    for (size_t i = 0; i < kOperationKinds; ++i) {
      json["done"][OperationKindName(static_cast<OperationKind>(i))].push_back(sample.done[i]);
    }
    for (const EngineField& field : sample.fields) {
      json["fields"][field.name].push_back(field.value);
    }
  }
  return json;
}

/// The same without operations: nobody does any while the store settles.
nlohmann::json SettleSamplesToJson(const std::vector<ProgressSample>& samples) {
  nlohmann::json json = SamplesToJson(samples);
  json.erase("done");
  return json;
}

double SideRate(const BenchmarkResult& result) {
  return result.side_seconds <= 0 ? 0
                                  : static_cast<double>(result.side_writes) / result.side_seconds;
}

double PerOperation(uint64_t count, const BenchmarkResult& result) {
  return static_cast<double>(count) /
         static_cast<double>(std::max<uint64_t>(1, result.totals.operations));
}

}  // namespace

std::string ResultLegend() {
  return "latencies in microseconds; a step of readseq and readreverse is 64 records, of a batch "
         "the batch";
}

std::string FormatResult(const BenchmarkResult& result) {
  const Histogram latency = result.Latency();
  std::string line = fmt::format(
      "{:<16} {:>2} thr {:>11.0f} ops/s  p50 {:.2f}  p99 {:.2f}  p99.9 {:.1f}  p99.99 {:.1f}  "
      "max {:.0f}",
      result.name, result.threads, result.OperationsPerSecond(), Micros(latency.Percentile(50)),
      Micros(latency.Percentile(99)), Micros(latency.Percentile(99.9)),
      Micros(latency.Percentile(99.99)), Micros(latency.max()));
  if (result.counters.stall_nanos) {
    line +=
        fmt::format("  stall {:.3f} s", static_cast<double>(*result.counters.stall_nanos) / 1e9);
  }
  if (result.counters.lines_flushed) {
    line += fmt::format("  lines/op {:.2f}", PerOperation(*result.counters.lines_flushed, result));
  }
  if (result.counters.fences) {
    line += fmt::format("  fences/op {:.2f}", PerOperation(*result.counters.fences, result));
  }
  if (result.counters.tier_gets) {
    line += fmt::format("  tier gets/op {:.3f}", PerOperation(*result.counters.tier_gets, result));
    line += fmt::format(", of records in DRAM {:.3f}",
                        PerOperation(result.counters.tier_gets_cached.value_or(0), result));
  }
  if (const std::optional<double> amplification = result.WriteAmplification()) {
    line += fmt::format("  flushed/put bytes {:.2f}", *amplification);
  }
  line += fmt::format("  cpu/op {:.2f}", result.CpuNanosPerOperation() / 1e3);
  if (result.settled) line += fmt::format("  settle {:.2f} s", result.settle_seconds);
  if (result.totals.found + result.totals.not_found > 0) {
    line += fmt::format("  ({} of {} found)", result.totals.found,
                        result.totals.found + result.totals.not_found);
  }
  if (result.side_writes > 0) {
    line += fmt::format("  writer {:.0f} ops/s, p99.99 {:.1f}", SideRate(result),
                        Micros(result.side_latency.Percentile(99.99)));
  }
  if (result.load.busy()) {
    line += fmt::format("  BUSY: others had {:.0f} % of the machine",
                        (result.load.others + result.load.steal) * 100);
  }
  if (const std::string rounds = FormatRounds(result); !rounds.empty()) line += "\n" + rounds;
  return line;
}

nlohmann::json ResultToJson(const BenchmarkResult& result) {
  nlohmann::json json = {{"benchmark", result.name},
                         {"threads", result.threads},
                         {"operations", result.totals.operations},
                         {"seconds", result.seconds},
                         {"ops_per_second", result.OperationsPerSecond()},
                         {"found", result.totals.found},
                         {"not_found", result.totals.not_found},
                         {"bytes_written", result.totals.bytes_written},
                         {"side_writes", result.side_writes},
                         {"cpu_ns_per_operation", result.CpuNanosPerOperation()},
                         {"load",
                          {{"load_average", result.load.load_average},
                           {"others", result.load.others},
                           {"steal", result.load.steal}}},
                         {"busy_share", result.load.others + result.load.steal},
                         {"counters", CountersToJson(result.counters)},
                         {"latency", LatencyToJson(result.Latency())}};
  for (size_t i = 0; i < kOperationKinds; ++i) {
    const Histogram& kind = result.totals.latency[i];
    if (kind.count() == 0) continue;
    json["latency_by_kind"][OperationKindName(static_cast<OperationKind>(i))] = LatencyToJson(kind);
  }
  if (result.side_writes > 0) {
    json["side_writes_per_second"] = SideRate(result);
    if (result.side_latency.count() > 0) json["side_latency"] = LatencyToJson(result.side_latency);
  }
  // Samples without what the store tells are in the series of a benchmark in rounds.
  const auto told = [&](const std::vector<ProgressSample>& samples) {
    return !samples.empty() && (result.totals.rounds.empty() || !samples.front().fields.empty());
  };
  if (told(result.samples)) json["samples"] = SamplesToJson(result.samples);
  if (told(result.settle_samples)) {
    json["settle_samples"] = SettleSamplesToJson(result.settle_samples);
  }
  json["settle_seconds"] =
      result.settled ? nlohmann::json(result.settle_seconds) : nlohmann::json();
  json["settle_counters"] = CountersToJson(result.settle_counters);
  const std::optional<double> amplification = result.WriteAmplification();
  json["flushed_bytes_per_byte_put"] =
      amplification ? nlohmann::json(*amplification) : nlohmann::json();
  if (result.counters.tier_gets) {
    json["tier_gets_per_operation"] = PerOperation(*result.counters.tier_gets, result);
    json["tier_gets_cached_per_operation"] =
        PerOperation(result.counters.tier_gets_cached.value_or(0), result);
  }
  AddRoundsToJson(result, &json);
  return json;
}

nlohmann::json OptionsToJson(const WorkloadOptions& options) {
  return {{"benchmarks", options.benchmarks},
          {"num", options.num},
          {"reads", OptionalToJson(options.reads)},
          {"threads", options.threads},
          {"key_size", options.key_size},
          {"value_size", options.value_size},
          {"batch_size", options.batch_size},
          {"multiread_keys", options.multiread_keys},
          {"seed", options.seed},
          {"seek_nexts", options.seek_nexts},
          {"duration", options.duration},
          {"overwrites", options.overwrites},
          {"distribution", options.distribution},
          {"hash_keys", options.hash_keys},
          {"use_existing_db", options.use_existing_db},
          {"sync", options.sync},
          {"settle", options.settle},
          {"pin", options.pin},
          {"warmup_percent", options.warmup_percent},
          {"sample_millis", options.sample_millis},
          {"emulate_pmem", options.emulate_pmem},
          {"design", options.design},
          {"settings", options.settings},
          {"memory_budget", options.memory_budget_bytes},
          {"pool_share", options.pool_share},
          {"kill_at_end", options.kill_at_end},
          {"force_media_class", options.force_media_class}};
}

Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (file) return Status::OK();
  return Status::IOError("can't write " + path + ": check that its folder exists and has room");
}

}  // namespace braid::bench
