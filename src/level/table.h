// Purpose: a table of a level: a sorted run with an id and a record in the manifest. Lookups and
// iterators need no more; jobs that change tables ask for the kind that they can work on.
// Thread safety: any thread; see index/sorted_run.h.
// Persistence: each kind's own.
// Source: the tables of LevelDB and Pebble, of which a level is a list.
#pragma once

#include <cstdint>

#include "index/sorted_run.h"

namespace braid::level {

class PmemTable;

class Table : public index::SortedRun {
 public:
  /// No other table of the pool has it, now or later. Of level 0, newer tables have higher ones.
  uint64_t id() const noexcept { return id_; }
  /// No version in it has a higher one.
  virtual uint64_t max_sequence() const noexcept = 0;
  /// DRAM that its index takes, and that can be had back by giving the index up.
  virtual uint64_t index_bytes() const noexcept = 0;
  /// The same as a list of entries in persistent memory, which merges link; null: it is another
  /// kind.
  virtual PmemTable* AsList() noexcept = 0;

 protected:
  explicit Table(uint64_t id) noexcept : id_(id) {}

 private:
  const uint64_t id_;
};

}  // namespace braid::level
