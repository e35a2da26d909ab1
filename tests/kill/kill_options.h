// How the pools of the kill tests are opened, by the writer and by the checker alike.
#pragma once

#include <string>

#include "braid/options.h"
#include "support/database.h"
#include "support/store_kind.h"

namespace braid::test {

/// Another draw of tiny options each time: recovery must not depend on them. The chunk size of the
/// pool is that of the first open.
inline Options KillOptions(uint64_t seed) {
  Random random(seed);
  Options options = RandomTinyOptions(&random);
  options.pool.initial_bytes = 1ull << 20;  // so that a new pool must grow soon
  options.background_threads = !random.OneIn(4);
  return options;
}

/// The store of this number: all kinds take turns.
inline const StoreKind& KillStore(uint64_t number) {
  return StoreKinds()[number % StoreKinds().size()];
}

/// The same for a store. Parts of the default one that may change from open to open do.
inline Options KillOptions(uint64_t seed, const StoreKind& store) {
  Options options = KillOptions(seed);
  store.ApplyTo(&options);
  Random random(seed + 1);
  if (store.name != "braid") return options;
  if (random.OneIn(3)) options.log.kind = LogKind::kWriteAhead;
  if (random.OneIn(3)) options.compaction.kind = MergeKind::kCopy;
  if (random.OneIn(3)) options.memtable.kind = MemTableKind::kSkipList;
  if (random.OneIn(3)) options.memtable.kind = MemTableKind::kAlternating;
  return options;
}

inline std::string LoadedKey(uint64_t n) {
  char key[32];
  std::snprintf(key, sizeof(key), "%016llx",
                static_cast<unsigned long long>(n * 0x9E3779B97F4A7C15ull));
  return key;
}
inline std::string LoadedValue(uint64_t n) {
  std::string value = std::to_string(n) + ".";
  value.resize(100, 'v');
  return value;
}

}  // namespace braid::test
