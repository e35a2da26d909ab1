// Purpose: parts that fit each other.
// Thread safety, persistence: see parts.h.
#include "engine/parts.h"

#include <algorithm>

#include "base/check.h"
#include "base/processors.h"

namespace braid::engine {

namespace {

Status Unfit(const std::string& what) { return Status::InvalidArgument("options." + what); }

/// Levels of several lists do without what takes the last level for one list.
Status CheckRewrites(const Options& options) {
  const LevelOptions& levels = options.levels;
  if (*options.compaction.kind != MergeKind::kRewrite) {
    return levels.list_bytes == 0 && levels.reference_bytes == 0
               ? Status::OK()
               : Unfit(
                     "levels.list_bytes and levels.reference_bytes are for "
                     "compaction.kind=rewrite");
  }
  if (levels.l1_bytes == 0) {
    return Unfit("compaction.kind=rewrite is for designs with several levels");
  }
  const char* unfit = nullptr;
  if (*options.cache.index) unfit = "cache.index";
  if (*options.cache.lookup_bytes != 0) unfit = "cache.lookup_bytes";
  if (*options.cache.second_chance_bytes != 0) unfit = "cache.second_chance_bytes";
  if (options.compaction.recluster_share.value_or(0) != 0) unfit = "compaction.recluster_share";
  if (unfit == nullptr) return Status::OK();
  return Unfit(std::string(unfit) +
               " takes the last level for one list; with compaction.kind=rewrite it is several");
}

}  // namespace

Status CheckLsmParts(const Options& options) {
  BRAID_CHECK(options.log.kind && options.memtable.kind && options.compaction.kind &&
              options.compaction.persistence && options.cache.index && options.cache.lookup_bytes &&
              options.cache.second_chance_bytes);
  if (*options.log.kind != LogKind::kIndexUnified) {
    if (options.flush.group_tables > 1) {
      return Unfit(
          "flush.group_tables above 1 needs log.kind=index-unified: a copying flush "
          "has nothing to write back later");
    }
  }
  if (*options.compaction.kind == MergeKind::kCopy &&
      *options.compaction.persistence != MergePersistence::kRedoLog) {
    return Unfit(
        "compaction.kind=copy needs compaction.persistence=redo-log: the commit that names the "
        "copies begins a merge with records");
  }
  if (*options.cache.index && *options.cache.second_chance_bytes != 0) {
    return Unfit(
        "cache.second_chance_bytes needs cache.index=false: an index over L1 already has every key "
        "that a second-chance cache could have");
  }
  if (!options.tier.path.empty() && *options.compaction.kind == MergeKind::kNone) {
    return Unfit("tier.path needs merges, and compaction.kind is none");
  }
  if (Status s = CheckRewrites(options); !s.ok()) return s;
  return options.leaf.ranges != 0 || options.leaf.divide_ranges || options.leaf.span != 0
             ? Unfit("leaf is for designs that keep their data in leaves")
             : Status::OK();
}

Status CheckLeafParts(const Options& options) {
  BRAID_CHECK(options.leaf.ranges != 0 && options.leaf.divide_ranges && options.leaf.span != 0);
  if (options.pool.regions > 1) {
    return Unfit("pool.regions above 1 is of no use to this design: its leaves lie in one region");
  }
  return RefuseLsmParts(options);
}

Status RefuseLsmParts(const Options& options) {
  const char* unfit = nullptr;
  if (options.log.kind) unfit = "log.kind";
  if (options.memtable.kind) unfit = "memtable.kind";
  if (options.flush.group_tables != 0) unfit = "flush.group_tables";
  if (options.lists.kind || options.lists.count_visits) unfit = "lists";
  if (!options.tier.path.empty()) {
    return Status::NotSupported(
        "options.tier is for designs with tables; this one has none to move entries from");
  }
  if (options.compaction.kind) unfit = "compaction.kind";
  if (options.compaction.persistence) unfit = "compaction.persistence";
  if (options.compaction.recluster_share) unfit = "compaction.recluster_share";
  if (options.cache.index || options.cache.lookup_bytes || options.cache.second_chance_bytes) {
    unfit = "cache";
  }
  if (unfit == nullptr) return Status::OK();
  return Unfit(std::string(unfit) + " is of no use to this design: it has no such part");
}

uint32_t ShardCount(const Options& options) {
  if (options.log.shards != 0) return options.log.shards;
  return static_cast<uint32_t>(std::clamp<size_t>(2 * base::ProcessorsOfProcess(), 2, 32));
}

}  // namespace braid::engine
