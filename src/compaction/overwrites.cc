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
/// Refs looked at in one read section, so that nobody waits long for its end.
constexpr size_t kRefsAtATime = 192;
/// Trees that are merged to learn whether a table is obsolete.
constexpr size_t kMostSources = 16;
static_assert(kMostSources <= kRefsAtATime, "the versions of a key are given out together");
/// A pool that can't grow keeps one of so many chunks free.
constexpr uint64_t kFreePart = 4;
constexpr uint64_t kWritingNanos = 50'000'000;
constexpr uint64_t kReadingNanos = 500'000'000;

/// Calls call(table, tree) for the tables of L0 that are newer than this one, newest first, where
/// DRAM can tell what they hold. Not for those that were loaded: reads may have begun before.
template <class Call>
void ForNewerThan(const level::ReadState& state, uint64_t table_id, Call&& call) {
  for (const std::shared_ptr<level::Table>& table : state.version->l0()) {
    if (table->id() <= table_id) break;
    const std::shared_ptr<level::PmemTable> list = level::ListOf(table);
    std::shared_ptr<const index::EntryIndex> tree = list->WholeTree();
    if (tree != nullptr && !list->is_load()) call(*list, std::move(tree));
  }
}

std::vector<std::weak_ptr<const index::EntryIndex>> IndexesNewerThan(const level::ReadState& state,
                                                                     uint64_t table_id) {
  std::vector<std::weak_ptr<const index::EntryIndex>> indexes;
  ForNewerThan(state, table_id,
               [&](const level::PmemTable&, auto tree) { indexes.emplace_back(tree); });
  return indexes;
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
/// keys. False when it was stopped.
bool IsCovered(const pool::PmemPool& pool, std::vector<index::TreeSource> sources,
               const std::atomic<bool>& stop) {
  const std::shared_ptr<const index::EntryIndex> first = sources.front().tree;
  RefWalk walk(&pool, first.get());
  index::TreeMerge merge(&pool, std::move(sources));
  std::array<uint64_t, kRefsAtATime> refs;
  uint64_t next = 0;      // of the first tree
  bool is_alone = false;  // what came last is a key of the first, and no other has shown it yet
  for (bool begun = false; !stop.load(); begun = true) {
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
  return false;
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
  std::vector<std::string> Strings() const { return {keys.begin(), keys.begin() + count}; }

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
  const std::shared_ptr<const index::EntryIndex> tree = table.WholeTree();
  if (tree == nullptr) return true;
  const Sample sample(*store_.pool, *tree);
  return sample.CountNewer(*store_.pool, state, table.id()) * kManyOf >= sample.count;
}

bool Overwrites::IsObsolete(const level::ReadState& state) const {
  const level::Level& l0 = state.version->l0();
  if (l0.size() < 2) return false;
  const std::shared_ptr<level::PmemTable> table = level::ListOf(l0.back());
  const std::shared_ptr<const index::EntryIndex> tree = table->WholeTree();
  if (tree == nullptr || !tree->knows_keys() || table->is_load()) return false;
  // The table in front, as if it were the newest: what comes behind one of its keys, as an older
  // version, is a newer one.
  std::vector<index::TreeSource> sources{{tree, nullptr, table->entries()}};
  uint64_t newest = 0;
  ForNewerThan(state, table->id(), [&](const level::PmemTable& newer, auto its_tree) {
    if (!its_tree->knows_keys()) return;
    newest = std::max(newest, newer.max_sequence());
    sources.push_back({std::move(its_tree), nullptr, newer.entries()});
  });
  if (sources.size() < 2 || sources.size() > kMostSources) return false;
  // Behind the tables: a view that is registered later sees the newest entries of them.
  const index::LiveViews views = store_.views->Collect();
  if (!views.empty() && views.front() < newest) return false;
  return IsCovered(*store_.pool, std::move(sources), *store_.stop);
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
  return !pool.may_grow() && pool.free_chunks() < pool.chunks() / kFreePart;
}

/// Counts which keys of the watched table come again in those that were flushed since the last
/// look.
void Overwrites::Watch(const level::ReadState& state) {
  const level::Level& l0 = state.version->l0();
  for (auto it = l0.rbegin(); it != l0.rend(); ++it) {
    const std::shared_ptr<level::PmemTable> table = level::ListOf(*it);
    if (table->id() <= watched_.seen) continue;
    const std::shared_ptr<const index::EntryIndex> tree = table->WholeTree();
    if (watched_.newer == 0 && watched_.missing.empty()) {
      if (tree != nullptr) watched_.missing = Sample(*store_.pool, *tree).Strings();
    } else {
      ++watched_.newer;
      const base::EpochGuard guard;
      std::erase_if(watched_.missing, [&](const std::string& key) {
        return tree != nullptr && tree->Find(key) != 0;
      });
      const bool has_all = watched_.missing.empty();
      if (has_all || watched_.newer + 1 == kMostWaiting) {
        overwrites_all_ = has_all;
        watched_ = {};
      }
    }
    watched_.seen = table->id();
  }
}

bool Overwrites::IsWorthWaiting(const level::ReadState& state) {
  const CompactionOptions& options = store_.options->compaction;
  if (!store_.options->background_threads || state.version->levels.size() != 2) return false;
  // Others merge or copy what is overwritten, too.
  if (*options.kind != MergeKind::kZipper) return false;
  if (*options.persistence != MergePersistence::kRedoLog) return false;
  Watch(state);
  const bool writes_alone = SomebodyWritesAlone();
  const level::Level& l0 = state.version->l0();
  if (!overwrites_all_ || !writes_alone || IsShortOfSpace()) return false;
  if (l0.empty() || l0.size() >= kMostWaiting) return false;
  const std::shared_ptr<level::PmemTable> oldest = level::ListOf(l0.back());
  const auto tree = oldest->WholeTree();
  if (tree == nullptr) return false;
  const Sample sample(*store_.pool, *tree);
  // By then it is obsolete, or nearly.
  return sample.CountNewer(*store_.pool, state, oldest->id()) < sample.count;
}

}  // namespace braid::compaction
