// The stores that braid-compare can run: braid and the peers this program was built with.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/kv_engine.h"

namespace braid::bench {

/// Names of all stores in this build, braid first.
std::vector<std::string> EngineNames();
/// Null when the name is unknown or the store is not in this build.
std::unique_ptr<KvEngine> MakeEngine(std::string_view name);

std::unique_ptr<KvEngine> MakeLevelDbEngine();
std::unique_ptr<KvEngine> MakeRocksDbEngine();
std::unique_ptr<KvEngine> MakeLmdbEngine();

}  // namespace braid::bench
