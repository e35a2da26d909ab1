// Figures 18 to 20: YCSB, its throughput, its latencies, and with several clients.
#include <fmt/format.h>

#include <algorithm>

#include "bench/figures/all_figures.h"
#include "bench/figures/zipperdb.h"

namespace braid::figures {
namespace zipperdb_18 {
namespace {

constexpr uint64_t kRecords = 200'000;  // of 1 KB
constexpr uint64_t kOperations = 100'000;

bench::WorkloadOptions Ycsb(const FigureRun& run, const char* distribution) {
  bench::WorkloadOptions workload = run.Workload(run.Scaled(kRecords), 23, 1024);
  workload.reads = run.Scaled(kOperations);
  workload.distribution = distribution;
  workload.settle = false;
  return workload;
}

uint64_t DataBytes(const FigureRun& run) { return run.Scaled(kRecords) * 1024; }

constexpr const char* kMixes[] = {"ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"};

std::vector<std::string> LoadAndMixes() {
  std::vector<std::string> all = {"ycsb-load"};
  all.insert(all.end(), std::begin(kMixes), std::end(kMixes));
  return all;
}

// ---- figure 18 ----

/// What the paper's ratio to LevelDB is, where its text tells it.
struct Claim {
  const char* benchmark;
  double ratio;
  const char* paper;
  const char* reason;
};
constexpr Claim kClaims[] = {
    {"ycsb-load", 4, "4", "LevelDB's writes are not slowed down as on the paper's medium"},
    {"ycsb-a", 3, "3", "LevelDB's blocks all lie in memory here"},
    {"ycsb-b", 4, "up to 4", "LevelDB's blocks all lie in memory here"},
    {"ycsb-c", 4, "up to 4", "LevelDB's blocks all lie in memory here"},
    {"ycsb-d", 4, "4", "LevelDB's blocks all lie in memory here"},
    {"ycsb-e", 0.8, "about 1", "neighbours of a list lie apart"},
    {"ycsb-f", 2.5, "2.5", "LevelDB's blocks all lie in memory here"},
};

Status RunThroughput(FigureRun& run) {
  for (const char* distribution : {"uniform", "zipfian"}) {
    Panel panel{
        distribution, PanelKind::kBars, "", "throughput (thousand ops/s)", LoadAndMixes(), {},
        true};
    bench::WorkloadOptions workload = Ycsb(run, distribution);
    workload.benchmarks = panel.categories;
    for (StoreRun& store : ZipperDbPeers(run, workload, DataBytes(run))) {
      Series series{store.label, {}, {}};
      store.label += fmt::format(", {}", distribution);
      Json result;
      if (Status s = run.Measure(store, &result); !s.ok()) return s;
      for (const std::string& benchmark : panel.categories) {
        series.y.push_back(OpsPerSecond(result, benchmark) / 1000);
      }
      panel.series.push_back(std::move(series));
    }
    for (size_t i = 0; i < std::size(kClaims) && FigureRun::HasEngine("leveldb"); ++i) {
      run.AddCheck({fmt::format("{}, {}: zipperdb to LevelDB", kClaims[i].benchmark, distribution),
                    panel.series[1].y[i] / panel.series[0].y[i], Direction::kAtLeast,
                    kClaims[i].ratio, std::min(1.0, kClaims[i].ratio - 0.2), kClaims[i].paper,
                    kClaims[i].reason});
    }
    run.AddPanel(std::move(panel));
  }
  return Status::OK();
}

// ---- figure 19 ----

constexpr std::pair<const char*, const char*> kPercentiles[] = {
    {"p50_ns", "50 %"},     {"p90_ns", "90 %"},       {"p99_ns", "99 %"},
    {"p99_9_ns", "99.9 %"}, {"p99_99_ns", "99.99 %"}, {"max_ns", "longest"},
};
constexpr size_t k99 = 2;

Status RunLatencies(FigureRun& run) {
  bench::WorkloadOptions workload = Ycsb(run, "zipfian");
  workload.benchmarks = {"ycsb-load", "ycsb-a", "ycsb-c"};
  std::vector<std::string> categories;
  for (const auto& [field, name] : kPercentiles) categories.emplace_back(name);
  std::vector<Panel> panels;
  for (const char* benchmark : {"ycsb-a", "ycsb-c"}) {
    panels.push_back(
        {benchmark, PanelKind::kBars, "share of operations", "latency (µs)", categories, {}, true});
  }
  for (const StoreRun& store : ZipperDbPeers(run, workload, DataBytes(run))) {
    Json result;
    if (Status s = run.Measure(store, &result); !s.ok()) return s;
    for (Panel& panel : panels) {
      Series series{store.label, {}, {}};
      const Json& latency = ResultOf(result, panel.title).at("latency");
      for (const auto& [field, name] : kPercentiles) {
        series.y.push_back(latency.at(field).get<double>() / 1000);
      }
      panel.series.push_back(std::move(series));
    }
  }
  for (Panel& panel : panels) {
    if (FigureRun::HasEngine("leveldb")) {
      run.AddCheck({fmt::format("{}, 99th percentile: LevelDB to zipperdb", panel.title),
                    panel.series[0].y[k99] / panel.series[1].y[k99], Direction::kAtLeast, 4.0, 1.2,
                    "4", "LevelDB's blocks all lie in memory here"});
    }
    run.AddPanel(std::move(panel));
  }
  return Status::OK();
}

// ---- figure 20 ----

Status RunClients(FigureRun& run) {
  // Beyond one client a processor they take turns, which says nothing of the stores.
  std::vector<int> clients;
  for (int count = 1; count <= std::max(2, run.cores()); count *= 2) clients.push_back(count);
  std::vector<std::string> categories;
  for (const int count : clients) categories.push_back(std::to_string(count));
  std::vector<Panel> panels;
  for (const char* mix : kMixes) {
    panels.push_back(
        {mix, PanelKind::kBars, "clients", "throughput (thousand ops/s)", categories, {}, false});
  }
  for (const int count : clients) {
    bench::WorkloadOptions workload = Ycsb(run, "zipfian");
    workload.benchmarks = LoadAndMixes();
    workload.threads = count;
    size_t number = 0;
    for (StoreRun& store : ZipperDbPeers(run, workload, DataBytes(run))) {
      const std::string name = store.label;
      store.label += fmt::format(", {} clients", count);
      Json result;
      if (Status s = run.Measure(store, &result); !s.ok()) return s;
      for (Panel& panel : panels) {
        if (panel.series.size() <= number) panel.series.push_back({name, {}, {}});
        panel.series[number].y.push_back(OpsPerSecond(result, panel.title) / 1000);
      }
      ++number;
    }
  }
  const size_t zipperdb = FigureRun::HasEngine("leveldb") ? 1 : 0;
  for (Panel& panel : panels) {
    if (panel.title == "ycsb-b" || panel.title == "ycsb-c" || panel.title == "ycsb-d") {
      const std::vector<double>& rates = panel.series[zipperdb].y;
      run.AddCheck({fmt::format("{}, zipperdb: {} clients to one", panel.title, clients.back()),
                    rates.back() / rates.front(), Direction::kAtLeast, 0.8 * clients.back(), 1.1,
                    "scales well", "the clients share processors with the background"});
    }
    run.AddPanel(std::move(panel));
  }
  return Status::OK();
}

constexpr const char* kSetting =
    "200,000 records of 1 KB with 23-byte keys instead of 50 million, 100,000 operations instead "
    "of 10 million, lists and memtables smaller by as much. LevelDB runs on memory as it is; "
    "NoveLSM is not at hand.";

}  // namespace
}  // namespace zipperdb_18

FigureSpec ZipperDbFigure18() {
  return {
      "zipperdb-18",
      "YCSB with one client",
      kZipperDbPaper,
      "5.2.2.4, figure 18",
      "ZipperDB loads four times as fast as LevelDB, is three times as fast in workload A, up to "
      "four times in B, C and D, 2.5 times in F, and as fast in E, which scans.",
      zipperdb_18::kSetting,
      false,
      zipperdb_18::RunThroughput};
}

FigureSpec ZipperDbFigure19() {
  return {"zipperdb-19",
          "Latencies of YCSB A and C",
          kZipperDbPaper,
          "5.2.2.5, figure 19",
          "Up to the 99th percentile ZipperDB's latencies are a quarter of those of LevelDB and "
          "NoveLSM. Its longest ones are of writers that wait for the merge into the first list.",
          zipperdb_18::kSetting,
          false,
          zipperdb_18::RunLatencies};
}

FigureSpec ZipperDbFigure20() {
  return {"zipperdb-20",
          "YCSB with several clients",
          kZipperDbPaper,
          "5.2.2.6, figure 20",
          "ZipperDB scales with the number of clients but in workload A, since searches take no "
          "locks; LevelDB does not.",
          zipperdb_18::kSetting,
          false,
          zipperdb_18::RunClients};
}

}  // namespace braid::figures
