// Purpose: a level of several lists whose ranges of keys lie apart, read as one sorted run.
// Thread safety: immutable; see index/sorted_run.h.
// Invariants:
//   1. The lists stand in the order of their keys; each has a key, and its range is known.
// Persistence: none.
// Source: the concatenating iterators of LevelDB.
#pragma once

#include <memory>
#include <vector>

#include "level/pmem_table.h"

namespace braid::level {

class LevelRun final : public index::SortedRun {
 public:
  explicit LevelRun(const std::vector<std::shared_ptr<Table>>& tables);

  uint64_t entries() const noexcept override { return entries_; }
  index::LookupResult Get(const index::LookupKey& key,
                          const index::ReadView& view) const noexcept override;
  void GetMany(const index::LookupKey* keys, size_t n, const index::ReadView& view,
               index::LookupResult* out) const noexcept override;
  std::unique_ptr<index::Cursor> NewCursor(const index::ReadView& view) const override;
  /// Whether the range of a list has a key between these.
  bool Meets(std::string_view first, std::string_view last) const noexcept;

  struct Part {
    KeyRange range;
    std::shared_ptr<const PmemTable> table;
  };

 private:
  std::vector<Part> parts_;
  uint64_t entries_ = 0;
};

/// The place of the first of `parts` whose last key is not less than `key`; their number when there
/// is none.
size_t PartOf(const std::vector<LevelRun::Part>& parts, std::string_view key) noexcept;

}  // namespace braid::level
