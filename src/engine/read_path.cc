// Purpose: gets, snapshots, iterators. Thread safety, invariants, persistence: see lsm_engine.h.
#include <cstring>
#include <span>
#include <utility>

#include "base/mutants.h"
#include "base/no_throw.h"
#include "engine/empty_iterator.h"
#include "engine/failed_snapshot.h"
#include "engine/lsm_engine.h"
#include "engine/stored_value.h"
#include "level/merging_iterator.h"

namespace braid::engine {

using format::EntryHeader;
using index::LookupResult;

namespace {

/// Lookups in a row that find a dead entry while no merge stores links, after which it is damage.
constexpr int kMaxStillDead = 16;

class LsmSnapshot final : public Snapshot {
 public:
  LsmSnapshot(std::shared_ptr<ViewRegistry> registry, ViewRegistry::Handle view)
      : registry_(std::move(registry)), view_(std::move(view)) {}
  uint64_t sequence() const noexcept override { return view_.sequence(); }
  const void* owner() const noexcept override { return registry_.get(); }

 private:
  std::shared_ptr<ViewRegistry> registry_;  // before view_: it must outlive it
  ViewRegistry::Handle view_;
};

/// Asks the tables newest first. Ends at the first that knows the key. `lookup` may be null; it
/// answers for all that is flushed (lookup_cache.h).
LookupResult FindNewest(const ReadState& state, const cache::LookupCache* lookup,
                        const index::LookupKey& key, const index::ReadView& view) {
  if (BRAID_MUTANT(kLookupAskedFirst) && lookup != nullptr) {
    const LookupResult early = lookup->Find(key, view);
    if (early.state != LookupResult::State::kAbsent) return early;
  }
  LookupResult result = state.active->table->Get(key, view);
  if (result.state != LookupResult::State::kAbsent) return result;
  for (const auto& table : state.immutables) {
    result = table->table->Get(key, view);
    if (result.state != LookupResult::State::kAbsent) return result;
  }
  if (lookup != nullptr) {
    result = lookup->Find(key, view);
    if (result.state != LookupResult::State::kAbsent) return result;
  }
  for (const auto& table : state.version->l0) {
    result = table->Get(key, view);
    if (result.state != LookupResult::State::kAbsent) return result;
  }
  return state.version->l1->Get(key, view);
}

class LsmIterator final : public Iterator {
 public:
  LsmIterator(std::shared_ptr<const LsmEngine> engine, std::shared_ptr<ViewRegistry> registry,
              ViewRegistry::Handle view, std::shared_ptr<const ReadState> state,
              level::MergingIterator merged, const ReadOptions& options)
      : engine_(std::move(engine)),
        registry_(std::move(registry)),
        view_(std::move(view)),
        state_(std::move(state)),
        merged_(std::move(merged)),
        lower_(options.lower_bound),
        upper_(options.upper_bound) {
    merged_.SetBounds(lower_, upper_);
  }

  bool Valid() const override { return valid_ && !engine_->closed() && !engine_->is_parents(); }
  void SeekToFirst() override {
    Move(true, [&] { lower_ ? merged_.SeekGE(*lower_) : merged_.SeekToFirst(); });
  }
  void SeekToLast() override {
    Move(false, [&] {
      if (!upper_) {
        merged_.SeekToLast();
        return;
      }
      merged_.SeekLE(*upper_);
      if (merged_.Valid() && merged_.key() == *upper_) merged_.Prev();
    });
  }
  void Seek(Slice target) override {
    Move(true, [&] { merged_.SeekGE(lower_ && target < *lower_ ? Slice(*lower_) : target); });
  }
  void SeekForPrev(Slice target) override {
    if (upper_ && target >= *upper_) {
      SeekToLast();
      return;
    }
    Move(false, [&] { merged_.SeekLE(target); });
  }
  void Next() override {
    if (!TakeAhead(true)) StepOn(true);
  }
  void Prev() override {
    if (!TakeAhead(false)) StepOn(false);
  }
  Slice key() const override { return key_; }
  Slice value() const override { return value_; }
  Status status() const override {
    return base::NoThrow([&] {
      if (engine_->is_parents()) return base::OpenedByParent();
      if (engine_->closed()) return Status::Closed();
      if (engine_->medium_failed()) return engine_->MediumStatus();
      return status_.ok() ? merged_.status() : status_;
    });
  }

 private:
  /// By far the most steps find their entry read and checked: the view keeps it as it is.
  bool TakeAhead(bool forward) {
    if (forward != forward_ || ahead_at_ == ahead_count_) return false;
    key_ = ahead_[ahead_at_].key;
    value_ = ahead_[ahead_at_].value;
    ++ahead_at_;
    valid_ = !engine_->medium_failed();
    return true;
  }
  void StepOn(bool forward) {
    if (!valid_) return;
    merged_.SkipAhead(std::exchange(ahead_at_, 0));
    Move(forward, [&] { forward ? merged_.Next() : merged_.Prev(); });
  }
  /// Reads what the next steps come to. In an epoch.
  void ReadAhead() {
    ahead_ = merged_.Ahead();
    // In order, so all are within the bounds if the last is.
    if (!ahead_.empty() && (forward_ ? upper_ && ahead_.back().key >= *upper_
                                     : lower_ && ahead_.back().key < *lower_)) {
      return;
    }
    ahead_count_ = engine_->PlainValuesOf(ahead_);
  }
  /// A move happens inside an epoch, so that Close waits for it. One that fails leaves the iterator
  /// invalid until it is placed anew.
  template <class Step>
  void Move(bool forward, Step&& step) {
    const pmem::EpochGuard guard;
    valid_ = false;
    forward_ = forward;
    ahead_at_ = ahead_count_ = 0;
    if (engine_->closed() || engine_->is_parents()) return;
    status_ = base::NoThrow([&] {
      step();
      return Settle(forward);
    });
    if (const uint64_t passed = merged_.TakePassed(); passed != 0) engine_->CountPassed(passed);
    if (!status_.ok() || engine_->medium_failed()) valid_ = false;
  }
  Status Settle(bool forward) {
    if (!merged_.Valid()) return Status::OK();
    key_ = merged_.key();
    const bool outside = forward ? upper_ && key_ >= *upper_ : lower_ && key_ < *lower_;
    if (outside) return Status::OK();
    if (Status s = engine_->ValueOf(*merged_.entry(), &value_); !s.ok()) return s;
    valid_ = true;
    ReadAhead();
    return Status::OK();
  }

  std::shared_ptr<const LsmEngine> engine_;
  std::shared_ptr<ViewRegistry> registry_;
  ViewRegistry::Handle view_;
  std::shared_ptr<const ReadState> state_;
  level::MergingIterator merged_;
  std::optional<std::string> lower_;
  std::optional<std::string> upper_;
  bool valid_ = false;
  bool forward_ = true;
  std::string_view key_;
  std::string_view value_;
  size_t ahead_at_ = 0;     // steps that were taken since merged_ was moved
  size_t ahead_count_ = 0;  // steps that were read ahead
  std::span<const index::CursorItem> ahead_;
  Status status_;
};

}  // namespace

Status LsmEngine::ValueOf(const EntryHeader& entry, std::string_view* value) const {
  return ReadStoredValue(*pool_, pool_->OffsetOf(&entry), options_.verify_checksums, value);
}

size_t LsmEngine::PlainValuesOf(std::span<const index::CursorItem> items) const noexcept {
  return PlainValues(*pool_, items, options_.verify_checksums);
}

Status LsmEngine::Get(const ReadOptions& options, Slice key, std::string* value) {
  if (Status s = CheckKey(key); !s.ok()) return s;
  counters_.Add(EngineCounter::kGets);
  index::ReadView view;
  view.published = &sequence_;
  if (options.snapshot != nullptr) {
    if (Status s = CheckSnapshot(*options.snapshot, views_.get()); !s.ok()) return s;
    view.sequence = options.snapshot->sequence();
  }
  const pmem::EpochGuard guard;
  if (closed()) return Status::Closed();
  Status status;
  const EntryHeader* entry = FindCounting(key, view, &status);
  if (entry == nullptr) return status.ok() ? Status::NotFound() : status;
  std::string_view found;
  if (Status s = ValueOf(*entry, &found); !s.ok()) return s;
  value->assign(found);
  counters_.Add(EngineCounter::kGetsFound);
  return Status::OK();
}

const EntryHeader* LsmEngine::Find(Slice key, const index::ReadView& view, Status* status) const {
  const EntryHeader* entry = FindVersion(key, view, status);
  return entry == nullptr || entry->op() == format::EntryOp::kDelete ? nullptr : entry;
}

/// As Find, and counts which nodes of lists it visits, where that was asked for.
const EntryHeader* LsmEngine::FindCounting(Slice key, index::ReadView view, Status* status) const {
  if (visits_ == nullptr) return Find(key, view, status);
  index::Visits visits(*pool_);
  view.visits = &visits;
  const EntryHeader* entry = Find(key, view, status);
  visits_->Add(visits);
  return entry;
}

const EntryHeader* LsmEngine::FindVersion(Slice key, const index::ReadView& view,
                                          Status* status) const {
  const index::LookupKey lookup{key, base::Hash64(key)};
  if (lookup_cache_ != nullptr) lookup_cache_->Prefetch(lookup.hash);
  std::pair<uint64_t, uint64_t> last_dead{0,
                                          0};  // its offset, and relinks_ before it was looked for
  for (int still = 0; still < kMaxStillDead;) {
    const uint64_t before = relinks_.load(std::memory_order_acquire);
    // Acquire pairs with SwapState.
    const LookupResult result =
        FindNewest(*state_.load(std::memory_order_acquire), lookup_cache_.get(), lookup, view);
    if (result.state == LookupResult::State::kCorrupt) {
      *status = index::DamageStatus(*pool_, result.offset);
      return nullptr;
    }
    if (result.state == LookupResult::State::kAbsent ||
        result.state == LookupResult::State::kNowhere) {
      return nullptr;
    }
    const EntryHeader* entry = pool_->EntryAt(result.offset);
    if (pool_->failed()) {
      *status = pool_->FaultStatus();
      return nullptr;
    }
    if (entry == nullptr) {
      *status = pool_->CorruptionAt(result.offset, "entry", "it is no entry any more");
      return nullptr;
    }
    if (result.state == LookupResult::State::kDeleted || entry->state() != format::kStateDead) {
      return entry;
    }
    // Merges went by during this lookup: what hid the entry was asked for too late. Again, with the
    // tables of now. A dead entry that is found while no merge moves anything is damage.
    const uint64_t after = relinks_.load(std::memory_order_acquire);
    // Found so again while the merge is at the same batch: nothing newer hides it, since what does
    // leaves the source only after the entry is unlinked. So it is an original that is about to be
    // replaced by its copy, which is the same, and the merge need not be waited for.
    if ((before & 1) != 0 && after == before && last_dead == std::pair(result.offset, before)) {
      return entry;
    }
    last_dead = {result.offset, before};
    const bool moved = (before & 1) != 0 || after != before;
    still = moved ? 0 : still + 1;
    if (moved) std::this_thread::yield();
  }
  *status = pool_->CorruptionAt(0, "table", "it leads to an entry that is marked dead");
  return nullptr;
}

/// A view of this moment. A bulk load draws its number just before its state is shown: a view with
/// that number would see the state before first, and then the one after.
ViewRegistry::Handle LsmEngine::RegisterView(const std::atomic<uint64_t>* clock) {
  for (;;) {
    ViewRegistry::Handle handle = views_->Register(sequence_, clock);
    if (!switching_.load()) return handle;
    std::this_thread::yield();
  }
}

std::shared_ptr<const Snapshot> LsmEngine::GetSnapshot() {
  return std::make_shared<LsmSnapshot>(views_, RegisterView(nullptr));
}

std::unique_ptr<Iterator> LsmEngine::NewIterator(const ReadOptions& options) {
  counters_.Add(EngineCounter::kIterators);
  if (options.snapshot != nullptr) {
    if (Status s = CheckSnapshot(*options.snapshot, views_.get()); !s.ok()) {
      return std::make_unique<StatusIterator>([s] { return s; });
    }
  }
  // The view is registered before the state is read: nothing it may see is given back from here on.
  ViewRegistry::Handle handle =
      options.snapshot != nullptr && !BRAID_MUTANT(kIteratorViewNotRegistered)
          ? views_->Register(options.snapshot->sequence(), &reclaimer_.clock())
          : RegisterView(&reclaimer_.clock());
  std::shared_ptr<const ReadState> state;
  {
    const pmem::EpochGuard guard;
    if (closed()) return std::make_unique<StatusIterator>(Status::Closed);
    state = state_.load(std::memory_order_acquire)->shared_from_this();
  }
  index::ReadView view;
  view.sequence = BRAID_MUTANT(kIteratorViewNotRegistered) && options.snapshot != nullptr
                      ? options.snapshot->sequence()
                      : handle.sequence();
  view.published = &sequence_;
  level::MergingIterator merged = MergeOf(*state, view);
  return std::make_unique<LsmIterator>(shared_from_this(), views_, std::move(handle),
                                       std::move(state), std::move(merged), options);
}

/// All that `view` sees in the tables of `state`, which the caller keeps, as it does the engine.
level::MergingIterator LsmEngine::MergeOf(const ReadState& state,
                                          const index::ReadView& view) const {
  std::vector<std::unique_ptr<index::Cursor>> cursors;
  cursors.reserve(2 + state.immutables.size() + state.version->l0.size());
  cursors.push_back(state.active->table->NewCursor(view));
  for (const auto& table : state.immutables) cursors.push_back(table->table->NewCursor(view));
  for (const auto& table : state.version->l0) {
    cursors.push_back(level::PmemTable::NewCursor(table, view));
  }
  cursors.push_back(level::PmemTable::NewCursor(state.version->l1, view));
  return {std::move(cursors),
          [this, view](Slice key, Status* status) { return Find(key, view, status); }};
}

}  // namespace braid::engine
