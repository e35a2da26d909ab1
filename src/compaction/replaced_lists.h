// Purpose: lists in whose place others have come: takes them out of the way.
// Thread safety: the compaction thread.
// Invariants:
//   1. Of what was replaced, deletes are marked obsolete last.
//   2. A mark is made when the lists that hold what is needed are committed, and not before.
// Persistence: each such list is a table of originals in the manifest until all of it is marked.
// After a crash marking begins again, and comes to the same.
// Source: the reference counts of TLSM IV-C, in the place of which marks are.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compaction/space_accounts.h"
#include "level/version_set.h"

namespace braid::compaction {

class ReplacedLists {
 public:
  struct Store {
    bool verify_checksums;
    pool::PmemPool* pool;
    level::VersionSet* versions;
    SpaceAccounts* accounts;
  };

  explicit ReplacedLists(const Store& store) noexcept : store_(store), pool_(*store.pool) {}

  /// What a list becomes when others, on level `to`, hold what is needed of it; the caller commits.
  /// Readers find it in those. Throws std::bad_alloc.
  void Make(const level::VersionSet::Locked& versions,
            const std::shared_ptr<level::PmemTable>& list, uint32_t to);
  /// Takes what has been replaced out of the way. False when there is nothing. Cost: reads the
  /// lists, and those that have replaced them; a flush an entry. Errors end writes.
  Result<bool> Drop();

 private:
  Status Mark(const format::TableRecord& originals, const level::Version& version,
              std::vector<uint64_t>* dead, std::vector<uint64_t>* deletes);

  const Store store_;
  pool::PmemPool& pool_;
  std::vector<std::weak_ptr<level::PmemTable>> in_place_;  // whose heads readers look at
};

}  // namespace braid::compaction
