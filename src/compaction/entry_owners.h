// Purpose: what lists of a moment have to do with an entry: which one holds it or refers to it, and
// whether lists above hide it.
// Thread safety: the compaction thread; the lists don't change.
// Invariants:
//   1. Nothing is hidden by an entry that came of damage, nor a version by itself.
// Persistence: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "index/retention.h"
#include "level/version.h"
#include "tier/tier.h"

namespace braid::compaction {

class EntryOwners {
 public:
  using List = std::shared_ptr<level::PmemTable>;
  /// By their ids.
  using Lists = std::map<uint64_t, List>;

  /// Of lists below L0.
  EntryOwners(const pool::PmemPool* pool, std::shared_ptr<const level::Version> version)
      : pool_(*pool), version_(std::move(version)) {}

  /// The list that holds the entry at `offset`, or a node that refers to it; null: none does. Cost:
  /// a search in each list that may have its key.
  List OwnerOf(uint64_t offset) const;
  /// Adds the lists of all that lives in the chunk. False: it can't be emptied by rewriting them.
  bool AddOwners(uint64_t chunk, Lists* owners) const;
  static std::vector<List> InOrder(const Lists& owners) {
    std::vector<List> lists;
    lists.reserve(owners.size());
    for (const auto& [id, list] : owners) lists.push_back(list);
    return lists;
  }

 private:
  const pool::PmemPool& pool_;
  const std::shared_ptr<const level::Version> version_;
};

class HiddenEntries {
 public:
  using List = EntryOwners::List;

  /// By tables of L0 in `l0`, and the levels of the version below it; none is asked for L1.
  HiddenEntries(const pool::PmemPool* pool, std::shared_ptr<const level::Version> version,
                std::vector<List> l0)
      : pool_(*pool), version_(std::move(version)), l0_(std::move(l0)) {}

  /// The number of the newest version of `key` in levels above this one, ~0: there is none. Cost: a
  /// search a level and table of L0.
  uint64_t NewestAbove(uint32_t level, std::string_view key) const;
  struct Counts {
    uint64_t kept = 0;
    uint64_t hidden = 0;
  };
  /// How many entries of a list newer ones, above or in it, hide from all `views`. Cost: reads it.
  Result<Counts> Count(const List& list, const index::LiveViews& views) const;

 private:
  const pool::PmemPool& pool_;
  const std::shared_ptr<const level::Version> version_;
  const std::vector<List> l0_;
};

/// Whether something below a level may have a key in [first, last]; of a single key the tier, which
/// may be null, is asked as well.
bool MayBeBelow(const level::Version& version, const tier::Tier* tier, uint32_t level,
                std::string_view first, std::string_view last);

}  // namespace braid::compaction
