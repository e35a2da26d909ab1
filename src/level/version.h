// Purpose: the tables of all levels at one moment. Immutable; a change makes a new one.
// Thread safety: immutable; shared by pointer.
// Invariants:
//   1. Lookups go through the levels in order, and through the tables of a level in order: the
//      first that knows a key has its newest version.
//   2. There are two levels at least; memtables become tables of the first, and the last holds what
//      everything else is merged into. Each level but the first has a list that takes entries in;
//      behind it there may be one that is on its way into the next level. Or it is a run: one list
//      or more whose ranges lie apart, in the order of their keys, an empty one alone.
//   3. `runs` has what a level of several lists is read by, null for the others.
// Persistence: its image is the manifest.
// Source: Version of LevelDB.
#pragma once

#include <memory>
#include <vector>

#include "base/check.h"
#include "level/level_run.h"
#include "level/pmem_table.h"
#include "level/table.h"

namespace braid::level {

/// Newest first.
using Level = std::vector<std::shared_ptr<Table>>;

/// The list that the table is. Of jobs that were given lists.
inline std::shared_ptr<PmemTable> ListOf(const std::shared_ptr<Table>& table) {
  PmemTable* const list = table->AsList();
  BRAID_CHECK(list != nullptr);
  return {table, list};
}

struct Version {
  std::vector<Level> levels = std::vector<Level>(2);
  std::vector<std::shared_ptr<const LevelRun>> runs = {};  // a level

  /// After a change of `levels`. Throws std::bad_alloc.
  void ListRuns() {
    runs.assign(levels.size(), nullptr);
    for (size_t i = 1; i < levels.size(); ++i) {
      if (levels[i].size() > 1 && levels[i].front()->AsList()->is_of_run()) {
        runs[i] = std::make_shared<const LevelRun>(levels[i]);
      }
    }
  }

  /// What flushes add to.
  Level& l0() noexcept { return levels.front(); }
  const Level& l0() const noexcept { return levels.front(); }
  /// The list that a level below L0 takes entries in with.
  std::shared_ptr<PmemTable> KeepList(size_t level) const {
    BRAID_DCHECK(level > 0 && level < levels.size() && !levels[level].empty());
    return ListOf(levels[level].front());
  }
  /// The one table of the last level, a list.
  PmemTable& bottom() const noexcept {
    BRAID_DCHECK(levels.size() >= 2 && levels.back().size() == 1);  // invariant 2
    return *levels.back().front()->AsList();
  }
  std::shared_ptr<PmemTable> KeepBottom() const { return ListOf(levels.back().front()); }
};

}  // namespace braid::level
