#include "bench/figures/tlsm.h"

namespace braid::figures {
namespace {

constexpr uint64_t kMemtableBytes = 1u << 20;

}  // namespace

StoreRun Tlsm(const std::string& label, const bench::WorkloadOptions& workload,
              const std::vector<std::string>& more) {
  StoreRun store{label, "braid", workload};
  store.workload.design = "tlsm";
  store.workload.settings = {"memtable.bytes=" + std::to_string(kMemtableBytes),
                             "levels.l1_bytes=2560K", "levels.list_bytes=512K"};
  store.workload.settings.insert(store.workload.settings.end(), more.begin(), more.end());
  return store;
}

std::vector<StoreRun> TlsmVariants(const bench::WorkloadOptions& workload) {
  return {Tlsm("PS", workload, {"levels.reference_bytes=1T", "log.kind=index-unified"}),
          Tlsm("PS+BAC", workload, {"log.kind=index-unified"}), Tlsm("PS+BAC+PB", workload)};
}

StoreRun LevelDbBesideTlsm(const bench::WorkloadOptions& workload) {
  StoreRun store{"LevelDB", "leveldb", workload};
  store.workload.write_buffer_bytes = kMemtableBytes;
  return store;
}

bool HasLevelDb(FigureRun& run) {
  if (FigureRun::HasEngine("leveldb")) return true;
  run.AddNote("LevelDB is not in this build: nothing is judged against it.");
  return false;
}

double MicrosAnOperation(const Json& result, const std::string& benchmark) {
  return 1e6 / OpsPerSecond(result, benchmark);
}

}  // namespace braid::figures
