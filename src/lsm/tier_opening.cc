// Purpose: the pool and its tier must know each other.
// Thread safety, persistence: see tier_opening.h.
#include "lsm/tier_opening.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "base/check.h"
#include "pool/pool_facts.h"
#include "tier/open_store.h"

namespace braid::lsm {

namespace {

/// Of the memory budget the tier has this part, one in so many: filters and indexes of its tables,
/// and records that are read.
constexpr uint64_t kShareOfBudget = 2;

bool IsId(const tier::Id& id, const uint8_t* bytes) {
  return std::memcmp(id.data(), bytes, id.size()) == 0;
}

/// Where the options name none.
Status CheckWithout(const std::optional<format::TierRecord>& named) {
  if (!named) return Status::OK();
  return Status::InvalidArgument("a part of the pool's data is in its tier, at " +
                                 pool::PathIn(*named) +
                                 ": set options.tier.path to it (the command: --tier); if it is "
                                 "lost, DB::Repair makes a new pool of what this one holds");
}

/// Where a pool has none yet, and is only read.
Status Unfinished(const std::string& path, const Status& status) {
  return Status::NotFound("the pool has no tier yet, and at " + path +
                          " there is none that is whole: open the pool to write first, or without "
                          "options.tier.path (" +
                          std::string(status.message()) + ")");
}

Status CheckBelongs(const tier::Store& store, const std::string& path,
                    const std::optional<format::TierRecord>& named, const uint8_t* pool_id) {
  if (named && !IsId(store.id(), named->id)) {
    return Status::InvalidArgument(
        "the tier at " + path + " is not that of the pool, which was at " + pool::PathIn(*named));
  }
  if (!IsId(store.pool_id(), pool_id)) {
    return Status::InvalidArgument("the tier at " + path + " belongs to another pool");
  }
  if (!named && store.newest_sequence() != 0) {
    return Status::InvalidArgument("the tier at " + path +
                                   " holds entries that the pool knows nothing of: the pool is an "
                                   "older copy of the one that it belongs to");
  }
  return Status::OK();
}

}  // namespace

uint64_t TierCacheBytes(const Options& options) noexcept {
  return options.tier.path.empty() ? 0 : options.memory_budget_bytes / kShareOfBudget;
}

Result<std::unique_ptr<tier::Store>> OpenTierOf(pool::PmemPool* pool, const Options& options) {
  const std::string& path = options.tier.path;
  const Result<std::optional<format::TierRecord>> named = pool->tier();
  if (!named.ok()) return named.status();
  if (path.empty()) {
    if (Status s = CheckWithout(*named); !s.ok()) return s;
    return std::unique_ptr<tier::Store>();
  }
  const uint8_t* const pool_id = pool->header().uuid;
  tier::OpenRequest request;
  request.path = path;
  std::copy_n(pool_id, request.pool_id.size(), request.pool_id.begin());
  request.read_only = options.read_only;
  // Under a grant: nothing goes to the tier before it is revoked, since nothing is merged.
  request.beside_writer = pool->media().cut().has_value();
  BRAID_CHECK(!request.beside_writer || request.read_only);
  request.may_create = !named->has_value() && !options.read_only;
  request.may_map = options.pool.catch_sigbus;
  request.cache_bytes = TierCacheBytes(options);
  Result<std::unique_ptr<tier::Store>> opened = tier::OpenStore(request);
  if (!opened.ok()) {
    // Nothing of the pool is in one yet: a writer is making it, or was killed on the way.
    const bool is_unfinished = !named->has_value() && options.read_only &&
                               (opened.status().IsCorruption() || opened.status().IsIOError());
    return is_unfinished ? Unfinished(path, opened.status()) : opened.status();
  }
  if (Status s = CheckBelongs(**opened, path, *named, pool_id); !s.ok()) return s;
  format::TierRecord record{};
  std::copy_n((*opened)->id().begin(), sizeof record.id, record.id);
  BRAID_CHECK(path.size() < sizeof record.path);  // Options::Validate has looked
  std::copy_n(path.data(), path.size(), record.path);
  if (!options.read_only) pool->SetTier(record);
  return opened;
}

}  // namespace braid::lsm
