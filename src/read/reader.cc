// Purpose: gets, snapshots, iterators.
// Thread safety, invariants, persistence: see reader.h.
#include "read/reader.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/epoch.h"
#include "engine/empty_iterator.h"
#include "engine/failed_snapshot.h"
#include "index/tree_cursor.h"
#include "read/db_iterator.h"
#include "tier/tier_cursor.h"

namespace braid::read {

using format::EntryHeader;
using index::LookupResult;

namespace {

/// Lookups in a row that find an obsolete entry while no merge stores links, after which it is
/// damage.
constexpr int kMaxStillObsolete = 16;

class RegisteredSnapshot final : public Snapshot {
 public:
  RegisteredSnapshot(std::shared_ptr<level::ViewRegistry> registry,
                     level::ViewRegistry::Handle view)
      : registry_(std::move(registry)), view_(std::move(view)) {}
  uint64_t sequence() const noexcept override { return view_.sequence(); }
  const void* owner() const noexcept override { return registry_.get(); }

 private:
  std::shared_ptr<level::ViewRegistry> registry_;  // before view_: it must outlive it
  level::ViewRegistry::Handle view_;
};

LookupResult FindIn(std::span<const index::SortedRun* const> runs, const index::LookupKey& key,
                    const index::ReadView& view) {
  for (const index::SortedRun* run : runs) {
    const LookupResult result = run->Get(key, view);
    if (result.state != LookupResult::State::kAbsent) return result;
  }
  return {};
}

/// Asks all runs, newest first. Ends at the first that knows the key. `lookup` may be null; it
/// answers for all that is flushed (lookup_cache.h).
LookupResult SearchTables(const level::ReadState& state, const cache::LookupCache* lookup,
                          const index::LookupKey& key, const index::ReadView& view) {
  if (lookup == nullptr) return FindIn(state.runs(), key, view);
  LookupResult result = FindIn(state.memtables(), key, view);
  if (result.state != LookupResult::State::kAbsent) return result;
  result = lookup->Find(key, view);
  if (result.state != LookupResult::State::kAbsent) return result;
  return FindIn(state.tables(), key, view);
}

/// Cursors over all runs: one over those that are trees, and one over each of the others.
std::vector<std::unique_ptr<index::Cursor>> CursorsOf(std::span<const index::SortedRun* const> runs,
                                                      const pool::PmemPool& pool,
                                                      const index::ReadView& view) {
  std::vector<index::TreeSource> trees;
  std::vector<const index::SortedRun*> others;
  trees.reserve(runs.size());
  uint64_t entries = 1;
  uint64_t in_trees = 0;
  for (const index::SortedRun* run : runs) {
    entries += run->entries();
    std::optional<index::TreeSource> tree;
    if (trees.size() < index::kMostSources) tree = run->AsTree();
    if (tree) {
      in_trees += tree->entries;
      trees.push_back(std::move(*tree));
    } else {
      others.push_back(run);
    }
  }
  std::vector<std::unique_ptr<index::Cursor>> cursors;
  cursors.reserve(others.size() + 1);
  const auto add = [&](std::unique_ptr<index::Cursor> cursor, uint64_t of_it) {
    const auto share = static_cast<double>(of_it) / static_cast<double>(entries);
    cursor->ExpectShare(std::min(share, 1.0));  // it may have grown meanwhile
    cursors.push_back(std::move(cursor));
  };
  if (!trees.empty()) add(index::NewTreeCursor(&pool, std::move(trees), view), in_trees);
  for (const index::SortedRun* run : others) add(run->NewCursor(view), run->entries());
  return cursors;
}

}  // namespace

Reader::Reader(Store store) : store_(std::move(store)), pool_(*store_.pool), views_(*store_.views) {
  BRAID_CHECK(store_.sequence != nullptr && store_.closed != nullptr &&
              store_.latencies != nullptr);
  if (store_.options->lists.count_visits) visits_ = std::make_unique<index::VisitCounters>();
}

Status Reader::ValueOf(const index::CursorItem& item, std::string_view* value) const {
  if (pool_.Holds(item.entry)) {
    return ValueOf(index::ValueRef::OfEntry(pool_.OffsetOf(item.entry)), value);
  }
  *value = item.value;
  return Status::OK();
}

size_t Reader::PlainValuesOf(std::span<const index::CursorItem> items) const noexcept {
  return engine::PlainValues(pool_, items, store_.options->verify_checksums);
}

Status Reader::ViewOf(const Snapshot& snapshot, index::ReadView* view) const {
  if (Status s = engine::CheckSnapshot(snapshot, &views_); !s.ok()) return s;
  view->sequence = snapshot.sequence();
  return Status::OK();
}

Status Reader::Get(const ReadOptions& options, Slice key, std::string* value) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  const base::Latencies::Timing timing(store_.latencies, LatencyKind::kGet,
                                       counters_.Add(Counter::kGets));
  index::ReadView view;
  if (Status s = ViewFor(options, &view); !s.ok()) return s;
  const base::EpochGuard guard;
  if (closed()) return Status::Closed();
  Status status;
  tier::Found held;
  const LookupResult result = Lookup(key, view, &status, &held);
  if (result.state != LookupResult::State::kFound) return status.ok() ? Status::NotFound() : status;
  std::string_view found;
  if (Status s = ValueOf(result.value, &found); !s.ok()) return s;
  value->assign(found);
  counters_.Add(Counter::kGetsFound);
  return Status::OK();
}

LookupResult Reader::LookupCounting(Slice key, index::ReadView view, Status* status,
                                    tier::Found* held) const {
  index::Visits visits(pool_);
  view.visits = &visits;
  const LookupResult result = LookupEntry(key, view, status, held);
  visits_->Add(visits);
  return result;
}

LookupResult Reader::LookupEntry(Slice key, const index::ReadView& view, Status* status,
                                 tier::Found* held) const {
  const index::LookupKey lookup{key, base::Hash64(key)};
  if (store_.tier != nullptr) store_.tier->Prefetch(lookup.hash);
  const LookupResult result = LookupInPool(lookup, view, status);
  if (store_.tier == nullptr || result.has_version() || !status->ok()) return result;
  tier::Found unused;
  tier::Found* const found = held != nullptr ? held : &unused;
  if (Status s = store_.tier->Get(lookup, view, found); !s.ok()) {
    *status = std::move(s);
    return {};
  }
  LookupResult below = found->result();
  if (held == nullptr) below.value = {};
  return below;
}

/// In memtables and tables.
LookupResult Reader::LookupInPool(const index::LookupKey& lookup, const index::ReadView& view,
                                  Status* status) const {
  if (store_.lookup_cache != nullptr) store_.lookup_cache->Prefetch(lookup.hash);
  // Its offset, and merge_epoch before it was looked for.
  std::pair<uint64_t, uint64_t> last_obsolete{0, 0};
  for (int still = 0; still < kMaxStillObsolete;) {
    const uint64_t before = store_.versions->merge_epoch().Now();
    const LookupResult result =
        SearchTables(store_.versions->shown(), store_.lookup_cache, lookup, view);
    if (result.state == LookupResult::State::kCorrupt) {
      *status = index::DamageStatus(pool_, result.value.offset());
      return {};
    }
    if (!result.has_version()) return {};
    if (!result.value.is_of_entry()) return result;
    const uint64_t offset = result.value.offset();
    const EntryHeader* entry = pool_.EntryAt(offset);
    if (pool_.failed()) {
      *status = pool_.FaultStatus();
      return {};
    }
    if (entry == nullptr) {
      *status = pool_.CorruptionAt(offset, "entry", "it is no entry any more");
      return {};
    }
    if (result.state == LookupResult::State::kDeleted || entry->state() != format::kStateObsolete) {
      return result;
    }
    // Merges went by during this lookup: what hid the entry was asked for too late. Again, with the
    // current tables. An obsolete entry that is found while no merge moves anything is damage.
    const bool of_copies = store_.versions->merge_epoch().IsOfCopies();
    const uint64_t after = store_.versions->merge_epoch().Now();
    // Found so again while merges are at the same batches, which need not be waited for.
    const bool at_work = index::MergeEpoch::AnyAtWork(before);
    if (at_work && last_obsolete == std::pair(offset, before)) {
      if (after == before && (of_copies || view.sequence == index::kLatest)) {
        // Nothing newer hides it, since what does leaves the source only after the entry is
        // unlinked. So it is an original that is about to be replaced by its copy.
        return result;
      }
      if (after == before) {
        // What no view needs is marked, and this one is registered: a delete hid it behind a
        // version that the view does not see, and the batch has unlinked both, but not yet taken
        // the entry out of its tree.
        return {LookupResult::State::kDeleted, result.sequence, result.value};
      }
    }
    last_obsolete = {offset, before};
    const bool moved = at_work || after != before;
    still = moved ? 0 : still + 1;
    if (moved) std::this_thread::yield();
  }
  *status = pool_.CorruptionAt(0, "table", "it leads to an entry that is marked obsolete");
  return {};
}

/// A view of this moment. A bulk load draws its number just before its state is shown: a view with
/// that number would see the state before first, and then the one after.
level::ViewRegistry::Handle Reader::RegisterView(const std::atomic<uint64_t>* clock) const {
  for (;;) {
    level::ViewRegistry::Handle handle = views_.Register(*store_.sequence, clock);
    BRAID_DCHECK(handle.sequence() <= store_.sequence->load());  // numbers are not given back
    if (!store_.versions->is_switching()) return handle;
    std::this_thread::yield();
  }
}

std::shared_ptr<const Snapshot> Reader::GetSnapshot() const {
  return std::make_shared<RegisteredSnapshot>(store_.views, RegisterView(nullptr));
}

std::unique_ptr<Iterator> Reader::NewIterator(const ReadOptions& options, const Owner& owner) {
  counters_.Add(Counter::kIterators);
  if (options.snapshot != nullptr) {
    if (Status s = engine::CheckSnapshot(*options.snapshot, &views_); !s.ok()) {
      return std::make_unique<engine::StatusIterator>([s] { return s; });
    }
  }
  Result<Shown> shown = ShowNewest(options.snapshot);
  if (!shown.ok()) return std::make_unique<engine::StatusIterator>(Status::Closed);
  return std::make_unique<DbIterator>(owner, this, store_.views, std::move(shown->view),
                                      std::move(shown->state), std::move(shown->merged), options);
}

Result<Reader::Shown> Reader::ShowNewest(const Snapshot* snapshot) {
  // The view is registered before the state is read: nothing it may see is given back from here on.
  level::ViewRegistry::Handle handle =
      snapshot != nullptr ? views_.Register(snapshot->sequence(), &store_.reclaimer->clock())
                          : RegisterView(&store_.reclaimer->clock());
  std::shared_ptr<const level::ReadState> state;
  {
    const base::EpochGuard guard;
    if (closed()) return Status::Closed();
    state = store_.versions->shown().shared_from_this();
  }
  index::ReadView view = ViewOfNow();
  view.sequence = handle.sequence();
  BRAID_DCHECK(snapshot == nullptr || view.sequence == snapshot->sequence());
  level::MergingIterator merged = MergeOf(*state, view);
  return Shown{std::move(handle), std::move(state), std::move(merged)};
}

/// All that `view` sees in the tables of `state`, which the caller keeps, as it does the engine.
level::MergingIterator Reader::MergeOf(const level::ReadState& state,
                                       const index::ReadView& view) const {
  std::vector<std::unique_ptr<index::Cursor>> cursors = CursorsOf(state.runs(), pool_, view);
  level::MergingIterator::Below below{nullptr, {}};
  if (store_.tier != nullptr) {
    below.moves = &store_.tier->moves();
    below.renew = [tier = store_.tier, view]() -> std::unique_ptr<index::Cursor> {
      return std::make_unique<tier::TierCursor>(tier->store().NewWalk(), view);
    };
  }
  const auto held = store_.tier != nullptr ? std::make_shared<tier::Found>() : nullptr;
  level::MergingIterator merged(
      std::move(cursors),
      [this, view, held](Slice key, Status* status) {
        const LookupResult now = LookupEntry(key, view, status, held.get());
        return now.state == LookupResult::State::kFound ? std::optional(now.value) : std::nullopt;
      },
      std::move(below));
  const auto& oldest = state.immutables.empty() ? state.active : state.immutables.back();
  merged.SetCopied({&pool_, &store_.versions->merged_up_to(), oldest->id()});
  return merged;
}

void Reader::Fill(Statistics* statistics) const {
  statistics->gets = counters_.Sum(Counter::kGets);
  statistics->gets_found = counters_.Sum(Counter::kGetsFound);
  statistics->iterators = counters_.Sum(Counter::kIterators);
  statistics->passed_entries = counters_.Sum(Counter::kPassedEntries);
  if (store_.lookup_cache != nullptr) {
    const cache::LookupCache& lookup = *store_.lookup_cache;
    statistics->lookup_cache_entries = lookup.entries();
    statistics->lookup_cache_hits = lookup.hits();
    statistics->lookup_cache_absences = lookup.absences();
    statistics->lookup_cache_misses = lookup.misses();
  }
  if (store_.tier != nullptr) store_.tier->Fill(statistics);
  if (visits_ == nullptr) return;
  statistics->upper_visits_local = visits_->nodes(0, 0);
  statistics->upper_visits_remote = visits_->nodes(0, 1);
  statistics->bottom_visits_local = visits_->nodes(1, 0);
  statistics->bottom_visits_remote = visits_->nodes(1, 1);
  static_assert(std::tuple_size_v<decltype(Statistics::lookup_paths)> == index::kPathBuckets);
  for (uint32_t i = 0; i < index::kPathBuckets; ++i)
    statistics->lookup_paths[i] = visits_->paths(i);
}

}  // namespace braid::read
