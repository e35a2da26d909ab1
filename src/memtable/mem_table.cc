// Purpose: the life of a memtable.
// Thread safety, invariants, persistence: see mem_table.h.
#include "memtable/mem_table.h"

#include "base/check.h"

namespace braid::memtable {

void MemTable::Freeze() noexcept {
  Advance(State::kImmutable);
  is_frozen_.store(true);
}

void MemTable::Advance(State next) noexcept {
  const State before = state_.exchange(next, std::memory_order_acq_rel);
  BRAID_CHECK(static_cast<int>(next) == static_cast<int>(before) + 1);
  BRAID_CHECK(next == State::kImmutable || is_frozen());  // a flush must not miss a write
}

}  // namespace braid::memtable
