// Figures 15 and 16: how many levels are merged in place before entries are copied, and the size of
// the first list.
#include <fmt/format.h>

#include "bench/figures/all_figures.h"
#include "bench/figures/zipperdb.h"

namespace braid::figures {
namespace zipperdb_15 {
namespace {

constexpr uint64_t kRecords = 300'000;  // of 1 KB

struct Rates {
  std::vector<double> fill;
  std::vector<double> get;
  std::vector<double> scan;
  std::vector<double> written;  // bytes written back for each byte put
};

/// As much smaller as these records are than the paper's.
uint64_t ScaledBytes(const FigureRun& run, uint64_t paper_mib) {
  return ScaledToZipperDb(paper_mib, run.Scaled(kRecords) * 1024);
}

Status MeasureLists(FigureRun& run, const std::string& label, uint64_t l1_mib, uint32_t growth,
                    uint32_t per_group, Rates* rates) {
  StoreRun store;
  store.engine = "braid";
  store.label = label;
  store.workload = run.Workload(run.Scaled(kRecords), 16, 1024);
  store.workload.design = "zipperdb";
  store.workload.benchmarks = {"fillrandom", "readrandom", "readseq"};
  store.workload.settle = false;  // Compact() would merge all lists into one
  store.workload.settings = {fmt::format("memtable.bytes={}", ScaledBytes(run, 64)),
                             fmt::format("levels.l1_bytes={}", ScaledBytes(run, l1_mib)),
                             fmt::format("levels.growth={}", growth),
                             fmt::format("levels.per_group={}", per_group), "levels.count=6"};
  Json result;
  if (Status s = run.Measure(store, &result); !s.ok()) return s;
  rates->fill.push_back(OpsPerSecond(result, "fillrandom"));
  rates->get.push_back(OpsPerSecond(result, "readrandom"));
  rates->scan.push_back(OpsPerSecond(result, "readseq"));
  rates->written.push_back(
      ResultOf(result, "fillrandom").at("flushed_bytes_per_byte_put").get<double>());
  return Status::OK();
}

void AddRates(FigureRun& run, const std::vector<std::string>& categories, const char* x_label,
              const Rates& rates) {
  const auto thousands = [](std::vector<double> values) {
    for (double& value : values) value /= 1000;
    return values;
  };
  Panel panel{"", PanelKind::kBars, x_label, "throughput (thousand ops/s)", categories, {}, true};
  panel.series = {{"fillrandom", {}, thousands(rates.fill)},
                  {"readrandom", {}, thousands(rates.get)},
                  {"readseq", {}, thousands(rates.scan)}};
  run.AddPanel(std::move(panel));
  Panel written{"",   PanelKind::kBars, x_label, "bytes written back / byte put", categories, {},
                false};
  written.series = {{"fillrandom", {}, rates.written}};
  run.AddPanel(std::move(written));
}

Status RunGroups(FigureRun& run) {
  Rates rates;
  for (const uint32_t levels : {1u, 2u, 8u}) {
    const std::string label = levels == 8 ? "all levels" : fmt::format("{} a group", levels);
    if (Status s = MeasureLists(run, label, 400, 4, levels, &rates); !s.ok()) return s;
  }
  AddRates(run, {"1", "2", "all"}, "levels merged in place", rates);
  run.AddCheck({"random writes: all levels in place to copies at each level",
                rates.fill[2] / rates.fill[0], Direction::kAtLeast, 1.4, 1.05, "1.79",
                "a client on its own processor waits for merges of few levels only"});
  run.AddCheck({"bytes written: copies at each level to all levels in place",
                rates.written[0] / rates.written[2], Direction::kAtLeast, 1.5, 1.1,
                "above 1 (redundant writes)", "values of 1 KB are copied a few times only"});
  run.AddCheck({"random reads: copies at each level to all levels in place",
                rates.get[0] / rates.get[2], Direction::kAtLeast, 2.0, 1.05, "6",
                "300 MB lie in DRAM and partly in its caches, where order is worth less"});
  return Status::OK();
}

Status RunSizes(FigureRun& run) {
  Rates rates;
  std::vector<std::string> categories;
  for (const uint64_t mib : {256, 512, 1024, 2048}) {
    categories.push_back(fmt::format("{} MB", mib));
    if (Status s = MeasureLists(run, categories.back(), mib, 10, 2, &rates); !s.ok()) return s;
  }
  AddRates(run, categories, "size of the first list in the paper's run", rates);
  run.AddCheck({"random writes: 2 GB to 256 MB", rates.fill[3] / rates.fill[0], Direction::kAtLeast,
                1.1, 1.0, "above 1: fewer copies",
                "the client is not held back by what is copied in the background"});
  run.AddCheck({"scans: 2 GB to 256 MB", rates.scan[3] / rates.scan[0], Direction::kAtLeast, 1.5,
                1.05, "2: fewer lists to merge",
                "a scan compares the heads of few lists either way"});
  return Status::OK();
}

}  // namespace
}  // namespace zipperdb_15

FigureSpec ZipperDbFigure15() {
  return {
      "zipperdb-15",
      "Levels that are merged in place before entries are copied",
      kZipperDbPaper,
      "5.2.2.1, figure 15",
      "The more levels are merged in place, the fewer bytes are written: all levels write 1.79 "
      "times as fast as copies at each level. Reads lose the order in memory: to a sixth.",
      "16-byte keys and values of 1 KB, 300,000 records instead of 50 million, memtables and lists "
      "smaller by as much, factor 4 from level to level.",
      true,
      zipperdb_15::RunGroups};
}

FigureSpec ZipperDbFigure16() {
  return {"zipperdb-16",
          "Size of the first list",
          kZipperDbPaper,
          "5.2.2.2, figure 16",
          "A larger first list is copied less often, which helps writes, and leaves fewer lists to "
          "merge, which helps scans: 2 GB twice as fast as 256 MB. Random reads suffer above 1 GB.",
          "As figure 15, with two levels a group and factor 10 from level to level.",
          true,
          zipperdb_15::RunSizes};
}

}  // namespace braid::figures
