// Purpose: looking for newer versions of what the oldest table holds.
// Thread safety, persistence: see overwrites.h.
#include "compaction/overwrites.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/epoch.h"
#include "index/tree_merge.h"

namespace braid::compaction {

namespace {

/// Keys that stand for a table, so many from either end.
constexpr size_t kFromEachEnd = 16;
constexpr size_t kSampled = 2 * kFromEachEnd;
/// As NewerVersions asks: of fewer than one key in so many not all are looked for.
constexpr size_t kManyOf = 4;
/// L1 may have so many times the entries of a table that waits: in larger ones a table meets few
/// keys of the next ones.
constexpr uint64_t kTimesL1 = 4;
/// Each table that came while one waited overwrites one in so many of its keys, at least.
constexpr size_t kProgress = 6;
/// Refs looked at in one read section, so that nobody waits long for its end.
constexpr size_t kRefsAtATime = 192;
/// Trees that are merged to learn whether a table is obsolete.
constexpr size_t kMostSources = 16;
static_assert(kMostSources <= kRefsAtATime, "the versions of a key are given out together");
/// A pool that can't grow keeps one of so many chunks free.
constexpr uint64_t kFreePart = 4;
constexpr uint64_t kWritingNanos = 50'000'000;
constexpr uint64_t kReadingNanos = 500'000'000;

/// Of the tables of L0 that are newer than this one, where DRAM can tell what they hold. Not of
/// those that were loaded: reads may have begun before.
std::vector<std::weak_ptr<const index::EntryIndex>> IndexesNewerThan(const level::ReadState& state,
                                                                     uint64_t table_id) {
  std::vector<std::weak_ptr<const index::EntryIndex>> indexes;
  for (const std::shared_ptr<level::Table>& table : state.version->l0()) {
    if (table->id() <= table_id) break;
    const std::shared_ptr<level::PmemTable> list = level::ListOf(table);
    if (!list->is_load() && list->tree_min_height() == 1) indexes.emplace_back(list->tree());
  }
  return indexes;
}

/// The tree over all keys of the table, or null.
std::shared_ptr<const index::EntryIndex> WholeTree(const level::PmemTable& table) {
  return table.tree_min_height() == 1 ? table.tree() : nullptr;
}

size_t CountFound(const std::vector<uint64_t>& sequences) {
  const auto missing = std::count(sequences.begin(), sequences.end(), index::kLatest);
  return sequences.size() - static_cast<size_t>(missing);
}

/// The refs of a tree, in the order of their keys.
class RefWalk {
 public:
  RefWalk(const pool::PmemPool* pool, const index::EntryIndex* tree) : pool_(*pool), tree_(*tree) {}
  /// The next one; 0 at the end. Inside an EpochGuard.
  uint64_t Next() {
    if (at_ == count_) {
      count_ = count_ == 0 ? tree_.ScanFromStart(refs_.data(), refs_.size())
                           : tree_.ScanForward(pool_.KeyAt(refs_[count_ - 1]), false, refs_.data(),
                                               refs_.size());
      at_ = 0;
    }
    BRAID_DCHECK(count_ == 0 || at_ < count_);
    return count_ == 0 ? 0 : refs_[at_++];
  }

 private:
  const pool::PmemPool& pool_;
  const index::EntryIndex& tree_;
  std::array<uint64_t, kRefsAtATime> refs_;
  size_t at_ = 0;
  size_t count_ = 0;
};

/// Whether the others have all keys of the first. Reads hardly any entry: the trees know their
/// keys.
bool IsCovered(const pool::PmemPool& pool, std::vector<index::TreeSource> sources) {
  const std::shared_ptr<const index::EntryIndex> first = sources.front().tree;
  RefWalk walk(&pool, first.get());
  index::TreeMerge merge(&pool, std::move(sources));
  std::array<uint64_t, kRefsAtATime> refs;
  uint64_t next = 0;      // of the first tree
  bool is_alone = false;  // what came last is a key of the first, and no other has shown it yet
  for (bool begun = false;; begun = true) {
    const base::EpochGuard guard;
    if (!begun) next = walk.Next();
    const size_t count = begun ? merge.Next(refs.data(), refs.size())
                               : merge.Seek({true, true, true, {}}, refs.data(), refs.size());
    BRAID_DCHECK(count <= refs.size());
    if (count == 0) return merge.status().ok() && next == 0 && !is_alone;
    for (size_t i = 0; i < count; ++i) {
      if ((refs[i] & index::TreeMerge::kOlder) != 0) {
        is_alone = false;
        continue;
      }
      if (is_alone) return false;
      is_alone = refs[i] == next;
      if (is_alone) next = walk.Next();
    }
  }
}

}  // namespace

/// Some keys of a table; valid as long as it.
struct Overwrites::Sample {
  Sample(const pool::PmemPool& pool, const index::EntryIndex& tree) {
    std::array<uint64_t, kSampled> refs;
    const base::EpochGuard guard;
    count = tree.ScanFromStart(refs.data(), kFromEachEnd);
    count += tree.ScanFromEnd(refs.data() + count, kFromEachEnd);
    BRAID_DCHECK(count <= kSampled);
    for (size_t i = 0; i < count; ++i) keys[i] = pool.KeyAt(refs[i]);
  }
  /// How many of them newer tables have.
  size_t CountNewer(const pool::PmemPool& pool, const level::ReadState& state,
                    uint64_t table_id) const {
    index::NewerVersions newer(&pool, [&] {
      return index::NewerVersions::Horizon{IndexesNewerThan(state, table_id), {}};
    });
    std::vector<uint64_t> sequences;
    newer.Find({keys.data(), count}, &sequences);
    return CountFound(sequences);
  }
  size_t CountIn(const index::EntryIndex& tree) const {
    std::array<uint64_t, kSampled> refs;
    const base::EpochGuard guard;
    tree.FindMany(keys.data(), refs.data(), count);
    return count - static_cast<size_t>(std::count(refs.begin(), refs.begin() + count, 0u));
  }

  std::array<std::string_view, kSampled> keys;
  size_t count = 0;
};

index::NewerVersions::Horizon Overwrites::NewerThan(uint64_t table_id) const {
  index::NewerVersions::Horizon horizon;
  horizon.tables = IndexesNewerThan(*store_.versions->Lock().Keep(), table_id);
  // Behind the tables: a view that is registered later sees the newest entries of them.
  horizon.views = store_.views->Collect();
  return horizon;
}

bool Overwrites::IsOverwritten(const level::ReadState& state, const level::PmemTable& table) const {
  const std::shared_ptr<const index::EntryIndex> tree = WholeTree(table);
  if (tree == nullptr) return true;
  const Sample sample(*store_.pool, *tree);
  return sample.CountNewer(*store_.pool, state, table.id()) * kManyOf >= sample.count;
}

bool Overwrites::IsObsolete(const level::ReadState& state) const {
  const level::Level& l0 = state.version->l0();
  if (l0.size() < 2) return false;
  const std::shared_ptr<level::PmemTable> table = level::ListOf(l0.back());
  const std::shared_ptr<const index::EntryIndex> tree = WholeTree(*table);
  if (tree == nullptr || !tree->knows_keys() || table->is_load()) return false;
  // The table in front, as if it were the newest: what comes behind one of its keys, as an older
  // version, is a newer one.
  std::vector<index::TreeSource> sources{{tree, nullptr, table->entries()}};
  uint64_t newest = 0;
  for (const auto& other : l0) {
    const std::shared_ptr<level::PmemTable> newer = level::ListOf(other);
    if (newer == table) continue;
    BRAID_DCHECK(newer->id() > table->id());
    const auto its_tree = newer->is_load() ? nullptr : WholeTree(*newer);
    if (its_tree == nullptr || !its_tree->knows_keys()) continue;
    newest = std::max(newest, newer->max_sequence());
    sources.push_back({its_tree, nullptr, newer->entries()});
  }
  if (sources.size() < 2 || sources.size() > kMostSources) return false;
  // Behind the tables: a view that is registered later sees the newest entries of them.
  const index::LiveViews views = store_.views->Collect();
  if (!views.empty() && views.front() < newest) return false;
  return IsCovered(*store_.pool, std::move(sources));
}

/// Whether writes have come lately, and no reads.
bool Overwrites::SomebodyWritesAlone() {
  const uint64_t now = NowNanos();
  const uint64_t sequence = store_.sequence->load();
  if (sequence != std::exchange(sequence_, sequence)) written_at_ = now;
  const uint64_t reads = store_.reads ? store_.reads() : 0;
  if (reads != std::exchange(reads_, reads)) read_at_ = now;
  return now - written_at_ < kWritingNanos && (reads == 0 || now - read_at_ >= kReadingNanos);
}

bool Overwrites::IsShortOfSpace() const {
  const pool::PmemPool& pool = *store_.pool;
  const bool may_grow = pool.max_bytes() == 0 || pool.pool_bytes() < pool.max_bytes();
  return !may_grow && pool.free_chunks() < pool.chunks() / kFreePart;
}

bool Overwrites::IsWorthWaiting(const level::ReadState& state) {
  const bool writes_alone = SomebodyWritesAlone();
  const level::Level& l0 = state.version->l0();
  if (!writes_alone || l0.empty() || l0.size() >= kMostWaiting || IsShortOfSpace()) return false;
  if (!store_.options->background_threads || state.version->levels.size() != 2) return false;
  if (*store_.options->compaction.kind != MergeKind::kZipper) return false;
  const std::shared_ptr<level::PmemTable> oldest = level::ListOf(l0.back());
  const level::PmemTable& l1 = state.version->bottom();
  const auto tree = WholeTree(*oldest);
  const auto tree_of_l1 = WholeTree(l1);
  if (tree == nullptr || tree_of_l1 == nullptr) return false;
  if (kTimesL1 * oldest->entries() < l1.entries()) return false;
  const Sample sample(*store_.pool, *tree);
  const size_t newer = sample.CountNewer(*store_.pool, state, oldest->id());
  if (newer == sample.count) return false;  // it is obsolete, or nearly
  if (newer * kProgress < sample.count * (l0.size() - 1)) return false;
  // New keys are to be merged in any case.
  return 2 * std::max(newer, sample.CountIn(*tree_of_l1)) >= sample.count;
}

}  // namespace braid::compaction
