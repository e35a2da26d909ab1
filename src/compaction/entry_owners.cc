// Purpose: finding the lists of an entry.
// Thread safety, invariant, persistence: see entry_owners.h.
#include "compaction/entry_owners.h"

#include <algorithm>

#include "base/check.h"
#include "log/log_reader.h"
#include "merge/list_source.h"

namespace braid::compaction {

using format::EntryHeader;

EntryOwners::List EntryOwners::OwnerOf(uint64_t offset) const {
  const EntryHeader& entry = *log::Verified(pool_, offset);
  const index::LookupKey key{entry.key(), base::Hash64(entry.key())};
  for (size_t level = 1; level < version_->levels.size(); ++level) {
    for (const auto& table : version_->levels[level]) {
      List list = level::ListOf(table);
      const level::KeyRange range = list->range();
      if (!range.is_known || key.key < range.first || range.last < key.key) continue;
      const index::LookupResult result = list->Get(key, {.sequence = entry.sequence()});
      if (!result.has_version() || result.sequence != entry.sequence()) continue;
      const EntryHeader* const node = pool_.EntryAt(result.value.offset());
      const bool refers = node != nullptr && pool_.CarrierOf(*node) == offset;
      if (result.value.offset() == offset || refers) return list;
    }
  }
  return nullptr;
}

bool EntryOwners::AddOwners(uint64_t chunk, Lists* owners) const {
  BRAID_DCHECK(chunk < pool_.chunks());
  bool all = true;
  log::ForEachEntry(pool_, chunk, [&](uint64_t offset, const EntryHeader& entry) {
    if (!entry.is_kept() || !all) return;
    // An extent names its owner, and damage must not get new checks.
    all = !entry.has(format::kValueInExtent) && log::EntryVerifies(pool_, offset);
    const List owner = all ? OwnerOf(offset) : nullptr;
    all = owner != nullptr;
    if (all) owners->emplace(owner->id(), owner);
  });
  return all;
}

uint64_t HiddenEntries::NewestAbove(uint32_t level, std::string_view key) const {
  BRAID_DCHECK(level > 0 && (level == 1 || level < version_->levels.size()));
  const index::LookupKey sought{key, base::Hash64(key)};
  uint64_t newest = 0;
  const auto ask = [&](const index::LookupResult& found) {
    if (!found.has_version()) return;
    const uint64_t offset = found.value.offset();
    const EntryHeader* const entry = pool_.EntryAt(offset);
    const bool is_intact =
        entry != nullptr && index::KeyIsIntact(pool_, *entry, offset, sought.hash);
    if (is_intact) newest = std::max<uint64_t>(newest, found.sequence);  // invariant 1
  };
  for (const List& table : l0_) ask(table->Get(sought, index::ReadView{}));
  for (uint32_t upper = 1; upper < level; ++upper) {
    if (upper < version_->runs.size() && version_->runs[upper] != nullptr) {
      ask(version_->runs[upper]->Get(sought, index::ReadView{}));
      continue;
    }
    for (const auto& table : version_->levels[upper]) ask(table->Get(sought, index::ReadView{}));
  }
  return newest == 0 ? ~0ull : newest;
}

Result<HiddenEntries::Counts> HiddenEntries::Count(const List& list,
                                                   const index::LiveViews& views) const {
  Counts counts;
  std::string_view key;
  uint64_t newer = ~0ull;
  merge::ListSource source(&pool_, {list});
  Status s = source.Seek({});
  for (; s.ok() && source.entry() != nullptr; s = source.Next()) {
    const EntryHeader& entry = *source.entry();
    if (counts.kept + counts.hidden == 0 || entry.key() != key) {
      key = entry.key();
      // It may be the same version: a part of L0 that is in L1 already.
      const uint64_t above = NewestAbove(list->level(), key);
      newer = above > entry.sequence() ? above : ~0ull;
    }
    BRAID_DCHECK(newer > entry.sequence() || pool_.failed());
    ++(index::IsVersionNeeded(views, entry.sequence(), newer) ? counts.kept : counts.hidden);
    newer = entry.sequence();
  }
  if (!s.ok()) return s;
  return counts;
}

bool MayBeBelow(const level::Version& version, const tier::Tier* tier, uint32_t level,
                std::string_view first, std::string_view last) {
  for (size_t below = level + 1; below < version.levels.size(); ++below) {
    if (below < version.runs.size() && version.runs[below] != nullptr) {
      if (version.runs[below]->Meets(first, last)) return true;
      continue;
    }
    for (const auto& table : version.levels[below]) {
      if (table->entries() == 0) continue;
      level::PmemTable& list = *table->AsList();
      const level::KeyRange range = list.range();
      // One from before there were runs may have been cut off by damage.
      if (!range.is_known || (range.first <= last && first <= range.last)) return true;
    }
  }
  return first == last && tier != nullptr && tier->store().MayHold(first);
}

}  // namespace braid::compaction
