// Purpose: counting what lives in chunks.
// Thread safety, invariants, persistence: see space_accounts.h.
#include "compaction/space_accounts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/epoch.h"
#include "base/prefetch.h"
#include "log/log_reader.h"

namespace braid::compaction {

namespace {
/// Entries that are counted side by side, and how much of each is asked for ahead.
constexpr size_t kRound = 16;
constexpr uint64_t kEntryFront = 64;
/// Chunks counted between two looks for a merge that waits.
constexpr size_t kCountSlice = 8;
}  // namespace

ChunkSurvey SpaceAccounts::Survey(double live_ratio) const {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  return SurveyChunks(pool_, *store_.usage, versions.record(), live_ratio);
}

/// In rounds: the entries of the next but one are asked for, then the buckets of the next one in
/// the lookup cache, then one is counted. Apart, since a count is a locked instruction: with one
/// between them buckets are not fetched side by side.
void SpaceAccounts::Died(const std::vector<uint64_t>& entries) {
  std::array<std::array<uint64_t, kRound>, 2> hashes{};
  const auto ask_buckets = [&](size_t begin) {
    if (store_.lookup_cache == nullptr) return;
    std::array<uint64_t, kRound>& of_round = hashes[begin / kRound % 2];
    for (size_t i = begin; i < std::min(begin + kRound, entries.size()); ++i) {
      const format::EntryHeader* entry = pool_.EntryAt(entries[i]);
      of_round[i - begin] = entry == nullptr ? 0 : base::Hash64(entry->key());
    }
    for (const uint64_t hash : of_round) store_.lookup_cache->Prefetch(hash);
  };
  AskFor(entries, 0);
  AskFor(entries, kRound);
  ask_buckets(0);
  space::Retired retired;
  for (size_t begin = 0; begin < entries.size(); begin += kRound) {
    AskFor(entries, begin + 2 * kRound);
    ask_buckets(begin + kRound);
    const std::array<uint64_t, kRound>& of_round = hashes[begin / kRound % 2];
    for (size_t i = begin; i < std::min(begin + kRound, entries.size()); ++i) {
      const uint64_t offset = entries[i];
      const format::EntryHeader* entry = pool_.EntryAt(offset);
      if (entry == nullptr) continue;
      if (store_.lookup_cache != nullptr) TakeFromLookupCache(*entry, of_round[i - begin], offset);
      store_.usage->Remove(pool_.ChunkOf(offset), entry->size());
      if (const uint64_t extent = pool_.ExtentOf(offset); extent != 0) {
        retired.extents.push_back(extent);
      }
    }
  }
  if (!retired.extents.empty()) store_.reclaimer->Retire(std::move(retired));
}

/// A round of them, as far as there are so many.
void SpaceAccounts::AskFor(const std::vector<uint64_t>& entries, size_t begin) const {
  for (size_t i = begin; i < std::min(begin + kRound, entries.size()); ++i) {
    base::PrefetchRange(pool_.At(entries[i]), kEntryFront);
  }
}

/// In their buckets of the lookup cache, too. In rounds, as above.
void SpaceAccounts::Moved(const index::Replacement* moved, size_t count) {
  BRAID_DCHECK(moved != nullptr && count != 0);
  std::array<uint64_t, kRound> hashes{};
  const auto ask = [&](size_t from) {
    for (size_t i = from; i < std::min(count, from + kRound); ++i) {
      base::PrefetchRange(pool_.At(moved[i].from), kEntryFront);
    }
  };
  ask(0);
  for (size_t begin = 0; begin < count; begin += kRound) {
    ask(begin + kRound);
    const size_t end = std::min(count, begin + kRound);
    for (size_t i = begin; i < end && store_.lookup_cache != nullptr; ++i) {
      const format::EntryHeader* entry = pool_.EntryAt(moved[i].from);
      hashes[i - begin] = entry == nullptr ? 0 : base::Hash64(entry->key());
    }
    if (store_.lookup_cache != nullptr) {
      for (const uint64_t hash : hashes) store_.lookup_cache->Prefetch(hash);
    }
    for (size_t i = begin; i < end; ++i) {
      const format::EntryHeader* entry = pool_.EntryAt(moved[i].from);
      if (entry == nullptr) continue;
      store_.usage->Remove(pool_.ChunkOf(moved[i].from), entry->size());
      if (store_.lookup_cache == nullptr) continue;
      store_.lookup_cache->Replace(hashes[i - begin], moved[i].from, moved[i].to);
    }
  }
}

/// `entry`, at `offset`, is obsolete. If it is the original of a copy, the copy takes its place.
void SpaceAccounts::TakeFromLookupCache(const format::EntryHeader& entry, uint64_t hash,
                                        uint64_t offset) {
  if (!store_.lookup_cache->Names(hash, offset)) return;
  const base::EpochGuard guard;
  const index::LookupResult found = store_.versions->shown().version->bottom().Get(
      index::LookupKey{entry.key(), hash}, index::ReadView{});
  if (found.has_version() && found.sequence == entry.sequence()) {
    store_.lookup_cache->Replace(hash, offset, found.value.offset());
  } else {
    store_.lookup_cache->Forget(hash, offset);
  }
}

void SpaceAccounts::RetireEmptyChunks() {
  ChunkSurvey survey = Survey(store_.options->compaction.gc_live_ratio);
  std::erase_if(survey.empty, [this](const pool::ChunkId& id) { return held_.contains(id.chunk); });
  // A retired chunk looks empty until it is free; its generation tells it from its next life.
  space::Retired retired;
  retired.chunks = WithoutRetiring(survey.empty, retiring_).chunks;
  if (!retired.chunks.empty()) store_.reclaimer->Retire(std::move(retired));
  retiring_ = std::move(survey.empty);
}

bool SpaceAccounts::CountStep() {
  ChunkSurvey survey = Survey(store_.options->compaction.gc_live_ratio);
  if (survey.unknown.empty()) return false;
  const size_t count = std::min(survey.unknown.size(), kCountSlice);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t chunk = survey.unknown[i];
    store_.usage->Set(chunk, static_cast<int64_t>(CountLiveBytes(pool_, chunk)));
  }
  RetireEmptyChunks();
  return true;
}

void SpaceAccounts::Fill(Statistics* statistics) const {
  space::LogLevels::Tables tables{};
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    tables.flushed_id = versions.record().flushed_table_id;
    tables.merged_id = versions.record().merged_table_id;
    for (const auto& table : versions.state().version->l0()) {
      if (table->id() > tables.flushed_id) tables.shown.push_back(table->id());
    }
  }
  // Before the chunks, of which some may be given back meanwhile.
  const uint64_t retired = store_.reclaimer->RetiredChunks();
  const std::unordered_set<uint64_t> extents = store_.reclaimer->RetiredExtents();
  space::AddUpChunks(
      pool_, *store_.usage,
      [&](uint64_t chunk, format::ChunkState state) { return levels_.Of(tables, chunk, state); },
      statistics);
  space::AddUpRetired(pool_, retired, extents, statistics);
}

void SpaceAccounts::RetireLogs() {
  space::Retired retired;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    const uint64_t flushed = versions.record().flushed_table_id;
    const uint64_t before = versions.logs_retired_to();
    versions.SetLogsRetiredTo(flushed);
    if (pool_.write_ahead_chunks() == 0 || flushed == before) return;
    for (uint64_t chunk = 0; chunk < pool_.chunks(); ++chunk) {
      if (pool_.StateOf(chunk).kind() != format::ChunkKind::kWriteAhead) continue;
      Result<log::LogChunk> header = log::ReadLogChunk(pool_, chunk);
      if (!header.ok() || header->table_id <= before || header->table_id > flushed) continue;
      retired.chunks.push_back({chunk, pool_.StateOf(chunk).generation()});
    }
  }
  if (!retired.chunks.empty()) store_.reclaimer->Retire(std::move(retired));
}

}  // namespace braid::compaction
