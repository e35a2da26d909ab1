// Purpose: finding the lists of an entry.
// Thread safety, invariant, persistence: see entry_owners.h.
#include "compaction/entry_owners.h"

#include <algorithm>

#include "base/check.h"
#include "log/log_reader.h"

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

EntryOwners::Emptying EntryOwners::Choose(const std::vector<uint64_t>& sparse,
                                          const pool::ChunkUsage& usage, uint64_t most_bytes,
                                          std::vector<uint64_t>* unmovable) const {
  BRAID_DCHECK(!version_->levels.empty());
  uint64_t entries = 0;
  for (size_t level = 1; level < version_->levels.size(); ++level) {
    for (const auto& table : version_->levels[level]) entries += table->entries();
  }
  // What lives is nodes, and values, which are no smaller.
  const uint64_t node_bytes = entries == 0 ? 0 : usage.KnownLive() / entries / 2;
  Emptying chosen;
  uint64_t moved = 0;
  for (const uint64_t chunk : sparse) {
    if (chosen.chunks.size() == kMostEmptied) break;
    Lists owners = chosen.owners;
    if (!AddOwners(chunk, &owners)) {
      unmovable->push_back(chunk);
      continue;
    }
    uint64_t bytes = moved + static_cast<uint64_t>(std::max<int64_t>(usage.Live(chunk), 0));
    uint64_t nodes = 0;
    for (const auto& [id, list] : owners) nodes += list->entries();
    if (!chosen.chunks.empty() && bytes + nodes * node_bytes > most_bytes) break;
    moved = bytes;
    chosen.owners = std::move(owners);
    chosen.chunks.insert(chunk);
  }
  return chosen;
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

HiddenEntries::Above::Above(const HiddenEntries& hidden, uint32_t level) : pool_(hidden.pool_) {
  BRAID_DCHECK(level > 0 && level < hidden.version_->levels.size());
  const auto add = [this](std::vector<List> lists) {
    sources_.push_back(std::make_unique<merge::ListSource>(&pool_, std::move(lists)));
  };
  for (const List& table : hidden.l0_) add({table});
  for (uint32_t upper = 1; upper < level; ++upper) {
    std::vector<List> lists;
    for (const auto& table : hidden.version_->levels[upper]) {
      if (table->entries() != 0) lists.push_back(level::ListOf(table));
    }
    add(std::move(lists));
  }
}

uint64_t HiddenEntries::Above::Newest(std::string_view key) {
  const bool opens = !std::exchange(is_open_, true);
  uint64_t newest = 0;
  std::erase_if(sources_, [&](const std::unique_ptr<merge::ListSource>& source) {
    Status s = opens ? source->Seek(key) : Status::OK();
    while (s.ok() && source->entry() != nullptr && source->entry()->key() < key) s = source->Next();
    if (!s.ok() || source->entry() == nullptr) return true;
    const EntryHeader& entry = *source->entry();
    const bool hides =
        entry.key() == key && index::KeyIsIntact(pool_, entry, pool_.OffsetOf(&entry),
                                                 base::Hash64(key));  // invariant 1
    if (hides) newest = std::max(newest, entry.sequence());
    return false;
  });
  return newest == 0 ? ~0ull : newest;
}

Result<HiddenEntries::Counts> HiddenEntries::Count(const List& list, const index::LiveViews& views,
                                                   Above* above) const {
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
      const uint64_t newest = above->Newest(key);
      newer = newest > entry.sequence() ? newest : ~0ull;
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
  return first == last && tier != nullptr && tier->MayHold(first);
}

}  // namespace braid::compaction
