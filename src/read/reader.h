// Purpose: gets, multi-gets, snapshots and iterators: what a view sees in the tables of a moment.
// Thread safety: any thread. A read is inside an EpochGuard, in which Close waits for it; no locks.
// Invariants:
//   1. A view is registered before a state is read: nothing it may see is given back from then on.
//   2. Runs (memtables, tables) are asked newest first, and the first that knows the key, a delete
//      included, has the newest version that the view sees. The tier is asked last, and after all
//      of them: entries go from the pool to the tier, never back.
// Persistence: none.
// Source: ListDB 6.2.2.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/counters.h"
#include "base/function_ref.h"
#include "base/latencies.h"
#include "cache/lookup_cache.h"
#include "engine/engine.h"
#include "engine/stored_value.h"
#include "engine/writer_pace.h"
#include "index/visits.h"
#include "level/merging_iterator.h"
#include "level/version_set.h"
#include "level/view_registry.h"
#include "space/reclaimer.h"
#include "tier/tier.h"

namespace braid::read {

class Reader {
 public:
  /// What is read, and outlives the reader.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    const level::VersionSet* versions;
    std::shared_ptr<level::ViewRegistry> views;
    const space::Reclaimer* reclaimer;
    cache::LookupCache* lookup_cache;       // may be null
    const tier::Tier* tier;                 // may be null
    base::Latencies* latencies;             // of gets and iterators
    const std::atomic<uint64_t>* sequence;  // last one drawn
    const std::atomic<bool>* closed;
  };
  /// Keeps the store for iterators and lent values.
  using Owner = std::shared_ptr<const engine::Engine>;

  explicit Reader(Store store);

  // As the DB calls of the same names.
  Status Get(const ReadOptions& options, Slice key, std::string* value);
  /// `owner` is called for a value that is lent.
  Status GetPinned(const ReadOptions& options, Slice key, PinnedValue* value,
                   base::FunctionRef<Owner()> owner);
  void MultiGet(const ReadOptions& options, std::span<const Slice> keys, std::string* values,
                Status* statuses);
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options, const Owner& owner);
  /// What an iterator walks over: the newest state, or what `snapshot` (may be null) sees of it.
  struct Shown {
    level::ViewRegistry::Handle view;
    std::shared_ptr<const level::ReadState> state;
    level::MergingIterator merged;
  };
  /// Errors: Closed. Throws std::bad_alloc.
  Result<Shown> ShowNewest(const Snapshot* snapshot);
  std::shared_ptr<const Snapshot> GetSnapshot() const;

  /// The version of the key that `view` sees in all current tables: found, deleted, or absent where
  /// none is known; absent, too, with an error in `*status`. Inside an EpochGuard.
  /// `held` keeps a value that lies in the tier; null: the value is not asked for.
  index::LookupResult LookupEntry(Slice key, const index::ReadView& view, Status* status,
                                  tier::Found* held) const;
  /// Points to a value. Corruption when it does not verify.
  Status ValueOf(const index::ValueRef& ref, std::string_view* value) const {
    if (ref.is_of_entry()) {
      return engine::ReadStoredValue(pool_, ref.offset(), store_.options->verify_checksums, value);
    }
    *value = ref.bytes();
    return Status::OK();
  }
  Status ValueOf(const index::CursorItem& item, std::string_view* value) const;
  /// See PlainValues.
  size_t PlainValuesOf(std::span<const index::CursorItem> items) const noexcept;
  /// All that `view` sees in the tables of `state`, which the caller keeps, as it does the store.
  level::MergingIterator MergeOf(const level::ReadState& state, const index::ReadView& view) const;
  /// A view of this moment. `clock`: null for a snapshot.
  level::ViewRegistry::Handle RegisterView(const std::atomic<uint64_t>* clock) const;
  /// The newest that is written, for who registers none.
  index::ReadView ViewOfNow() const noexcept {
    index::ReadView view;
    view.published = store_.sequence;
    return view;
  }

  bool closed() const noexcept { return store_.closed->load(std::memory_order_acquire); }
  /// An iterator had to pass so many deleted keys.
  void CountPassed(uint64_t keys) const { counters_.Add(Counter::kPassedEntries, keys); }
  /// Times a seek or a step of an iterator.
  base::Latencies::Timing TimeMove(LatencyKind kind) const {
    const bool seeks = kind == LatencyKind::kSeek;
    return {store_.latencies, kind, counters_.Add(seeks ? Counter::kSeeks : Counter::kSteps)};
  }
  void Fill(Statistics* statistics) const;
  /// What was read so far, as engine::WriterPace counts it; and by this thread. Cost: a line for
  /// each thread that reads.
  uint64_t reads() const noexcept {
    return ReadsOf([this](Counter counter) { return counters_.Sum(counter); });
  }
  uint64_t reads_of_thread() const noexcept {
    return ReadsOf([this](Counter counter) { return counters_.OfThread(counter); });
  }

 private:
  enum class Counter : uint8_t {
    kGets,
    kGetsFound,
    kMultiGets,
    kIterators,
    kSeeks,
    kSteps,
    kPassedEntries,
    kCount
  };

  template <class Count>
  static uint64_t ReadsOf(Count&& count) noexcept {
    return count(Counter::kGets) / engine::WriterPace::kGetsARead + count(Counter::kMultiGets) +
           count(Counter::kSeeks) + count(Counter::kSteps);
  }
  // The short ones that each read passes are inline: what is behind them is rare.
  /// Not registered: for a read that ends with its epoch, or whose snapshot the caller keeps.
  Status ViewFor(const ReadOptions& options, index::ReadView* view) const {
    *view = ViewOfNow();
    return options.snapshot == nullptr ? Status::OK() : ViewOf(*options.snapshot, view);
  }
  Status ViewOf(const Snapshot& snapshot, index::ReadView* view) const;
  /// As LookupEntry, and counts which nodes of lists it visits, where that was asked for.
  index::LookupResult Lookup(Slice key, const index::ReadView& view, Status* status,
                             tier::Found* held) const {
    return visits_ == nullptr ? LookupEntry(key, view, status, held)
                              : LookupCounting(key, view, status, held);
  }
  index::LookupResult LookupCounting(Slice key, index::ReadView view, Status* status,
                                     tier::Found* held) const;
  index::LookupResult LookupInPool(const index::LookupKey& lookup, const index::ReadView& view,
                                   Status* status) const;
  // multi_get.cc
  void GetGroup(const index::ReadView& view, std::span<const Slice> keys, std::string* values,
                Status* statuses);
  bool IsClear(const index::LookupResult& result) const;
  void FindGroup(const index::ReadView& view, std::span<const Slice> keys,
                 index::LookupResult* results) const;

  const Store store_;
  pool::PmemPool& pool_;
  level::ViewRegistry& views_;
  mutable base::Counters<Counter, static_cast<size_t>(Counter::kCount)> counters_;
  std::unique_ptr<index::VisitCounters> visits_;  // with lists.count_visits
};

}  // namespace braid::read
