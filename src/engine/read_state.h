// Purpose: all that a read or write looks at, newest first, as one immutable object that is swapped
// as a whole. Thread safety: immutable, shared by pointer; the current one is read inside an
// EpochGuard. Persistence: none.
#pragma once

#include <memory>
#include <vector>

#include "level/version.h"
#include "memtable/mem_table.h"

namespace braid::engine {

using memtable::MemTable;

struct ReadState : std::enable_shared_from_this<ReadState> {
  std::shared_ptr<MemTable> active;
  std::vector<std::shared_ptr<MemTable>> immutables;  // newest first
  std::shared_ptr<const level::Version> version;
};

}  // namespace braid::engine
