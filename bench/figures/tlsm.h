// Purpose: what the figures of TLSM share: the design and its variants at a run's scale, and
// LevelDB beside them.
// Thread safety: none needed.
// Persistence: none.
#pragma once

#include <string>
#include <vector>

#include "bench/figures/frame/figure_run.h"

namespace braid::figures {

inline constexpr const char* kTlsmPaper = "TLSM (IEEE Access 2020)";
inline constexpr const char* kTlsmScale =
    "Memtables of 1 MB, a first level of 2.5 MB and lists of 512 KB, a quarter of the paper's, "
    "which are LevelDB's. LevelDB has a write buffer of 1 MB, and runs on memory as it is.";

/// The design at these sizes, with more settings.
StoreRun Tlsm(const std::string& label, const bench::WorkloadOptions& workload,
              const std::vector<std::string>& more = {});
/// The paper's variants, the full design last: PS, PS+BAC, PS+BAC+PB.
std::vector<StoreRun> TlsmVariants(const bench::WorkloadOptions& workload);
/// LevelDB with a write buffer as large as the design's memtables.
StoreRun LevelDbBesideTlsm(const bench::WorkloadOptions& workload);

}  // namespace braid::figures
