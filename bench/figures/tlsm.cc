#include "bench/figures/tlsm.h"

#include "bench/figures/latencies.h"

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
  return LevelDb(workload, kMemtableBytes);
}

}  // namespace braid::figures
