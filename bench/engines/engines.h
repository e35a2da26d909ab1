// The stores that braid-compare can run: braid and the peers this program was built with.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/kv_engine.h"

namespace braid::bench {

/// Names of all stores in this build, braid first and its other designs last.
std::vector<std::string> EngineNames();
/// braid's designs but the default one, which is the store "braid".
std::vector<std::string> DesignEngineNames();
/// Those of them that take keys and values of any size.
std::vector<std::string> GeneralEngineNames();
/// Those of them that are stores to be used, not parts of a comparison or yardsticks.
std::vector<std::string> PeerEngineNames();
/// Null when the name is unknown or the store is not in this build.
std::unique_ptr<KvEngine> MakeEngine(std::string_view name);

std::unique_ptr<KvEngine> MakeLevelDbEngine();
std::unique_ptr<KvEngine> MakeRocksDbEngine();
std::unique_ptr<KvEngine> MakeLmdbEngine();
/// The wB+-tree of bench/wbtree: 8-byte keys and values. The other one overwrites values in place.
std::unique_ptr<KvEngine> MakeWbTreeEngine();
std::unique_ptr<KvEngine> MakeWbTreeInPlaceEngine();
/// A log, a flush, a fence and an index: the least that a put has to do.
std::unique_ptr<KvEngine> MakeBareEngine();
/// A braid pool a region: of what the region's threads wrote, or chosen by the key's hash and
/// worked on by a thread of the region.
std::unique_ptr<KvEngine> MakeLocalEngine();
std::unique_ptr<KvEngine> MakeDelegatedEngine();

}  // namespace braid::bench
