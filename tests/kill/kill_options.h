// How the pools of the kill tests are opened, by the writer and by the checker alike.
#pragma once

#include <string>

#include "braid/options.h"
#include "support/database.h"
#include "support/store_kind.h"
#include "tier/open_store.h"

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

/// The store of this number among those that are killed over a tier.
inline const StoreKind& TieredKillStore(uint64_t number) {
  static constexpr const char* kNames[] = {"braid", "listdb", "zipperdb", "tlsm"};
  return KindNamed(kNames[number % std::size(kNames)]);
}

/// Puts a tier below the pool, of which nearly all goes there.
inline void AddKillTier(uint64_t seed, const std::string& path, Options* options) {
  options->tier.path = path;
  options->pool.max_bytes = 256 << 20;  // no matter: the next line
  tier::SetPoolBytes((1 + seed % 32) << 10);
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
