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
#include <unordered_set>
#include <utility>
#include <vector>

#include "index/retention.h"
#include "level/version.h"
#include "merge/list_source.h"
#include "pool/chunk_usage.h"
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
  /// Chunks that are emptied together at most: a compromise between pauses and lists that are
  /// rewritten for each of them.
  static constexpr size_t kMostEmptied = 16;
  /// Chunks that are emptied together, and the lists that are rewritten for that.
  struct Emptying {
    std::unordered_set<uint64_t> chunks;
    Lists owners;
  };
  /// Of chunks that are sparse, the sparsest first, as many as about `most_bytes` have room for;
  /// one at least. `unmovable` takes those that were met and can't be emptied.
  Emptying Choose(const std::vector<uint64_t>& sparse, const pool::ChunkUsage& usage,
                  uint64_t most_bytes, std::vector<uint64_t>* unmovable) const;
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
  /// The same as NewestAbove of keys that ascend, except that a list with damage hides nothing from
  /// there on. Cost: reads the levels above once.
  class Above {
   public:
    Above(const HiddenEntries& hidden, uint32_t level);
    uint64_t Newest(std::string_view key);

   private:
    const pool::PmemPool& pool_;
    std::vector<std::unique_ptr<merge::ListSource>> sources_;  // that have not ended
    bool is_open_ = false;
  };
  /// How many entries of a list newer ones, above or in it, hide from all `views`. `above`: of its
  /// level; lists of a level come in the order of their keys. Cost: reads it, and what is above it.
  Result<Counts> Count(const List& list, const index::LiveViews& views, Above* above) const;

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
