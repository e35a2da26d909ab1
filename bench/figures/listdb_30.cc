// Figure 30: YCSB with each of the logs, by threads.
#include <algorithm>

#include "bench/figures/all_figures.h"
#include "bench/figures/listdb.h"

namespace braid::figures {
namespace listdb_30 {
namespace {

constexpr uint64_t kRecords = 600'000;
// A load fills about twenty, as the paper's does.
constexpr uint64_t kMemTableBytes = 1536u << 10;

const std::vector<std::string> kWorkloads = {"ycsb-load", "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d"};
const std::vector<std::string> kTitles = {"(a) Load A", "(b) A", "(c) B", "(d) C", "(e) D"};

struct Log {
  const char* name;
  const char* kind;
};
constexpr Log kLogs[] = {{"IUL", "index-unified"}, {"WAL", "write-ahead"}};

std::vector<int> ThreadCounts(int cores) {
  std::vector<int> counts;
  for (int threads = 1; threads < cores; threads *= 2) counts.push_back(threads);
  counts.push_back(cores);
  counts.push_back(2 * cores);
  return counts;
}

Status MeasureOne(FigureRun& run, const Log& log, int threads,
                  const std::vector<std::string>& caches, Json* result) {
  StoreRun store;
  store.label = std::string(log.name) + ", " + std::to_string(threads) +
                (threads == 1 ? " thread" : " threads");
  store.workload = run.Workload(run.Scaled(kRecords), 8, 8);
  store.workload.threads = threads;
  store.workload.benchmarks = kWorkloads;
  // Else the faster writer's readers would pay for its speed: they would ask the tables that the
  // merge has not come to yet, up to 55, and with the slower log only a few.
  store.workload.settle = true;
  store.workload.settings =
      ListDbParts({std::string("log.kind=") + log.kind, "memtable.max_immutable=4",
                   "compaction.l0_slowdown=55", "compaction.l0_stop=56",
                   "memtable.bytes=" + std::to_string(run.Scaled(kMemTableBytes, 64 << 10))});
  Append(&store.workload.settings, caches);
  return run.Measure(store, result);
}

Status Run(FigureRun& run) {
  std::vector<Panel> panels(kWorkloads.size());
  for (size_t i = 0; i < panels.size(); ++i) {
    panels[i] = {
        kTitles[i], PanelKind::kLines, "client threads", "throughput (thousand ops/s)", {}, {},
        false};
  }
  const std::vector<int> counts = ThreadCounts(run.cores());
  std::vector<std::string> caches = {"cache.lookup_bytes=8M"};
  const std::string second_chance = "cache.second_chance_bytes=1M";
  if (const Status s = run.CheckParts({second_chance}); s.ok()) {
    caches.push_back(second_chance);
  } else if (s.IsNotSupported()) {
    run.AddNote("The second-chance cache is left out: " + std::string(s.message()) + ".");
  } else {
    return s;
  }
  // By log, workload and number of threads. The logs take turns, so that both meet the same noise.
  std::vector<std::vector<std::vector<double>>> rates(
      std::size(kLogs), std::vector<std::vector<double>>(kWorkloads.size()));
  for (Panel& panel : panels) {
    for (const Log& log : kLogs) panel.series.push_back({log.name, {}, {}});
  }
  for (const int threads : counts) {
    for (size_t log = 0; log < std::size(kLogs); ++log) {
      Json result;
      if (Status s = MeasureOne(run, kLogs[log], threads, caches, &result); !s.ok()) return s;
      for (size_t i = 0; i < kWorkloads.size(); ++i) {
        const double rate = OpsPerSecond(result, kWorkloads[i]);
        panels[i].series[log].x.push_back(threads);
        panels[i].series[log].y.push_back(rate / 1000);
        rates[log][i].push_back(rate);
      }
    }
  }
  for (Panel& panel : panels) run.AddPanel(std::move(panel));
  const size_t full = counts.size() - 2;  // as many threads as processors
  const auto ratio = [&](size_t workload) {
    return rates[0][workload][full] / rates[1][workload][full];
  };
  run.AddCheck({"Load A: IUL to WAL, a thread a processor", ratio(0), Direction::kAtLeast, 1.4,
                1.05, "1.8",
                "writing the log is the larger part of a put in both; the flush that copies "
                "runs beside it and is not what limits four clients"});
  run.AddCheck({"A: IUL to WAL, a thread a processor", ratio(1), Direction::kAtLeast, 1.05, 0.95,
                "above 1",
                "half of the operations read, and reads of copied entries meet fewer lines"});
  for (size_t i = 2; i < kWorkloads.size(); ++i) {
    run.AddCheck({kTitles[i].substr(4) + ": IUL to WAL, a thread a processor (WAL is as fast or "
                                         "slightly faster)",
                  ratio(i), Direction::kAtMost, 1.1, 1.3, "1 or slightly below",
                  "the background work of the copying log takes processors from the readers"});
  }
  run.AddCheck({"the slowest of B, C and D: IUL to WAL (the log costs readers little)",
                std::min({ratio(2), ratio(3), ratio(4)}), Direction::kAtLeast, 0.8, 0.5,
                "1 or slightly below",
                "a record is a line of its own, where copies share lines with their neighbours"});
  return Status::OK();
}

}  // namespace
}  // namespace listdb_30

FigureSpec ListDbFigure30() {
  return {
      "listdb-30",
      "YCSB with a write-ahead log and with an index-unified log",
      kListDbPaper,
      "6.8.2.2, figure 30",
      "Writes are 1.8 times as fast with the index-unified log (80 clients). Reads (B, C, D) are "
      "as "
      "fast or slightly faster with the write-ahead log, whose flush copies records into key "
      "order. A, half writes, is faster with the index-unified log.",
      "8-byte keys and values, 600,000 records and as many operations instead of 100 million; "
      "memtables of 1.5 MiB, a lookup cache of 8 MiB and a second-chance cache of 1 MiB, the "
      "paper's "
      "scaled by the records. Clients up to twice the processors. Merges end before the next "
      "workload begins.",
      true,
      listdb_30::Run};
}

}  // namespace braid::figures
