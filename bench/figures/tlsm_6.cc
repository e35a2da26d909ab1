// Figures 6 and 7 (a), (b), and table 1: YCSB; how long writes stand still, and what compactions
// write, by the size of the data.
#include <fmt/format.h>

#include "bench/figures/all_figures.h"
#include "bench/figures/frame/timeline.h"
#include "bench/figures/latencies.h"
#include "bench/figures/tlsm.h"

namespace braid::figures {
namespace tlsm_6 {
namespace {

// ---- figure 6 ----

/// What the paper's ratio of throughputs to LevelDB is; of the mixes that its text tells.
struct Claim {
  const char* benchmark;
  double ratio;
  const char* paper;
};
constexpr Claim kClaims[] = {
    {"ycsb-load", 1.2, "1.2 to 1.3"},
    {"ycsb-a", 1.1, "1.1 to 1.3"},
    {"ycsb-b", 1.2, "1.2 to 1.4"},
    {"ycsb-c", 1.3, "1.3 to 1.4"},
};

Status RunYcsb(FigureRun& run) {
  constexpr uint64_t kRecords = 200'000;  // of 1 KB
  bench::WorkloadOptions workload = run.Workload(run.Scaled(kRecords), 23, 1024);
  workload.reads = run.Scaled(kRecords / 2);
  workload.benchmarks = {"ycsb-load", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"};
  Result<bench::ScratchDirectory> tier = run.Scratch();
  if (!tier.ok()) return tier.status();
  StoreRun tiered = Tlsm("tlsm, half in a tier", workload);
  tiered.workload.pool_share = 2;
  tiered.workload.tier_directory = tier->path() + "/tier";
  std::vector<StoreRun> stores = {Tlsm("tlsm", workload), tiered};
  const bool beside = HasLevelDb(run);
  if (beside) stores.push_back(LevelDbBesideTlsm(workload));
  Panel panel{"",  PanelKind::kBars, "", "throughput (thousand ops/s)", workload.benchmarks, {},
              true};
  for (const StoreRun& store : stores) {
    Json result;
    if (Status s = run.Measure(store, &result); !s.ok()) return s;
    Series series{store.label, {}, {}};
    for (const std::string& benchmark : workload.benchmarks) {
      series.y.push_back(OpsPerSecond(result, benchmark) / 1000);
    }
    panel.series.push_back(std::move(series));
  }
  for (size_t i = 0; beside && i < std::size(kClaims); ++i) {
    run.AddCheck({fmt::format("{}: tlsm to LevelDB", kClaims[i].benchmark),
                  panel.series[0].y[i] / panel.series[2].y[i], Direction::kAtLeast,
                  kClaims[i].ratio, 1.0, kClaims[i].paper,
                  "LevelDB's writes wait for no device, and its blocks lie in its cache"});
  }
  run.AddCheck({"ycsb-c: tlsm to tlsm with half in a tier",
                panel.series[0].y[2] / panel.series[1].y[2], Direction::kAtLeast, 1.05, 1.0,
                "above 1 (none to leveled)", "the tier's blocks lie in its cache"});
  run.AddPanel(std::move(panel));
  return Status::OK();
}

// ---- table 1, figures 7 (a) and (b) ----

/// In an interval with less than this part of the median rate writes stand still.
constexpr double kStandsStill = 0.1;

Status RunStalls(FigureRun& run) {
  constexpr uint64_t kRecords = 2'000'000;  // of 100 bytes
  const bool beside = HasLevelDb(run);
  std::vector<Series> stalls;
  std::vector<Series> written;
  for (const uint64_t part : {4, 2, 1}) {
    const uint64_t records = run.Scaled(kRecords) / part;
    bench::WorkloadOptions workload = run.Workload(records, 16, 100);
    workload.benchmarks = {"fillrandom"};
    workload.sample_millis = 10;
    workload.settle = true;  // what is written later is written for these puts, too
    std::vector<StoreRun> stores = {Tlsm("tlsm", workload)};
    if (beside) stores.push_back(LevelDbBesideTlsm(workload));
    for (size_t i = 0; i < stores.size(); ++i) {
      if (stalls.size() <= i) {
        stalls.push_back({stores[i].label, {}, {}});
        written.push_back({stores[i].label, {}, {}});
      }
      stores[i].label += fmt::format(", {} records", records);
      Json result;
      if (Status s = run.Measure(stores[i], &result); !s.ok()) return s;
      const Json& fill = ResultOf(result, "fillrandom");
      const Series rate = RateSeries("", DoneSamples(fill, "write"));
      const double seconds = fill.at("seconds").get<double>();
      const double millions = static_cast<double>(records) / 1e6;
      stalls[i].x.push_back(millions);
      stalls[i].y.push_back(ShareBelow(rate, kStandsStill) * seconds);
      written[i].x.push_back(millions);
      written[i].y.push_back(fill.at("flushed_bytes_per_byte_put").get<double>());
    }
  }
  run.AddPanel({"writes stand still",
                PanelKind::kLines,
                "million records of 100 bytes",
                "seconds",
                {},
                stalls,
                false});
  run.AddPanel({"written",
                PanelKind::kLines,
                "million records of 100 bytes",
                "bytes / byte put",
                {},
                written,
                false});
  if (!beside) return Status::OK();
  run.AddCheck({"seconds that writes stand still, all records: tlsm less LevelDB",
                stalls[0].y.back() - stalls[1].y.back(), Direction::kAtMost, 0.0, 0.1,
                "less than LevelDB", "writers are slowed down for what L1 has too much"});
  run.AddCheck({"bytes written for a byte put, all records: LevelDB to tlsm",
                written[1].y.back() / written[0].y.back(), Direction::kAtLeast, 1.5, 1.0,
                "above 1, and growing with the data",
                "lines of 64 bytes are counted, and nodes of references to 100 bytes are half as "
                "large as these"});
  return Status::OK();
}

}  // namespace
}  // namespace tlsm_6

FigureSpec TlsmFigure6() {
  return {"tlsm-6",
          "YCSB beside LevelDB",
          kTlsmPaper,
          "V-D, figure 6",
          "TLSM loads 1.2 to 1.3 times as fast as LevelDB, and is 1.1 to 1.4 times as fast in "
          "workloads A, B and C; without a tier more so than with one.",
          std::string("200,000 records of 1 KB, 100,000 operations. ") + kTlsmScale,
          true,
          tlsm_6::RunYcsb};
}

FigureSpec TlsmFigure7() {
  return {"tlsm-7",
          "How long writes stand still, and what is written",
          kTlsmPaper,
          "III and V-E, table 1, figures 7 (a) and 7 (b)",
          "On an SSD LevelDB's writers wait for minutes, which grow with the data; on memory and "
          "with TLSM for next to nothing. TLSM's compactions write less than LevelDB's, the more "
          "so the more data there is.",
          std::string("Random writes of up to 2 million records of 100 bytes instead of 10 GB. "
                      "Writes stand still in intervals of 10 ms with less than a tenth of the "
                      "median rate. ") +
              kTlsmScale,
          true,
          tlsm_6::RunStalls};
}

}  // namespace braid::figures
