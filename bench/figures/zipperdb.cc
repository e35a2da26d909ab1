#include "bench/figures/zipperdb.h"

#include <fmt/format.h>

namespace braid::figures {
namespace {

constexpr uint64_t kPaperBytes = 50ull << 30;
constexpr uint64_t kMiB = 1ull << 20;

}  // namespace

uint64_t ScaledToZipperDb(uint64_t paper_mib, uint64_t data_bytes) {
  const double share = static_cast<double>(data_bytes) / static_cast<double>(kPaperBytes);
  return static_cast<uint64_t>(static_cast<double>(paper_mib * kMiB) * share);
}

std::vector<std::string> ZipperDbSettings(uint64_t data_bytes) {
  return {fmt::format("memtable.bytes={}", ScaledToZipperDb(64, data_bytes)),
          fmt::format("levels.l1_bytes={}", ScaledToZipperDb(1024, data_bytes)),
          "levels.per_group=2"};
}

std::vector<StoreRun> ZipperDbPeers(FigureRun& run, const bench::WorkloadOptions& workload,
                                    uint64_t data_bytes) {
  std::vector<StoreRun> stores;
  if (FigureRun::HasEngine("leveldb")) {
    stores.push_back({"LevelDB", "leveldb", workload});
  } else {
    run.AddNote("LevelDB is not in this build: nothing is judged.");
  }
  stores.push_back({"zipperdb", "braid", workload});
  stores.back().workload.design = "zipperdb";
  stores.back().workload.settings = ZipperDbSettings(data_bytes);
  stores.push_back({"braid", "braid", workload});
  return stores;
}

}  // namespace braid::figures
