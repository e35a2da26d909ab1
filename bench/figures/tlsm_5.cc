// Figures 5 (a) to (h): the variants, the size of the data, a tier, the size of the values.
#include <fmt/format.h>

#include "bench/figures/all_figures.h"
#include "bench/figures/latencies.h"
#include "bench/figures/tlsm.h"

namespace braid::figures {
namespace tlsm_5 {
namespace {

constexpr uint64_t kRecords = 2'000'000;  // of 100 bytes

double Last(const Series& series) { return series.y.back(); }

// ---- (a) and (b) ----

Status RunVariants(FigureRun& run) {
  const bool beside = HasLevelDb(run);
  Latencies latencies;
  for (const uint64_t part : {4, 2, 1}) {
    const uint64_t records = run.Scaled(kRecords) / part;
    const bench::WorkloadOptions workload = run.Workload(records, 16, 100);
    std::vector<StoreRun> stores = TlsmVariants(workload);
    if (beside) stores.push_back(LevelDbBesideTlsm(workload));
    for (size_t i = 0; i < stores.size(); ++i) {
      const double millions = static_cast<double>(records) / 1e6;
      const std::string point = fmt::format("{} records", records);
      if (Status s = latencies.Add(run, stores[i], i, millions, point); !s.ok()) return s;
    }
  }
  latencies.AddPanels(run, "million records of 100 bytes");
  const double write = Last(latencies.write[2]);
  const double read = Last(latencies.read[2]);
  run.AddCheck({"writes: PS to the full design", Last(latencies.write[0]) / write,
                Direction::kAtLeast, 1.3, 1.05, "above LevelDB's, which is 1.5",
                "its lists of 100-byte values take few lines more than lists of references"});
  run.AddCheck({"writes: PS+BAC to the full design", Last(latencies.write[1]) / write,
                Direction::kAtLeast, 1.25, 1.02, "1.25",
                "its flush links entries where the log has them, and copies nothing at all; the "
                "full design writes them once more, in the order of their keys"});
  run.AddCheck({"reads: the full design to PS", read / Last(latencies.read[0]), Direction::kAtLeast,
                1.02, 1.0, "slightly above 1",
                "a node of ours has its key: only the value lies elsewhere"});
  if (!beside) return Status::OK();
  run.AddCheck({"writes: LevelDB to the full design", Last(latencies.write[3]) / write,
                Direction::kAtLeast, 1.5, 1.1, "1.5",
                "LevelDB's files are memory, and its writes are no system calls of a device"});
  run.AddCheck({"reads: LevelDB to the full design", Last(latencies.read[3]) / read,
                Direction::kAtLeast, 2.3, 1.2, "2.3", "LevelDB's blocks all lie in its cache"});
  return Status::OK();
}

// ---- (c) and (d), 7 (c) and (d) ----

/// Pools that hold all, a half, a quarter, an eighth; the rest lies in a tier on the same memory.
Status RunTiers(FigureRun& run) {
  Latencies latencies;
  for (const uint64_t share : {0, 2, 4, 8}) {
    bench::WorkloadOptions workload = run.Workload(run.Scaled(kRecords), 16, 100);
    Result<bench::ScratchDirectory> tier = run.Scratch();
    if (!tier.ok()) return tier.status();
    workload.pool_share = share;
    workload.tier_directory = share == 0 ? "" : tier->path() + "/tier";
    workload.settle = true;
    const double held = share == 0 ? 1.0 : 1.0 / static_cast<double>(share);
    const std::string point = share == 0 ? "all" : fmt::format("1/{}", share);
    if (Status s = latencies.Add(run, Tlsm("tlsm", workload), 0, held, point); !s.ok()) return s;
  }
  latencies.AddPanels(run, "share of the data that the pool may hold");
  const Series& write = latencies.write[0];
  const Series& read = latencies.read[0];
  run.AddCheck({"writes: an eighth in the pool to all", write.y[3] / write.y[0],
                Direction::kAtLeast, 1.2, 1.0, "1.3 to 1.5 (leveled tiering to none)",
                "runs go to the tier in the background, sorted already"});
  run.AddCheck({"reads: an eighth in the pool to all", read.y[3] / read.y[0], Direction::kAtLeast,
                1.3, 1.05, "above 1", "the tier's blocks lie in its cache"});
  run.AddCheck({"reads: an eighth to a half in the pool", read.y[3] / read.y[1],
                Direction::kAtLeast, 1.1, 1.0, "above 1 (figure 7 (d))",
                "either way most reads ask the tier"});
  run.AddNote(
      "The paper's leveled tiering has a level as its threshold, ours a number of bytes. LRU is "
      "left out.");
  return Status::OK();
}

// ---- (e) to (h) ----

Status RunValueSizes(FigureRun& run) {
  constexpr uint64_t kBytes = 200u << 20;
  const bool beside = HasLevelDb(run);
  for (const bool large : {false, true}) {
    Latencies latencies;
    const std::vector<size_t> sizes =
        large ? std::vector<size_t>{1024, 4096, 16'384} : std::vector<size_t>{100, 400, 1600};
    for (const size_t size : sizes) {
      const bench::WorkloadOptions workload =
          run.Workload(run.Scaled(kBytes, 4 << 20) / (16 + size), 16, size);
      const std::string point = fmt::format("{} bytes", size);
      const auto x = static_cast<double>(size);
      if (Status s = latencies.Add(run, Tlsm("tlsm", workload), 0, x, point); !s.ok()) return s;
      if (!beside) continue;
      if (Status s = latencies.Add(run, LevelDbBesideTlsm(workload), 1, x, point); !s.ok())
        return s;
    }
    latencies.AddPanels(run, "bytes of a value", large ? "large values" : "small values");
    if (!beside) continue;
    const char* const kind = large ? "16 KB" : "1,600 bytes";
    run.AddCheck({fmt::format("writes of {}: LevelDB to tlsm", kind),
                  Last(latencies.write[1]) / Last(latencies.write[0]), Direction::kAtLeast,
                  large ? 10.0 : 4.0, 1.2, large ? "10" : "4",
                  "LevelDB's compactions take another processor, and wait for no device"});
    run.AddCheck({fmt::format("reads of {}: LevelDB to tlsm", kind),
                  Last(latencies.read[1]) / Last(latencies.read[0]), Direction::kAtLeast,
                  large ? 3.6 : 4.2, 1.2, large ? "3.6" : "4.2",
                  "LevelDB's blocks all lie in its cache"});
  }
  return Status::OK();
}

}  // namespace
}  // namespace tlsm_5

FigureSpec TlsmFigure5a() {
  return {"tlsm-5a",
          "Writes and reads of the variants by the size of the data",
          kTlsmPaper,
          "V-C1, figures 5 (a) and 5 (b)",
          "A compaction that writes references, and a flush that copies in one piece, take a third "
          "off LevelDB's write latency; persistent lists alone are slower than LevelDB. Reads take "
          "less than half of LevelDB's; the full design reads slightly slower than the variants.",
          std::string("16-byte keys and values of 100 bytes, up to 2 million records instead of 70 "
                      "million. ") +
              kTlsmScale,
          true,
          tlsm_5::RunVariants};
}

FigureSpec TlsmFigure5c() {
  return {"tlsm-5c",
          "Writes and reads with a part of the data in a tier",
          kTlsmPaper,
          "V-C2 and V-E, figures 5 (c), 5 (d), 7 (c) and 7 (d)",
          "Without a tier writes and reads are fastest; the more levels lie in persistent memory, "
          "the faster both are.",
          std::string("2 million records of 100 bytes instead of 12 GB; the tier is a RocksDB "
                      "database in memory too. The time of writes counts until the background has "
                      "done its work. ") +
              kTlsmScale,
          true,
          tlsm_5::RunTiers};
}

FigureSpec TlsmFigure5e() {
  return {
      "tlsm-5e",
      "Writes and reads by the size of the values",
      kTlsmPaper,
      "V-C3, figures 5 (e) to 5 (h)",
      "The larger values are, the more compactions by reference save: writes of small values "
      "take a quarter of LevelDB's time, of large ones a tenth; reads a quarter of it for both.",
      std::string("200 MB of values of each size instead of 12 GB. ") + kTlsmScale,
      true,
      tlsm_5::RunValueSizes};
}

}  // namespace braid::figures
