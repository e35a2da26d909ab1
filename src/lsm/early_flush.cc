// Purpose: when a memtable that is not full is flushed.
// Thread safety, persistence: see early_flush.h.
#include "lsm/early_flush.h"

#include "base/epoch.h"

namespace braid::lsm {

namespace {

/// Of a memtable, and of the entries of all tables: what a table of its own costs in merges is
/// little from here on.
constexpr uint64_t kPart = 16;
/// Whatever the size of memtables.
constexpr uint64_t kLeastBytes = 1 << 20;
/// So many times its keys were passed: what iterators have waited for is about what the flush
/// takes.
constexpr uint64_t kTimesPassed = 2;
/// A table of L0 that is being merged.
constexpr size_t kMostTables = 1;

}  // namespace

bool IsEarlyFlushDue(const Options& options, const level::ReadState& state, bool is_quiet) {
  if (options.log.kind != LogKind::kBySize) return false;
  const memtable::MemTable& active = *state.active;
  if (active.bytes() < kLeastBytes || active.bytes() < options.memtable.bytes / kPart) return false;
  if (!active.flush_source().is_copied) return false;
  if (!is_quiet && active.passed() < kTimesPassed * active.entries()) return false;
  if (!state.immutables.empty() || state.version->l0().size() > kMostTables) return false;
  uint64_t flushed = 0;
  for (const index::SortedRun* table : state.tables()) flushed += table->entries();
  return active.entries() >= flushed / kPart;
}

const memtable::MemTable* MemTableToFlushEarly(const LsmStore& store, bool is_quiet) {
  if (store.errors.blocked() || store.errors.ended()) return nullptr;
  const base::EpochGuard guard;
  const level::ReadState& state = store.versions.shown();
  return IsEarlyFlushDue(store.options, state, is_quiet) ? state.active.get() : nullptr;
}

}  // namespace braid::lsm
