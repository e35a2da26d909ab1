// Purpose: which store a path names.
// Thread safety, persistence: see open_store.h.
#include "tier/open_store.h"

#include <atomic>

#include "tier/memory_store.h"

namespace braid::tier {

namespace {
#if defined(BRAID_ROCKSDB_TIER)
std::atomic<Opener> opener_of_paths{OpenRocksStore};
#else
std::atomic<Opener> opener_of_paths{nullptr};
#endif
std::atomic<uint64_t> pool_bytes{0};
}  // namespace

void SetPoolBytes(uint64_t bytes) noexcept { pool_bytes.store(bytes); }
uint64_t PoolBytes() noexcept { return pool_bytes.load(); }

void SetOpener(Opener opener) noexcept { opener_of_paths.store(opener); }

Result<std::unique_ptr<Store>> OpenStore(const OpenRequest& request) {
  if (MemoryDevice::IsNamed(request.path)) return MemoryDevice::OpenStoreOn(request);
  const Opener opener = opener_of_paths.load();
  if (opener == nullptr) {
    return Status::NotSupported(
        "options.tier.path: this build has no RocksDB; build braid with -DBRAID_ROCKSDB_TIER=ON "
        "where librocksdb-dev is installed");
  }
  return opener(request);
}

}  // namespace braid::tier
