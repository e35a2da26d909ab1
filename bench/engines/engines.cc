#include "bench/engines/engines.h"

#include <algorithm>
#include <utility>

#include "design/design.h"

namespace braid::bench {
namespace {

using Maker = std::unique_ptr<KvEngine> (*)();

const std::vector<std::pair<std::string, Maker>>& Makers() {
  static const std::vector<std::pair<std::string, Maker>> makers = {
    {"braid", &MakeBraidEngine},
    {"local", &MakeLocalEngine},
    {"delegated", &MakeDelegatedEngine},
    {"bare", &MakeBareEngine},
    {"wbtree", &MakeWbTreeEngine},
    {"wbtree-in-place", &MakeWbTreeInPlaceEngine},
#if defined(BRAID_HAVE_LEVELDB)
    {"leveldb", &MakeLevelDbEngine},
#endif
#if defined(BRAID_HAVE_ROCKSDB)
    {"rocksdb", &MakeRocksDbEngine},
#endif
#if defined(BRAID_HAVE_LMDB)
    {"lmdb", &MakeLmdbEngine},
#endif
  };
  return makers;
}

}  // namespace

std::vector<std::string> DesignEngineNames() {
  std::vector<std::string> names;
  for (const design::Design& design : design::Designs()) {
    if (design.name != "braid" && design.capabilities.stores) names.emplace_back(design.name);
  }
  return names;
}

std::vector<std::string> EngineNames() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : Makers()) names.push_back(name);
  for (std::string& name : DesignEngineNames()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> GeneralEngineNames() {
  std::vector<std::string> names = EngineNames();
  std::erase_if(names, [](const std::string& name) { return name.starts_with("wbtree"); });
  return names;
}

std::vector<std::string> PeerEngineNames() {
  std::vector<std::string> names = GeneralEngineNames();
  const std::vector<std::string> designs = DesignEngineNames();
  std::erase_if(names, [&](const std::string& name) {
    return name == "local" || name == "delegated" || name == "bare" ||
           std::find(designs.begin(), designs.end(), name) != designs.end();
  });
  return names;
}

std::unique_ptr<KvEngine> MakeEngine(std::string_view name) {
  for (const auto& [known, maker] : Makers()) {
    if (known == name) return maker();
  }
  const std::vector<std::string> designs = DesignEngineNames();
  if (std::find(designs.begin(), designs.end(), name) == designs.end()) return nullptr;
  return MakeDesignEngine(name);
}

}  // namespace braid::bench
