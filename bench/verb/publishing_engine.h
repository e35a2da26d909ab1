// A store of the bench harness that tells `braid top` what it does while it is open.
//
// Thread safety: as KvEngine's.
// Persistence: see stats_file.h.
#pragma once

#include <memory>

#include "bench/harness/kv_engine.h"

namespace braid::tools {

/// `engine`, whose folder gets a file of statistics once a second between Open and Close.
std::unique_ptr<bench::KvEngine> MakePublishingEngine(std::unique_ptr<bench::KvEngine> engine);

}  // namespace braid::tools
