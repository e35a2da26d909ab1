// The goals of the scenarios. Thread safety, persistence: see goals.h.
#include "bench/harness/goals.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "bench/harness/html_parts.h"

namespace braid::bench {
namespace {

enum class Wanted { kAtLeast, kAtMost };
enum class Sizes { kAll, kTiny, kSmall, kLarge };  // 8/8, up to 256 bytes beyond it, larger
enum class Cores { kAny, kOneToSpare };

struct Goal {
  const char* scenario;
  const char* benchmark;
  const char* what;
  const char* metric;
  const char* peer;            // none: the number itself
  const char* peer_benchmark;  // none: the same
  double goal;
  Wanted wanted = Wanted::kAtLeast;
  double unit = 1;            // that the number is divided by
  bool less_is_more = false;  // of a ratio: the peer's is divided by braid's
  Sizes sizes = Sizes::kAll;
  Cores cores = Cores::kAny;
};

constexpr const char* kRateMetric = "ops_per_second";
constexpr const char* kScanAtOnce = "scan-at-once";
constexpr const char* kScanBeside = "scan-beside-writer";
constexpr const char* kAtRest = "at-rest";
constexpr const char* kOverwritten = "sustained";
constexpr const char* kSettledRate = "rate, settling counted";

const std::vector<Goal>& AllGoals() {
  static const std::vector<Goal> goals = {
      {kScanAtOnce, "readseq", "rate", kRateMetric, "lmdb", "", 1.0},
      {kScanAtOnce, "seekrandom", "rate", kRateMetric, "lmdb", "", 1.0},
      {kScanAtOnce, "ycsb-e", "rate", kRateMetric, "lmdb", "", 1.0},
      {kScanBeside, "readseq-beside-100k", "rate", kRateMetric, "lmdb", "", 1.0},
      {kScanBeside, "seekrandom-beside-100k", "rate", kRateMetric, "lmdb", "", 1.0},
      {kScanBeside, "ycsb-e-beside-100k", "rate", kRateMetric, "lmdb", "", 1.0},
      {kScanBeside, "readrandom-beside-100k", "rate", kRateMetric, "lmdb", "", 1.5},
      {kScanBeside, "readseq-beside-writer", "rate, of lmdb's at rest", kRateMetric, "lmdb",
       "readseq", 1.0},
      {kScanBeside, "seekrandom-beside-writer", "rate, of lmdb's at rest", kRateMetric, "lmdb",
       "seekrandom", 1.0},
      {kScanBeside, "ycsb-e-beside-writer", "rate, of lmdb's at rest", kRateMetric, "lmdb",
       "ycsb-e", 1.0},
      {kScanBeside, "readrandom-beside-writer", "rate", kRateMetric, "lmdb", "", 1.5},
      {kScanBeside, "readrandom-beside-writer", "p99.99, the other's over braid's", "p99_99_ns",
       "lmdb", "", 1.0, Wanted::kAtLeast, 1, true},
      {kAtRest, "readseq", "rate", kRateMetric, "lmdb", "", 1.3},
      {kAtRest, "seekrandom", "rate", kRateMetric, "lmdb", "", 1.3},
      {kAtRest, "ycsb-e", "rate", kRateMetric, "lmdb", "", 1.3},
      {kAtRest, "readrandom", "rate", kRateMetric, "lmdb", "", 1.5},
      {kAtRest, "readzipfian", "rate", kRateMetric, "lmdb", "", 2.5},
      {kOverwritten, "sustained", kSettledRate, "ops_per_second_settled", "lmdb", "", 3.0},
      {kOverwritten, "sustained", kSettledRate, "ops_per_second_settled", "leveldb", "", 5.0},
      {kOverwritten, "sustained", kSettledRate, "ops_per_second_settled", "rocksdb", "", 8.0},
      {kOverwritten, "sustained", "slowest overwrite, of the first", "slowest_round_share", "", "",
       0.9},
      {kOverwritten, "sustained", "longest put, ms", "max_ns", "", "", 5.0, Wanted::kAtMost, 1e6,
       false, Sizes::kAll, Cores::kOneToSpare},
      {kOverwritten, "sustained", "p99.99, the other's over braid's", "p99_99_ns", "rocksdb", "",
       10.0, Wanted::kAtLeast, 1, true},
      {kOverwritten, "sustained", "p99.99, the other's over braid's", "p99_99_ns", "lmdb", "", 1.0,
       Wanted::kAtLeast, 1, true},
      {kOverwritten, "sustained", "processor time a put, us", "cpu_ns_per_operation", "", "", 1.2,
       Wanted::kAtMost, 1e3, false, Sizes::kTiny},
      {kOverwritten, "sustained", "processor time a put, us", "cpu_ns_per_operation", "", "", 1.5,
       Wanted::kAtMost, 1e3, false, Sizes::kSmall},
      {kOverwritten, "sustained", "bytes for each live byte, at rest", "rest_bytes_per_live_byte",
       "", "", 1.4, Wanted::kAtMost},
      {kOverwritten, "sustained", "bytes for each live byte, at most", "peak_bytes_per_live_byte",
       "", "", 2.0, Wanted::kAtMost},
      {kOverwritten, "sustained", "bytes flushed for each byte put", "flushed_bytes_per_byte_put",
       "", "", 2.5, Wanted::kAtMost, 1, false, Sizes::kSmall},
      {kOverwritten, "sustained", "bytes flushed for each byte put", "flushed_bytes_per_byte_put",
       "", "", 1.3, Wanted::kAtMost, 1, false, Sizes::kLarge},
  };
  return goals;
}

bool Applies(const Goal& goal, const nlohmann::json& document) {
  if (TextAt(document, "parameters/scenario") != goal.scenario) return false;
  if (goal.cores == Cores::kOneToSpare && NumberAt(document, "parameters/threads").value_or(0) >=
                                              NumberAt(document, "machine/cores").value_or(0)) {
    return false;
  }
  const double bytes = NumberAt(document, "parameters/key_size").value_or(0) +
                       NumberAt(document, "parameters/value_size").value_or(0);
  const Sizes sizes = bytes <= 16 ? Sizes::kTiny : bytes <= 256 ? Sizes::kSmall : Sizes::kLarge;
  return goal.sizes == Sizes::kAll || goal.sizes == sizes;
}

/// The median of `metric`, of the first row of `benchmark` that has it.
std::optional<double> MedianOf(const nlohmann::json& summary, const std::string& benchmark,
                               const std::string& engine, const std::string& metric) {
  for (const auto& entry : summary) {
    if (TextAt(entry, "benchmark") != benchmark || TextAt(entry, "engine") != engine) continue;
    return NumberAt(entry, metric + "/median");
  }
  return std::nullopt;
}

}  // namespace

nlohmann::json JudgeGoals(const nlohmann::json& document) {
  nlohmann::json judged = nlohmann::json::array();
  const auto summary = document.find("summary");
  if (summary == document.end()) return judged;
  for (const Goal& goal : AllGoals()) {
    if (!Applies(goal, document)) continue;
    std::optional<double> value = MedianOf(*summary, goal.benchmark, "braid", goal.metric);
    const std::string peer = goal.peer;
    if (value && !peer.empty()) {
      const std::string benchmark =
          *goal.peer_benchmark != 0 ? goal.peer_benchmark : goal.benchmark;
      const std::optional<double> other = MedianOf(*summary, benchmark, peer, goal.metric);
      if (!other || *other <= 0 || *value <= 0) continue;
      value = goal.less_is_more ? *other / *value : *value / *other;
    }
    if (!value) continue;
    const double number = *value / goal.unit;
    const bool at_least = goal.wanted == Wanted::kAtLeast;
    judged.push_back({{"benchmark", goal.benchmark},
                      {"what", goal.what},
                      {"peer", peer},
                      {"value", number},
                      {"goal", goal.goal},
                      {"at_least", at_least},
                      {"met", at_least ? number >= goal.goal : number <= goal.goal}});
  }
  return judged;
}

std::string FormatGoal(const nlohmann::json& judged) {
  const std::string peer = TextAt(judged, "peer");
  return fmt::format(
      "{:<26} {:<36} {:>8.2f}{:<12} goal {} {:.2f}: {}", TextAt(judged, "benchmark"),
      TextAt(judged, "what"), NumberAt(judged, "value").value_or(0),
      peer.empty() ? "" : " x " + peer, judged.value("at_least", true) ? "at least" : "at most",
      NumberAt(judged, "goal").value_or(0), judged.value("met", false) ? "met" : "missed");
}

}  // namespace braid::bench
