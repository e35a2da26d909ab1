// Purpose: everything that a read or write looks at, newest first, as one immutable object that is
// replaced as a whole.
// Thread safety: immutable, shared by pointer; the current one is read inside an EpochGuard.
// Invariants:
//   1. Runs() are the memtables and the tables of all levels, newest first, as they stand in the
//      fields; of a level that is a run, all of its lists as one.
// Persistence: none.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "level/version.h"
#include "memtable/mem_table.h"

namespace braid::level {

using memtable::MemTable;

struct ReadState : std::enable_shared_from_this<ReadState> {
  std::shared_ptr<memtable::MemTable> active;
  std::vector<std::shared_ptr<memtable::MemTable>> immutables;  // newest first
  std::shared_ptr<const level::Version> version;

  /// What of all this is looked at, in this order: what is not flushed yet, and what is.
  std::span<const index::SortedRun* const> memtables() const noexcept {
    return {runs_.data(), tables_from_};
  }
  std::span<const index::SortedRun* const> tables() const noexcept {
    return std::span(runs_).subspan(tables_from_);
  }
  std::span<const index::SortedRun* const> runs() const noexcept { return runs_; }

  /// After each change of the above. Throws std::bad_alloc.
  void ListRuns() {
    BRAID_DCHECK(active != nullptr && version != nullptr);
    // Newest first, or a read would stop at an older version.
    BRAID_DCHECK(std::is_sorted(immutables.begin(), immutables.end(),
                                [](const auto& a, const auto& b) { return a->id() > b->id(); }));
    BRAID_DCHECK(immutables.empty() || immutables.front()->id() < active->id());
    runs_.clear();
    runs_.push_back(active.get());
    for (const auto& memtable : immutables) runs_.push_back(memtable.get());
    tables_from_ = runs_.size();
    for (size_t i = 0; i < version->levels.size(); ++i) {
      if (i < version->runs.size() && version->runs[i] != nullptr) {
        runs_.push_back(version->runs[i].get());
        continue;
      }
      for (const auto& table : version->levels[i]) runs_.push_back(table.get());
    }
  }

 private:
  std::vector<const index::SortedRun*> runs_;
  size_t tables_from_ = 0;
};

}  // namespace braid::level
