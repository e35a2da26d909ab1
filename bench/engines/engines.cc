#include "bench/engines/engines.h"

#include <utility>

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

std::vector<std::string> EngineNames() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : Makers()) names.push_back(name);
  return names;
}

std::vector<std::string> GeneralEngineNames() {
  std::vector<std::string> names = EngineNames();
  std::erase_if(names, [](const std::string& name) { return name.starts_with("wbtree"); });
  return names;
}

std::vector<std::string> PeerEngineNames() {
  std::vector<std::string> names = GeneralEngineNames();
  std::erase_if(names, [](const std::string& name) {
    return name == "local" || name == "delegated" || name == "bare";
  });
  return names;
}

std::unique_ptr<KvEngine> MakeEngine(std::string_view name) {
  for (const auto& [known, maker] : Makers()) {
    if (known == name) return maker();
  }
  return nullptr;
}

}  // namespace braid::bench
