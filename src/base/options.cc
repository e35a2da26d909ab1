// Purpose: validation of options.
// Thread safety: pure.
// Persistence: none.
#include "braid/options.h"

#include <bit>
#include <string>

#include "braid/shared_resources.h"

namespace braid {

const char* MediaClassName(MediaClass media_class) {
  switch (media_class) {
    case MediaClass::kPage:
      return "page";
    case MediaClass::kCacheLine:
      return "cache_line";
    case MediaClass::kByte:
      return "byte";
  }
  return "unknown";
}

const char* ListKindName(ListKind kind) {
  switch (kind) {
    case ListKind::kOblivious:
      return "oblivious";
    case ListKind::kBraided:
      return "braided";
  }
  return "unknown";
}

namespace {

template <class T>
Status CheckRange(const char* name, T value, T least, T most) {
  if (value >= least && value <= most) return Status::OK();
  return Status::InvalidArgument(std::string("options.") + name + " is " + std::to_string(value) +
                                 "; it must be between " + std::to_string(least) + " and " +
                                 std::to_string(most));
}

/// The value of a kind must be one that has a name; 0 stands for one that is not set.
template <class T>
Status CheckKind(const char* name, const std::optional<T>& kind, T most) {
  if (!kind) return Status::OK();
  return CheckRange<uint32_t>(name, static_cast<uint32_t>(*kind), 1, static_cast<uint32_t>(most));
}

Status CheckKinds(const Options& options) {
  if (options.read_only && options.error_if_exists) {
    return Status::InvalidArgument(
        "options.read_only never creates a pool, and options.error_if_exists accepts only a new "
        "one; set one of them");
  }
  Status s = CheckKind("log.kind", options.log.kind, LogKind::kBySize);
  if (s.ok()) s = CheckKind("memtable.kind", options.memtable.kind, MemTableKind::kAlternating);
  if (s.ok()) s = CheckKind("lists.kind", options.lists.kind, ListKind::kBraided);
  if (s.ok()) s = CheckKind("compaction.kind", options.compaction.kind, MergeKind::kRewrite);
  if (s.ok()) {
    s = CheckKind("compaction.persistence", options.compaction.persistence,
                  MergePersistence::kPointer);
  }
  return s;
}

constexpr uint64_t kMaxPool = 1ull << 48;

Status CheckPoolSizes(const PoolOptions& pool) {
  constexpr uint64_t kLeastPool = 64 << 10;
  if (!std::has_single_bit(pool.chunk_bytes)) {
    return Status::InvalidArgument("options.pool.chunk_bytes is " +
                                   std::to_string(pool.chunk_bytes) +
                                   "; it must be a power of two");
  }
  Status s = CheckRange<uint64_t>("pool.chunk_bytes", pool.chunk_bytes, 4096, 64ull << 20);
  // Before initial_bytes, which may have been lowered to it.
  if (s.ok() && pool.max_bytes != 0) {
    s = CheckRange<uint64_t>("pool.max_bytes", pool.max_bytes, kLeastPool, kMaxPool);
  }
  if (s.ok()) {
    s = CheckRange<uint64_t>("pool.initial_bytes", pool.initial_bytes, kLeastPool, kMaxPool);
  }
  if (!s.ok() || pool.max_bytes == 0 || pool.max_bytes >= pool.initial_bytes) return s;
  return Status::InvalidArgument("options.pool.max_bytes is " + std::to_string(pool.max_bytes) +
                                 ", and options.pool.initial_bytes " +
                                 std::to_string(pool.initial_bytes) +
                                 ": lower that one too, or raise the limit");
}

/// 0 leaves each of them to the design.
Status CheckLevels(const LevelOptions& levels) {
  Status s;
  if (levels.count != 0) s = CheckRange<uint32_t>("levels.count", levels.count, 3, 8);
  if (s.ok() && levels.l1_bytes != 0) {
    s = CheckRange<uint64_t>("levels.l1_bytes", levels.l1_bytes, 1024, kMaxPool);
  }
  if (s.ok() && levels.growth != 0)
    s = CheckRange<uint32_t>("levels.growth", levels.growth, 2, 100);
  if (s.ok() && levels.per_group != 0) {
    s = CheckRange<uint32_t>("levels.per_group", levels.per_group, 1, 8);
  }
  if (s.ok() && levels.persistent_bytes != 0) {
    s = CheckRange<uint64_t>("levels.persistent_bytes", levels.persistent_bytes, 1024, kMaxPool);
  }
  if (s.ok() && levels.list_bytes != 0) {
    s = CheckRange<uint64_t>("levels.list_bytes", levels.list_bytes, 256, kMaxPool);
  }
  if (s.ok() && levels.reference_bytes != 0) {
    s = CheckRange<uint64_t>("levels.reference_bytes", levels.reference_bytes, 1, kMaxPool);
  }
  return s;
}

Status CheckTier(const Options& options) {
  const std::string& path = options.tier.path;
  if (path.size() > kMaxTierPath) {
    return Status::InvalidArgument("options.tier.path has " + std::to_string(path.size()) +
                                   " bytes; a pool has room for " + std::to_string(kMaxTierPath));
  }
  if (!path.empty() && options.pool.max_bytes == 0 && !options.read_only) {
    return Status::InvalidArgument(
        "options.tier.path needs options.pool.max_bytes: what is beyond half of it goes to the "
        "tier");
  }
  return Status::OK();
}

/// The caches are a part of what the budget is for.
Status CheckCaches(const Options& options) {
  const uint64_t budget = options.resources != nullptr ? options.resources->memory_budget_bytes()
                                                       : options.memory_budget_bytes;
  const uint64_t lookup = options.cache.lookup_bytes.value_or(0);
  Status s = CheckRange<uint64_t>("cache.lookup_bytes", lookup, 0, budget);
  if (!s.ok()) return s;
  return CheckRange<uint64_t>("cache.second_chance_bytes",
                              options.cache.second_chance_bytes.value_or(0), 0, budget - lookup);
}

}  // namespace

Status Options::Validate() const {
  Status s = CheckPoolSizes(pool);
  if (s.ok() && pool.force_media_class) {
    s = CheckRange<uint32_t>("pool.force_media_class",
                             static_cast<uint32_t>(*pool.force_media_class), 1, 3);
  }
  if (s.ok()) {
    s = CheckRange<uint32_t>("pool.emulate_write_ns", pool.emulate_write_ns, 0, 1'000'000);
  }
  if (s.ok()) s = CheckRange<uint32_t>("pool.regions", pool.regions, 1, 4);
  if (s.ok() && !pool.region_paths.empty() && pool.region_paths.size() + 1 != pool.regions) {
    s = Status::InvalidArgument("options.pool.region_paths names " +
                                std::to_string(pool.region_paths.size()) + " folders; " +
                                std::to_string(pool.regions) +
                                " regions need one for each region behind the first, or none");
  }
  if (s.ok()) {
    s = CheckRange<uint32_t>("verify_on_open", static_cast<uint32_t>(verify_on_open), 0, 1);
  }
  if (s.ok()) s = CheckRange<uint64_t>("memtable.bytes", memtable.bytes, 1024, 16ull << 30);
  if (s.ok()) s = CheckRange<uint32_t>("memtable.max_immutable", memtable.max_immutable, 1, 32);
  if (s.ok()) s = CheckRange<uint32_t>("log.shards", log.shards, 0, 64);
  if (s.ok()) {
    s = CheckRange<uint32_t>("flush.group_tables", flush.group_tables, 0, 32);
  }
  if (s.ok()) {
    s = CheckRange<uint64_t>("memory_budget_bytes", memory_budget_bytes, 1 << 20, kMaxPool);
  }
  if (s.ok()) s = CheckRange<uint32_t>("compaction.l0_trigger", compaction.l0_trigger, 1, 32);
  if (s.ok()) s = CheckRange<uint32_t>("compaction.l0_slowdown", compaction.l0_slowdown, 1, 56);
  if (s.ok()) s = CheckRange<uint32_t>("compaction.l0_stop", compaction.l0_stop, 2, 56);
  if (s.ok() && compaction.l0_trigger > compaction.l0_slowdown) {
    s = Status::InvalidArgument(
        "options.compaction.l0_trigger is above options.compaction.l0_slowdown");
  }
  if (s.ok() && compaction.l0_slowdown >= compaction.l0_stop) {
    s = Status::InvalidArgument(
        "options.compaction.l0_slowdown must be below options.compaction.l0_stop");
  }
  if (s.ok()) {
    s = CheckRange<uint32_t>("compaction.batch_entries", compaction.batch_entries, 1, 1u << 20);
  }
  if (s.ok() && !(compaction.gc_live_ratio >= 0.0 && compaction.gc_live_ratio <= 0.9)) {
    s = Status::InvalidArgument("options.compaction.gc_live_ratio must be between 0 and 0.9");
  }
  const double recluster = compaction.recluster_share.value_or(0);
  if (s.ok() && !(recluster >= 0.0 && recluster <= 0.9)) {
    s = Status::InvalidArgument("options.compaction.recluster_share must be between 0 and 0.9");
  }
  if (s.ok()) s = CheckLevels(levels);
  if (s.ok()) s = CheckCaches(*this);
  if (s.ok()) s = CheckTier(*this);
  if (s.ok()) s = CheckRange<uint32_t>("leaf.ranges", leaf.ranges, 0, 1u << 16);
  if (s.ok()) s = CheckRange<uint32_t>("leaf.span", leaf.span, 0, 64);
  return s.ok() ? CheckKinds(*this) : s;
}

}  // namespace braid
