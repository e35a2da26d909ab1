// Figures 6 to 8, 10, and the split over memory and a device: the persistent memtable, immutable
// and mutable, by the size of the values; YCSB.
#include <fmt/format.h>

#include <algorithm>

#include "bench/figures/all_figures.h"
#include "bench/figures/latencies.h"
#include "bench/figures/novelsm.h"

namespace braid::figures {
namespace novelsm_6 {
namespace {

constexpr size_t kValueSizes[] = {1024, 4096, 16'384, 65'536};
constexpr size_t k4K = 1;
constexpr size_t k64K = 3;
constexpr const char* kMemoryAsItIs = "LevelDB's files are memory, and its writes wait for nothing";
constexpr const char* kBlocksInCache = "LevelDB's blocks all lie in its cache";

/// The stores that `make` gives for a workload, at all sizes of values.
template <class Make>
Status MeasureSizes(FigureRun& run, Latencies* latencies, Make&& make) {
  for (const size_t size : kValueSizes) {
    const uint64_t records = run.Scaled(kNoveLsmData, 8 << 20) / (16 + size);
    const std::vector<StoreRun> stores = make(run.Workload(records, 16, size));
    for (size_t i = 0; i < stores.size(); ++i) {
      const std::string point = fmt::format("{} KB", size >> 10);
      const auto x = static_cast<double>(size >> 10);
      if (Status s = latencies->Add(run, stores[i], i, x, point); !s.ok()) return s;
    }
  }
  latencies->AddPanels(run, "KB a value");
  return Status::OK();
}

double Times(const std::vector<Series>& series, size_t store, size_t other, size_t size) {
  return series[store].y[size] / series[other].y[size];
}

// ---- figures 6 and 7 ----

Status RunImmutable(FigureRun& run) {
  const bool beside = HasLevelDb(run);
  Latencies latencies;
  const Status status = MeasureSizes(run, &latencies, [&](const bench::WorkloadOptions& workload) {
    std::vector<StoreRun> stores = {Immutable(run, "immutable, small", workload, 32),
                                    Immutable(run, "immutable, large", workload, 64)};
    if (beside) stores.push_back(LevelDbBesideNoveLsm(run, workload));
    return stores;
  });
  if (!status.ok()) return status;
  run.AddCheck({"writes of 64 KB: small to large", Times(latencies.write, 0, 1, k64K),
                Direction::kAtLeast, 1.02, 1.0, "above 1",
                "the list below is copied into by another thread, which has its own processor"});
  run.AddNote(
      "Figure 7, how many reads a memtable answers, follows from the sizes: DRAM and the "
      "persistent memtable hold up to an eighth and a quarter of the data.");
  if (!beside) return Status::OK();
  run.AddCheck({"writes of 64 KB: LevelDB to large", Times(latencies.write, 2, 1, k64K),
                Direction::kAtLeast, 1.3, 1.05, "1.3", kMemoryAsItIs});
  run.AddCheck({"reads of 4 KB: LevelDB to large", Times(latencies.read, 2, 1, k4K),
                Direction::kAtLeast, 1.5, 1.05, "1.5", kBlocksInCache});
  run.AddCheck({"reads of 64 KB: LevelDB to large", Times(latencies.read, 2, 1, k64K),
                Direction::kAtLeast, 2.1, 1.05, "2.1", kBlocksInCache});
  return Status::OK();
}

// ---- figure 8 ----

std::vector<StoreRun> Variants(const FigureRun& run, const bench::WorkloadOptions& workload) {
  StoreRun no_flush = Mutable(run, "mutable, no flushes", workload);
  no_flush.workload.force_media_class = "byte";
  no_flush.workload.emulate_pmem = "";
  StoreRun all = NoveLsm(run, "mutable, one list", workload,
                         {ScaledSetting(run, "levels.persistent_bytes", 64),
                          ScaledSetting(run, "levels.l1_bytes", 4096)});
  return {Immutable(run, "immutable, large", workload, 64), Mutable(run, "mutable", workload),
          no_flush, all};
}

Status RunMutable(FigureRun& run) {
  const bool beside = HasLevelDb(run);
  const bool rocksdb = FigureRun::HasEngine("rocksdb");
  Latencies latencies;
  const Status status = MeasureSizes(run, &latencies, [&](const bench::WorkloadOptions& workload) {
    std::vector<StoreRun> stores = Variants(run, workload);
    if (beside) stores.push_back(LevelDbBesideNoveLsm(run, workload));
    if (rocksdb) stores.push_back({"RocksDB", "rocksdb", workload});
    return stores;
  });
  if (!status.ok()) return status;
  run.AddCheck(
      {"writes of 4 KB: immutable to mutable", Times(latencies.write, 0, 1, k4K),
       Direction::kAtLeast, 3.8, 1.05, "3.8",
       "a flush of a DRAM memtable stalls nobody here either, and costs another processor; "
       "a mutable one is searched by the writer, in entries instead of an index of keys"});
  run.AddCheck({"writes of 4 KB: mutable to mutable without flushes",
                Times(latencies.write, 1, 2, k4K), Direction::kAtLeast, 1.1, 1.02, "above 1",
                "copying a value costs more than its lines' way to this medium"});
  run.AddCheck({"writes of 4 KB: mutable to mutable with one list",
                Times(latencies.write, 1, 3, k4K), Direction::kAtLeast, 1.2, 1.0, "1.3",
                "copies into levels below are another processor's work"});
  if (!beside) return Status::OK();
  run.AddCheck({"writes of 4 KB: LevelDB to mutable", Times(latencies.write, 4, 1, k4K),
                Direction::kAtLeast, 3.8, 1.05, "3.8", kMemoryAsItIs});
  run.AddCheck({"writes of 64 KB: LevelDB to mutable", Times(latencies.write, 4, 1, k64K),
                Direction::kAtLeast, 2.7, 1.05, "2.7", kMemoryAsItIs});
  run.AddCheck({"reads of 4 KB: LevelDB to mutable", Times(latencies.read, 4, 1, k4K),
                Direction::kAtLeast, 1.4, 1.05, "1.4", kBlocksInCache});
  return Status::OK();
}

// ---- the split ----

/// Pools that hold half, the rest in a tier in memory; LevelDB has all of it in memory.
Status RunSplit(FigureRun& run) {
  const bool beside = HasLevelDb(run);
  Result<bench::ScratchDirectory> tiers = run.Scratch();
  if (!tiers.ok()) return tiers.status();
  size_t made = 0;
  Latencies latencies;
  const Status status = MeasureSizes(run, &latencies, [&](const bench::WorkloadOptions& workload) {
    StoreRun split = Mutable(run, "mutable, half in a tier", workload);
    split.workload.pool_share = 2;
    split.workload.tier_directory = fmt::format("{}/tier-{}", tiers->path(), ++made);
    std::vector<StoreRun> stores = {Mutable(run, "mutable", workload), split};
    if (beside) stores.push_back(LevelDbBesideNoveLsm(run, workload));
    return stores;
  });
  if (!status.ok()) return status;
  if (!beside) return Status::OK();
  run.AddCheck({"writes of 64 KB: LevelDB to mutable with half in a tier",
                Times(latencies.write, 2, 1, k64K), Direction::kAtLeast, 1.8, 1.05, "1.8",
                kMemoryAsItIs});
  return Status::OK();
}

// ---- figure 10 ----

constexpr const char* kMixes[] = {"ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"};

Status RunYcsb(FigureRun& run) {
  constexpr size_t kValue = 4096;
  bench::WorkloadOptions workload =
      run.Workload(run.Scaled(kNoveLsmData, 8 << 20) / kValue, 16, kValue);
  workload.threads = std::min(4, run.cores());
  workload.benchmarks = {"ycsb-load"};
  workload.benchmarks.insert(workload.benchmarks.end(), std::begin(kMixes), std::end(kMixes));
  std::vector<StoreRun> stores = {Mutable(run, "mutable", workload)};
  const bool beside = HasLevelDb(run);
  if (beside) stores.push_back(LevelDbBesideNoveLsm(run, workload));
  const bool rocksdb = FigureRun::HasEngine("rocksdb");
  if (rocksdb) stores.push_back({"RocksDB", "rocksdb", workload});
  const std::vector<std::string> mixes(std::begin(kMixes), std::end(kMixes));
  Panel rates{"", PanelKind::kBars, "", "throughput (thousand ops/s)", mixes, {}, true};
  Panel tails{"", PanelKind::kBars, "", "99th percentile (µs)", mixes, {}, true};
  for (const StoreRun& store : stores) {
    Json result;
    if (Status s = run.Measure(store, &result); !s.ok()) return s;
    Series rate{store.label, {}, {}};
    Series tail{store.label, {}, {}};
    for (const std::string& mix : mixes) {
      rate.y.push_back(OpsPerSecond(result, mix) / 1000);
      tail.y.push_back(ResultOf(result, mix).at("latency").at("p99_ns").get<double>() / 1000);
    }
    rates.series.push_back(std::move(rate));
    tails.series.push_back(std::move(tail));
  }
  const auto times = [&](size_t mix, size_t other) {
    return rates.series[0].y[mix] / rates.series[other].y[mix];
  };
  if (beside) {
    run.AddCheck({"ycsb-a: mutable to LevelDB", times(0, 1), Direction::kAtLeast, 1.8, 1.05, "1.81",
                  kMemoryAsItIs});
    run.AddCheck({"ycsb-f: mutable to LevelDB", times(5, 1), Direction::kAtLeast, 2.0, 1.05,
                  "above 2", kMemoryAsItIs});
  }
  if (rocksdb) {
    const size_t other = rates.series.size() - 1;
    run.AddCheck({"ycsb-a: mutable to RocksDB", times(0, other), Direction::kAtLeast, 1.06, 1.0,
                  "1.06", "two clients and the background share the processors"});
    run.AddCheck({"ycsb-e: mutable to RocksDB", times(4, other), Direction::kAtLeast, 1.54, 1.05,
                  "1.54", "this RocksDB's tables are sorted, the paper's are hashed"});
  }
  run.AddPanel(std::move(rates));
  run.AddPanel(std::move(tails));
  return Status::OK();
}

}  // namespace
}  // namespace novelsm_6

FigureSpec NoveLsmFigure6() {
  return {"novelsm-6",
          "An immutable persistent memtable, by the size of the values",
          kNoveLsmPaper,
          "5.2, figures 6 and 7",
          "Below the memtables of DRAM a persistent one takes a quarter off the write latency of "
          "64 KB values, and a third to a half off reads; a larger one more than a smaller one.",
          kNoveLsmScale,
          true,
          novelsm_6::RunImmutable};
}

FigureSpec NoveLsmFigure8() {
  return {"novelsm-8",
          "A mutable persistent memtable, by the size of the values",
          kNoveLsmPaper,
          "5.3, figure 8",
          "Writes into a persistent memtable take a quarter of LevelDB's time for 4 KB, since "
          "nobody waits for compactions; less still without flushes, or with all data in one list.",
          kNoveLsmScale,
          true,
          novelsm_6::RunMutable};
}

FigureSpec NoveLsmSplit() {
  return {"novelsm-8ssd",
          "Half of the data on a device",
          kNoveLsmPaper,
          "5.3, splitting over memory and SSD",
          "With half of the data on an SSD writes of 64 KB take little more than half as long as "
          "LevelDB's whose tables are split alike.",
          std::string("The tier is a RocksDB database in memory too, and LevelDB has all of its "
                      "tables in memory. ") +
              kNoveLsmScale,
          true,
          novelsm_6::RunSplit};
}

FigureSpec NoveLsmFigure10() {
  return {"novelsm-10",
          "YCSB",
          kNoveLsmPaper,
          "5.5, figure 10",
          "In workload A 1.81 times LevelDB's throughput and 1.06 times RocksDB's, in F more than "
          "twice LevelDB's, in E, which scans, 1.54 times RocksDB's.",
          std::string("Values of 4 KB, as many clients as cores, but at most 4. ") + kNoveLsmScale,
          true,
          novelsm_6::RunYcsb};
}

}  // namespace braid::figures
