// Purpose: the set of tables at one moment, newest first. Immutable; a change makes a new one.
// Thread safety: immutable; shared by pointer. Persistence: its image is the manifest.
#pragma once

#include <memory>
#include <vector>

#include "level/pmem_table.h"

namespace braid::level {

struct Version {
  std::vector<std::shared_ptr<PmemTable>> l0;  // newest first
  std::shared_ptr<PmemTable> l1;
};

}  // namespace braid::level
