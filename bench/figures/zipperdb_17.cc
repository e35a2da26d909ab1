// Figure 17: fills and reads by the size of the values, beside LevelDB.
#include <fmt/format.h>

#include <algorithm>

#include "bench/figures/all_figures.h"
#include "bench/figures/zipperdb.h"

namespace braid::figures {
namespace zipperdb_17 {
namespace {

constexpr uint64_t kDataBytes = 200ull << 20;  // of each size of values
constexpr size_t kValueSizes[] = {256, 1024, 10'240};
constexpr size_t kKilobyte = 1;  // which of them the paper's ratios are of
constexpr const char* kBenchmarks[] = {"fillrandom", "fillseq", "readrandom", "readseq"};

/// Of one benchmark: a row for each store, a rate for each size.
using Rates = std::vector<std::vector<double>>;

/// Both fills need an empty store.
Status MeasureStore(FigureRun& run, const StoreRun& store, Json* random, Json* sequential) {
  StoreRun once = store;
  once.workload.benchmarks = {"fillrandom", "readrandom", "readseq"};
  if (Status s = run.Measure(once, random); !s.ok()) return s;
  once.label += ", in order";
  once.workload.benchmarks = {"fillseq"};
  once.workload.hash_keys = false;  // hashed ones have no order to be written in
  return run.Measure(once, sequential);
}

void AddChecks(FigureRun& run, const std::vector<Rates>& rates) {
  const auto ratio = [&](size_t benchmark, size_t store, size_t other) {
    return rates[benchmark][store][kKilobyte] / rates[benchmark][other][kKilobyte];
  };
  run.AddCheck({"random writes of 1 KB: zipperdb to LevelDB", ratio(0, 1, 0), Direction::kAtLeast,
                4.9, 1.2, "4.9", "LevelDB's writes are not slowed down as on the paper's medium"});
  run.AddCheck({"writes in order, 1 KB: LevelDB to zipperdb", ratio(1, 0, 1), Direction::kAtLeast,
                1.0, 0.8, "above 1", "LevelDB also writes each value to its log and to a table"});
  run.AddCheck({"random reads of 1 KB: zipperdb to LevelDB", ratio(2, 1, 0), Direction::kAtLeast,
                2.0, 1.2, "about 3", "LevelDB's blocks all lie in memory here"});
  run.AddCheck({"scans of 1 KB: zipperdb to LevelDB", ratio(3, 1, 0), Direction::kAtLeast, 0.8, 0.5,
                "about 1", "neighbours of a list lie apart"});
}

Status Run(FigureRun& run) {
  std::vector<Rates> rates(std::size(kBenchmarks));
  std::vector<std::string> names;
  std::vector<std::string> sizes;
  for (const size_t size : kValueSizes) {
    const uint64_t bytes = run.Scaled(kDataBytes, 4 << 20);
    bench::WorkloadOptions workload = run.Workload(bytes / size, 8, size);
    workload.settle = false;
    sizes.push_back(size < 1024 ? fmt::format("{} B", size) : fmt::format("{} KB", size / 1024));
    names.clear();
    for (StoreRun& store : ZipperDbPeers(run, workload, bytes)) {
      const size_t number = names.size();
      names.push_back(store.label);
      store.label += ", " + sizes.back();
      Json random;
      Json sequential;
      if (Status s = MeasureStore(run, store, &random, &sequential); !s.ok()) return s;
      for (size_t i = 0; i < rates.size(); ++i) {
        const std::string benchmark = kBenchmarks[i];
        rates[i].resize(std::max(rates[i].size(), number + 1));
        rates[i][number].push_back(
            OpsPerSecond(benchmark == "fillseq" ? sequential : random, benchmark));
      }
    }
  }
  for (size_t i = 0; i < rates.size(); ++i) {
    Panel panel{kBenchmarks[i],
                PanelKind::kBars,
                "size of values",
                "throughput (thousand ops/s)",
                sizes,
                {},
                true};
    for (size_t store = 0; store < names.size(); ++store) {
      std::vector<double> thousands = rates[i][store];
      for (double& rate : thousands) rate /= 1000;
      panel.series.push_back({names[store], {}, std::move(thousands)});
    }
    run.AddPanel(std::move(panel));
  }
  if (FigureRun::HasEngine("leveldb")) AddChecks(run, rates);
  return Status::OK();
}

}  // namespace
}  // namespace zipperdb_17

FigureSpec ZipperDbFigure17() {
  return {
      "zipperdb-17",
      "Fills and reads by the size of the values",
      kZipperDbPaper,
      "5.2.2.3, figure 17",
      "Of 1 KB ZipperDB writes 4.9 times as many records at random as LevelDB and 1.8 times as "
      "many as NoveLSM; in order LevelDB is ahead. It reads about three times as fast at random, "
      "and about as fast in order.",
      "8-byte keys and 200 MB of values of each size instead of 50 GB, lists and memtables smaller "
      "by as much. LevelDB runs on memory as it is; NoveLSM and SLM-DB are not at hand.",
      false,
      zipperdb_17::Run};
}

}  // namespace braid::figures
