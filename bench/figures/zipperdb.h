// Purpose: what the figures of ZipperDB share: the design at a run's scale, and stores beside it.
// Thread safety: none needed.
// Persistence: none.
#pragma once

#include <string>
#include <vector>

#include "bench/figures/frame/figure_run.h"

namespace braid::figures {

inline constexpr const char* kZipperDbPaper = "ZipperDB (dissertation, chapter V)";

/// What `paper_mib` MiB beside the paper's 50 GB are beside `data_bytes`.
uint64_t ScaledToZipperDb(uint64_t paper_mib, uint64_t data_bytes);

/// The design zipperdb as the paper runs it from 5.2.2.3 on: a first list of 1 GB, two levels a
/// group, memtables of 64 MB; all smaller by as much as `data_bytes` are than 50 GB.
std::vector<std::string> ZipperDbSettings(uint64_t data_bytes);

/// The stores of these figures, with one workload: LevelDB where this build has it, the design
/// zipperdb, and the default design as one more yardstick. A store that is missing is noted.
/// `data_bytes` is what the workload loads.
std::vector<StoreRun> ZipperDbPeers(FigureRun& run, const bench::WorkloadOptions& workload,
                                    uint64_t data_bytes);

}  // namespace braid::figures
