// Purpose: opens the tier at a path: a RocksDB database, or one in memory for tests
// (memory_store.h). RocksDB is linked where the library was built with it, and into programs that
// bring it themselves.
// Thread safety: any thread.
// Persistence: a new tier's number, and that of its pool, are durable when it is returned.
#pragma once

#include <memory>
#include <string>

#include "tier/store.h"

namespace braid::tier {

struct OpenRequest {
  std::string path;
  Id pool_id{};             ///< of the pool that a new one is to belong to
  bool may_create = false;  ///< there need not be one yet
  bool read_only = false;
  /// To read what another process writes to. It has what it had at the open, whatever the writer
  /// takes in or puts together later.
  bool beside_writer = false;
  /// It may read through a mapping whose signals are caught (media/sigbus_guard.h).
  bool may_map = false;
  bool for_repair = false;  ///< read_only, and what is damaged is in the way as late as can be
  uint64_t cache_bytes = 8u << 20;  ///< DRAM for it
};

/// Errors: NotFound (there is none), NotSupported (no RocksDB), Corruption, IOError, Busy, each
/// with the path.
Result<std::unique_ptr<Store>> OpenStore(const OpenRequest& request);

using Opener = Result<std::unique_ptr<Store>> (*)(const OpenRequest& request);
/// Of a RocksDB database; where RocksDB is there.
Result<std::unique_ptr<Store>> OpenRocksStore(const OpenRequest& request);
/// How tiers on a file system are opened from here on. Before any is.
void SetOpener(Opener opener) noexcept;

/// For tests: live bytes above which pools that are opened from here on move entries to their
/// tiers; 0: half of pool.max_bytes.
void SetPoolBytes(uint64_t bytes) noexcept;
uint64_t PoolBytes() noexcept;

}  // namespace braid::tier
