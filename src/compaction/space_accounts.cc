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
/// What is asked for ahead of an entry.
constexpr uint64_t kEntryFront = 64;
/// Chunks counted between two looks for a merge that waits.
constexpr size_t kCountSlice = 8;
}  // namespace

ChunkSurvey SpaceAccounts::Survey(double live_ratio) const {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  return SurveyChunks(pool_, *store_.usage, versions.record(), live_ratio);
}

/// The hashes of the keys of a round's entries, whose buckets of the lookup cache are asked for one
/// behind the other: a count is a locked instruction, and with one between them they are not
/// fetched side by side.
template <class OffsetAt>
SpaceAccounts::Round SpaceAccounts::AskBuckets(const OffsetAt& offset_at, size_t begin,
                                               size_t end) const {
  Round hashes{};
  if (store_.lookup_cache == nullptr) return hashes;
  for (size_t i = begin; i < end; ++i) {
    const format::EntryHeader* entry = pool_.EntryAt(offset_at(i));
    if (entry != nullptr) hashes[i - begin] = base::Hash64(entry->key());
  }
  for (size_t i = begin; i < end; ++i) store_.lookup_cache->Prefetch(hashes[i - begin]);
  return hashes;
}

template <class OffsetAt>
void SpaceAccounts::AskEntries(const OffsetAt& offset_at, size_t begin, size_t end) const {
  for (size_t i = begin; i < end; ++i) {
    base::PrefetchRange(pool_.At(offset_at(i)), kEntryFront);
  }
}

/// The entries of the next round but one, the buckets of the next round, and the counts of one.
template <class OffsetAt, class Take>
void SpaceAccounts::InRounds(size_t count, const OffsetAt& offset_at, const Take& take) const {
  const auto up_to = [count](size_t end) { return std::min(count, end); };
  AskEntries(offset_at, 0, up_to(2 * kRound));
  Round next = AskBuckets(offset_at, 0, up_to(kRound));
  for (size_t begin = 0; begin < count; begin += kRound) {
    const Round hashes = next;
    AskEntries(offset_at, up_to(begin + 2 * kRound), up_to(begin + 3 * kRound));
    next = AskBuckets(offset_at, up_to(begin + kRound), up_to(begin + 2 * kRound));
    for (size_t i = begin; i < up_to(begin + kRound); ++i) {
      const format::EntryHeader* entry = pool_.EntryAt(offset_at(i));
      if (entry != nullptr) take(i, *entry, hashes[i - begin]);
    }
  }
}

void SpaceAccounts::Died(const std::vector<uint64_t>& entries) {
  space::Retired retired;
  const auto offset_at = [&](size_t i) { return entries[i]; };
  InRounds(entries.size(), offset_at,
           [&](size_t i, const format::EntryHeader& entry, uint64_t hash) {
             if (store_.lookup_cache != nullptr) TakeFromLookupCache(entry, hash, entries[i]);
             Uncount(entry, entries[i], &retired);
           });
  if (!retired.extents.empty()) store_.reclaimer->Retire(std::move(retired));
}

void SpaceAccounts::DiedHidden(const std::vector<uint64_t>& entries) {
  constexpr size_t kAhead = 2 * kRound;
  space::Retired retired;
  const auto offset_at = [&](size_t i) { return entries[i]; };
  AskEntries(offset_at, 0, std::min(kAhead, entries.size()));
  for (size_t i = 0; i < entries.size(); ++i) {
    AskEntries(offset_at, std::min(i + kAhead, entries.size()),
               std::min(i + kAhead + 1, entries.size()));
    const format::EntryHeader* entry = pool_.EntryAt(entries[i]);
    if (entry == nullptr) continue;
    // What flushes have filled since (lookup_cache.h, invariant 1).
    BRAID_DCHECK(store_.lookup_cache == nullptr ||
                 !store_.lookup_cache->Names(base::Hash64(entry->key()), entries[i]));
    Uncount(*entry, entries[i], &retired);
  }
  if (!retired.extents.empty()) store_.reclaimer->Retire(std::move(retired));
}

void SpaceAccounts::Uncount(const format::EntryHeader& entry, uint64_t offset,
                            space::Retired* retired) {
  store_.usage->Remove(pool_.ChunkOf(offset), entry.size());
  if (const uint64_t extent = pool_.ExtentOf(offset); extent != 0) {
    retired->extents.push_back(extent);
  }
}

/// In their buckets of the lookup cache, too.
void SpaceAccounts::Moved(const index::Replacement* moved, size_t count) {
  BRAID_DCHECK(moved != nullptr && count != 0);
  const auto offset_at = [&](size_t i) { return moved[i].from; };
  InRounds(count, offset_at, [&](size_t i, const format::EntryHeader& entry, uint64_t hash) {
    store_.usage->Remove(pool_.ChunkOf(moved[i].from), entry.size());
    if (store_.lookup_cache != nullptr) {
      store_.lookup_cache->Replace(hash, moved[i].from, moved[i].to);
    }
  });
}

void SpaceAccounts::LeftBehind(const std::vector<index::Replacement>& newest) {
  if (store_.lookup_cache != nullptr) {
    // Either has the key, and copies lie one behind the other. No bucket names what is hidden: a
    // newer version was flushed over it, or L1 was not filled from yet (lookup_cache.h, 1 and 6).
    const auto offset_at = [&](size_t i) {
      return newest[i].to != 0 ? newest[i].to : newest[i].from;
    };
    InRounds(newest.size(), offset_at, [&](size_t i, const format::EntryHeader&, uint64_t hash) {
      newest[i].to != 0 ? store_.lookup_cache->Replace(hash, newest[i].from, newest[i].to)
                        : store_.lookup_cache->Forget(hash, newest[i].from);
    });
  }
  format::LeftBehind left_behind;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    left_behind = versions.record().left_behind;
  }
  for (uint64_t chunk = 0; chunk < pool_.chunks(); ++chunk) {
    const format::ChunkKind kind = pool_.StateOf(chunk).kind();
    if (kind != format::ChunkKind::kCopied && kind != format::ChunkKind::kCollected) continue;
    const Result<log::LogChunk> header = log::ReadLogChunk(pool_, chunk);
    if (header.ok() && left_behind.Has(kind, header->table_id)) store_.usage->Set(chunk, 0);
  }
  RetireEmptyChunks();
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

bool SpaceAccounts::AnyMerge() const {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  return versions.record().AnyMerge();
}

void SpaceAccounts::RetireEmptyChunks() {
  if (AnyMerge()) return;
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
    const bool any = pool_.write_ahead_chunks() != 0 && flushed != before;
    for (uint64_t chunk = 0; any && chunk < pool_.chunks(); ++chunk) {
      if (pool_.StateOf(chunk).kind() != format::ChunkKind::kWriteAhead) continue;
      Result<log::LogChunk> header = log::ReadLogChunk(pool_, chunk);
      if (!header.ok() || header->table_id <= before || header->table_id > flushed) continue;
      retired.chunks.push_back({chunk, pool_.StateOf(chunk).generation()});
    }
  }
  pool_.EndCopies(retired.chunks.size());
  if (!retired.chunks.empty()) store_.reclaimer->Retire(std::move(retired));
}

}  // namespace braid::compaction
