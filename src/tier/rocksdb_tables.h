// Purpose: for a repair: what the tables of a RocksDB database have between two keys, each read by
// itself. A walk over all of them ends at a damaged block of one for every key that this may hold,
// whatever the others have.
// Thread safety: one thread at a time.
// Invariants:
//   1. Of a key that several tables have, the record of the newest run among those that can be read
//      is taken. A mark of RocksDB's own that stands in another table hides nothing here: what it
//      hid is shown, as an older version is whose newer one is lost.
// Persistence: reads only.
#pragma once

#if defined(BRAID_ROCKSDB_TIER)

#include <rocksdb/metadata.h>
#include <rocksdb/options.h>

#include <optional>
#include <string>
#include <vector>

#include "tier/store.h"

namespace braid::tier {

/// Keys to read: from `from` on, that one left out where it was read before; up to before `to`, or
/// to the last.
struct KeysToRead {
  std::string from;
  bool is_read = false;
  std::optional<std::string> to;
};

/// In the order of keys, past what is damaged, without a word about that. `options`: those of
/// the tables. Errors: those of `take`. Throws std::bad_alloc.
Status ForEachInTables(const std::vector<rocksdb::SstFileMetaData>& tables,
                       const rocksdb::Options& options, const KeysToRead& keys,
                       const Store::Take& take);

}  // namespace braid::tier

#endif  // BRAID_ROCKSDB_TIER
