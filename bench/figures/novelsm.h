// Purpose: what the figures of NoveLSM share: the design's variants at a run's scale.
// Thread safety: none needed.
// Persistence: none.
#pragma once

#include <string>
#include <vector>

#include "bench/figures/frame/figure_run.h"

namespace braid::figures {

inline constexpr const char* kNoveLsmPaper = "NoveLSM (USENIX ATC 2018)";
inline constexpr const char* kNoveLsmScale =
    "256 MB in place of 16 GB: memtables in DRAM, and LevelDB's write buffer, of 1 MB in place of "
    "64, "
    "persistent ones of 32 and 64 MB in place of 2 and 4 GB. LevelDB and RocksDB run on memory as "
    "it is. Gets search level by level: the paper's reads in parallel are left out.";

inline constexpr uint64_t kNoveLsmData = 256u << 20;
inline constexpr uint64_t kDramMemtable = 1u << 20;

/// The design with 16-byte keys, DRAM memtables of 1 MB at full scale, and more settings. A size in
/// `mib` is one at full scale.
StoreRun NoveLsm(const FigureRun& run, const std::string& label,
                 const bench::WorkloadOptions& workload, const std::vector<std::string>& more = {});
/// "name=bytes": so many MiB at full scale.
std::string ScaledSetting(const FigureRun& run, const std::string& name, uint64_t mib);
/// LevelDB with a write buffer as large as the DRAM memtables.
StoreRun LevelDbBesideNoveLsm(const FigureRun& run, const bench::WorkloadOptions& workload);

/// The immutable persistent memtable alone, of so many MiB at full scale.
StoreRun Immutable(const FigureRun& run, const std::string& label,
                   const bench::WorkloadOptions& workload, uint64_t mib);
/// The mutable one of 64 MiB beside the one of DRAM.
StoreRun Mutable(const FigureRun& run, const std::string& label,
                 const bench::WorkloadOptions& workload);

}  // namespace braid::figures
