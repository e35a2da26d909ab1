// Purpose: the range of keys that a DeleteRange under way keeps for itself. Thread safety: made and
// ended by the thread that deletes, read by writers under their shard lock, so that it may live on
// that thread's stack (delete_range.cc). Persistence: none.
#pragma once

#include <optional>

#include "braid/status.h"

namespace braid::engine {

struct KeyRange {
  Slice begin;
  std::optional<Slice> end;  // exclusive; none: to the last key

  bool Covers(Slice key) const noexcept { return key >= begin && (!end || key < *end); }
};

}  // namespace braid::engine
