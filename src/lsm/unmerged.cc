// Purpose: what is not merged yet.
// Thread safety, persistence: see unmerged.h.
#include "lsm/unmerged.h"

#include <memory>

#include "base/epoch.h"

namespace braid::lsm {

namespace {

bool Overlaps(const index::SortedRun& run, std::optional<Slice> begin, std::optional<Slice> end) {
  const std::unique_ptr<index::Cursor> cursor = run.NewCursor(index::ReadView{});
  begin ? cursor->SeekGE(*begin) : cursor->SeekToFirst();
  // Damage is for the merge to report.
  return cursor->Valid() ? !end || cursor->item().key < *end : !cursor->status().ok();
}

}  // namespace

bool MemTableHasKeys(level::VersionSet* versions, std::optional<Slice> begin,
                     std::optional<Slice> end) {
  const std::shared_ptr<const level::ReadState> state = versions->Lock().Keep();
  const base::EpochGuard guard;
  return Overlaps(*state->active, begin, end);
}

uint64_t NewestTableWithKeys(level::VersionSet* versions, std::optional<Slice> begin,
                             std::optional<Slice> end) {
  const std::shared_ptr<const level::ReadState> state = versions->Lock().Keep();
  const base::EpochGuard guard;
  for (const auto& table : state->immutables) {
    if (Overlaps(*table, begin, end)) return table->id();
  }
  for (const auto& table : state->version->l0()) {
    if (Overlaps(*table, begin, end)) return table->id();
  }
  return 0;
}

uint64_t EntriesToMerge(level::VersionSet* versions, uint64_t tables) {
  const auto locked = versions->Lock();
  uint64_t entries = 0;
  for (const auto& table : locked.state().immutables) {
    if (table->id() <= tables) entries += table->entries();
  }
  for (const auto& table : locked.state().version->l0()) {
    if (table->id() <= tables) entries += table->entries();
  }
  return entries;
}

}  // namespace braid::lsm
