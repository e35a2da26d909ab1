// Purpose: reads lists that lie apart, one behind the other: all entries in their order.
// Thread safety: one thread; the lists don't change, and the caller keeps their chunks.
// Invariants:
//   1. What is read is in order; a circle, or anything out of order, ends the walk as damage.
// Persistence: none.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "index/list_walk.h"
#include "level/pmem_table.h"

namespace braid::merge {

class ListSource {
 public:
  using Lists = std::vector<std::shared_ptr<level::PmemTable>>;

  /// `lists`: in the order of their keys.
  ListSource(const pool::PmemPool* pool, Lists lists) : pool_(pool), lists_(std::move(lists)) {}
  ListSource(const ListSource&) = delete;
  ListSource& operator=(const ListSource&) = delete;

  /// To the first entry of the first key that is not less than `key`. Corruption.
  Status Seek(std::string_view key);
  /// To the entry behind it. Corruption.
  Status Next();
  /// Null at the end.
  const format::EntryHeader* entry() const noexcept { return entry_; }
  /// Of the list that entry() is in.
  size_t list() const noexcept { return list_; }

 private:
  Status Open(size_t list, std::string_view key);
  Status Read();

  const pool::PmemPool* pool_;
  Lists lists_;
  size_t list_ = 0;
  std::optional<index::ListWalk> walk_;
  const std::vector<const format::EntryHeader*>* round_ = nullptr;  // the walk's
  size_t at_ = 0;                                                   // in the round
  index::Damage damage_;
  const format::EntryHeader* entry_ = nullptr;
};

}  // namespace braid::merge
