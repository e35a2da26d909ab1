#include "bench/figures/novelsm.h"

#include <algorithm>

#include "bench/figures/latencies.h"

namespace braid::figures {
namespace {

constexpr uint64_t kLeastMemtable = 64u << 10;
constexpr uint64_t kLargeMib = 64;

}  // namespace

std::string ScaledSetting(const FigureRun& run, const std::string& name, uint64_t mib) {
  return name + "=" + std::to_string(run.Scaled(mib << 20, kLeastMemtable));
}

StoreRun NoveLsm(const FigureRun& run, const std::string& label,
                 const bench::WorkloadOptions& workload, const std::vector<std::string>& more) {
  StoreRun store{label, "braid", workload};
  store.workload.design = "novelsm";
  store.workload.settings = {ScaledSetting(run, "memtable.bytes", kDramMemtable >> 20)};
  store.workload.settings.insert(store.workload.settings.end(), more.begin(), more.end());
  return store;
}

StoreRun LevelDbBesideNoveLsm(const FigureRun& run, const bench::WorkloadOptions& workload) {
  return LevelDb(workload, run.Scaled(kDramMemtable, kLeastMemtable));
}

StoreRun Immutable(const FigureRun& run, const std::string& label,
                   const bench::WorkloadOptions& workload, uint64_t mib) {
  return NoveLsm(run, label, workload,
                 {"memtable.kind=skiplist", ScaledSetting(run, "levels.l1_bytes", mib)});
}

StoreRun Mutable(const FigureRun& run, const std::string& label,
                 const bench::WorkloadOptions& workload) {
  return NoveLsm(run, label, workload,
                 {ScaledSetting(run, "levels.persistent_bytes", kLargeMib),
                  ScaledSetting(run, "levels.l1_bytes", kLargeMib)});
}

}  // namespace braid::figures
