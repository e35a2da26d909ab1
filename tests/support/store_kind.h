// The stores that a suite runs on: each design of the registry, and combinations of parts that no
// design picks by itself. One list for all suites.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "braid/options.h"
#include "design/design.h"
#include "support/region_turns.h"

namespace braid::test {

struct StoreKind {
  std::string name;  ///< letters and digits, for the names of tests
  std::string design;
  std::vector<std::pair<std::string, std::string>> settings = {};  ///< for Options::Set
  /// Of the default store's random trials in a push; a design has a larger one than a combination.
  uint64_t share_of_trials() const {
    return name == "braid" || name == kLinked ? 1 : settings.empty() ? 8 : 24;
  }
  /// The default store, all of whose flushes set links.
  static constexpr const char* kLinked = "IndexUnified";

  /// Makes `options` those of this kind.
  void ApplyTo(Options* options) const {
    options->design = design;
    TakeRegionsInTurns();  // of no effect on pools of one region
    for (const auto& [option, value] : settings) {
      const Status set = options->Set(option, value);
      if (set.ok()) continue;
      std::fprintf(stderr, "store %s: %s\n", name.c_str(), set.ToString().c_str());
      std::abort();
    }
  }
  Capabilities capabilities() const { return (*design::FindDesign(design))->capabilities; }
};

/// Every design that keeps what it is given, then combinations of parts.
inline const std::vector<StoreKind>& StoreKinds() {
  static const std::vector<StoreKind> kinds = [] {
    std::vector<StoreKind> all;
    for (const design::Design& design : design::Designs()) {
      if (design.capabilities.stores) {
        all.push_back({std::string(design.name), std::string(design.name)});
      }
    }
    all.push_back({StoreKind::kLinked, "braid", {{"log.kind", "index-unified"}}});
    // Small enough that lists go down through all levels.
    all.push_back({"ListsCopied",
                   "zipperdb",
                   {{"levels.l1_bytes", "1K"}, {"levels.growth", "2"}, {"levels.per_group", "1"}}});
    all.push_back({"ListsLinked",
                   "zipperdb",
                   {{"levels.l1_bytes", "1K"},
                    {"levels.growth", "2"},
                    {"levels.per_group", "8"},
                    {"compaction.persistence", "redo-log"}}});
    // Small enough that there are several lists a level, and values that are referred to.
    all.push_back({"ListsBounded",
                   "tlsm",
                   {{"levels.l1_bytes", "1K"},
                    {"levels.growth", "2"},
                    {"levels.list_bytes", "256"},
                    {"levels.reference_bytes", "16"}}});
    all.push_back({"SkipListMemTable", "braid", {{"memtable.kind", "skiplist"}}});
    // Merges begin late, so that groups come together.
    all.push_back(
        {"LazyWriteBack", "braid", {{"flush.group_tables", "3"}, {"compaction.l0_trigger", "5"}}});
    // Small enough that keys meet in a bucket.
    all.push_back({"cached", "braid", {{"cache.lookup_bytes", "256"}}});
    all.push_back({"regions2", "braid", {{"pool.regions", "2"}}});
    // Beside it heads of strands that are written back late.
    all.push_back({"regions4", "braid", {{"pool.regions", "4"}, {"flush.group_tables", "3"}}});
    all.push_back({"oblivious2", "braid", {{"pool.regions", "2"}, {"lists.kind", "oblivious"}}});
    all.push_back(
        {"WriteAhead", "braid", {{"log.kind", "write-ahead"}, {"memtable.kind", "skiplist"}}});
    // Beside it upper layers that lead within a region.
    all.push_back({"InPlace", "braid", {{"memtable.kind", "persistent"}, {"pool.regions", "2"}}});
    all.push_back({"CopyMerge", "braid", {{"compaction.kind", "copy"}}});
    all.push_back({"SecondChance", "braid", {{"cache.second_chance_bytes", "2K"}}});
    all.push_back({"reclustered", "braid", {{"compaction.recluster_share", "0.01"}}});
    all.push_back({"pointer", "braid", {{"compaction.persistence", "pointer"}}});
    all.push_back(
        {"pointer2", "braid", {{"compaction.persistence", "pointer"}, {"pool.regions", "2"}}});
    return all;
  }();
  return kinds;
}

/// One of them.
inline const StoreKind& KindNamed(const std::string& name) {
  for (const StoreKind& kind : StoreKinds()) {
    if (kind.name == name) return kind;
  }
  std::fprintf(stderr, "no store is called %s\n", name.c_str());
  std::abort();
}

}  // namespace braid::test
