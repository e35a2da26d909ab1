// Purpose: multi-gets, whose lookups overlap, and pinned gets.
// Thread safety, invariants, persistence: see reader.h.
//
// Many keys are looked up table by table, newest first: each table is asked for all keys that the
// ones before did not know, and its tree interleaves the lookups. What is out of the ordinary (an
// entry that a merge has just marked obsolete, damage) is looked up again by itself.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/epoch.h"
#include "engine/failed_snapshot.h"
#include "read/reader.h"

namespace braid::read {

using format::EntryHeader;
using format::EntryOp;
using index::LookupKey;
using index::LookupResult;

namespace {

/// Values from this size on are lent instead of copied: the copy takes longer than a second lookup.
constexpr size_t kLendBytes = 4096;

/// The keys of a group that no table has known so far.
class Group {
 public:
  void Add(uint32_t index, Slice key) {
    BRAID_DCHECK(count_ < index::kManyLookups);
    open_[count_] = {key, base::Hash64(key)};
    index_[count_++] = index;
  }
  /// Asks `ask(keys, n, out)`; answers go to `results`, by the keys' indexes.
  template <class Ask>
  void AskAll(Ask&& ask, LookupResult* results) {
    if (count_ == 0) return;
    std::array<LookupResult, index::kManyLookups> answers;
    ask(open_.data(), count_, answers.data());
    size_t left = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (answers[i].state != LookupResult::State::kAbsent) {
        results[index_[i]] = answers[i];
        continue;
      }
      open_[left] = open_[i];
      index_[left++] = index_[i];
    }
    count_ = left;
  }

 private:
  std::array<LookupKey, index::kManyLookups> open_;
  std::array<uint32_t, index::kManyLookups> index_;
  size_t count_ = 0;
};

/// Keeps a lent value: the engine with its pool, and the view that holds the memory.
struct Loan {
  Reader::Owner owner;
  std::shared_ptr<level::ViewRegistry> registry;
  level::ViewRegistry::Handle view;
};

}  // namespace

void Reader::MultiGet(const ReadOptions& options, std::span<const Slice> keys, std::string* values,
                      Status* statuses) {
  counters_.Add(Counter::kGets, keys.size());
  const base::Latencies::Timing timing(store_.latencies, LatencyKind::kMultiGet,
                                       counters_.Add(Counter::kMultiGets));
  if (options.snapshot != nullptr) {
    if (Status s = engine::CheckSnapshot(*options.snapshot, &views_); !s.ok()) {
      std::fill_n(statuses, keys.size(), s);
      return;
    }
  }
  // Registered, so that merges keep what is older than the newest write while the groups go by.
  const level::ViewRegistry::Handle handle =
      options.snapshot == nullptr ? RegisterView(nullptr) : level::ViewRegistry::Handle();
  index::ReadView view = ViewOfNow();
  view.sequence = options.snapshot != nullptr ? options.snapshot->sequence() : handle.sequence();
  for (size_t first = 0; first < keys.size(); first += index::kManyLookups) {
    const size_t count = std::min(index::kManyLookups, keys.size() - first);
    const base::EpochGuard guard;
    GetGroup(view, keys.subspan(first, count), values + first, statuses + first);
  }
}

/// At most kManyLookups keys. Inside an EpochGuard.
void Reader::GetGroup(const index::ReadView& view, std::span<const Slice> keys, std::string* values,
                      Status* statuses) {
  BRAID_DCHECK(keys.size() <= index::kManyLookups);
  if (closed()) {
    std::fill_n(statuses, keys.size(), Status::Closed());
    return;
  }
  std::array<LookupResult, index::kManyLookups> results{};
  if (visits_ == nullptr) FindGroup(view, keys, results.data());
  uint64_t found = 0;
  tier::Found held;
  for (size_t i = 0; i < keys.size(); ++i) {
    statuses[i] = engine::CheckKey(keys[i]);
    if (!statuses[i].ok()) continue;
    if (visits_ != nullptr || !IsClear(results[i])) {
      results[i] = Lookup(keys[i], view, &statuses[i], &held);
    }
    if (results[i].state != LookupResult::State::kFound) {
      if (statuses[i].ok()) statuses[i] = Status::NotFound();
      continue;
    }
    std::string_view value;
    statuses[i] = ValueOf(results[i].value, &value);
    if (!statuses[i].ok()) continue;
    values[i].assign(value);
    ++found;
  }
  counters_.Add(Counter::kGetsFound, found);
}

/// Whether the answer is final, without checking what merges may have done meanwhile.
bool Reader::IsClear(const LookupResult& result) const {
  if (result.state == LookupResult::State::kCorrupt) return false;
  if (!result.has_version() && store_.tier != nullptr) return false;
  if (result.state != LookupResult::State::kFound || !result.value.is_of_entry()) return true;
  const EntryHeader* entry = pool_.EntryAt(result.value.offset());
  return entry != nullptr && entry->state() != format::kStateObsolete;
}

void Reader::FindGroup(const index::ReadView& view, std::span<const Slice> keys,
                       LookupResult* results) const {
  BRAID_DCHECK(visits_ == nullptr);  // lookups side by side count none
  Group group;
  for (size_t i = 0; i < keys.size(); ++i) group.Add(static_cast<uint32_t>(i), keys[i]);
  const auto ask = [&](std::span<const index::SortedRun* const> runs) {
    for (const index::SortedRun* run : runs) {
      group.AskAll([&](const LookupKey* open, size_t n,
                       LookupResult* out) { run->GetMany(open, n, view, out); },
                   results);
    }
  };
  const level::ReadState& state = store_.versions->shown();
  ask(state.memtables());
  if (store_.lookup_cache != nullptr) {
    group.AskAll(
        [&](const LookupKey* open, size_t n, LookupResult* out) {
          for (size_t i = 0; i < n; ++i) store_.lookup_cache->Prefetch(open[i].hash);
          for (size_t i = 0; i < n; ++i) out[i] = store_.lookup_cache->Find(open[i], view);
        },
        results);
  }
  ask(state.tables());
}

Status Reader::GetPinned(const ReadOptions& options, Slice key, PinnedValue* value,
                         base::FunctionRef<Owner()> owner) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  const base::Latencies::Timing timing(store_.latencies, LatencyKind::kGet,
                                       counters_.Add(Counter::kGets));
  index::ReadView view;
  if (Status s = ViewFor(options, &view); !s.ok()) return s;
  std::shared_ptr<Loan> loan;
  for (;;) {
    const base::EpochGuard guard;
    if (closed()) return Status::Closed();
    Status status;
    tier::Found held;
    const LookupResult result = Lookup(key, view, &status, &held);
    if (result.state != LookupResult::State::kFound) {
      return status.ok() ? Status::NotFound() : status;
    }
    std::string_view found;
    if (Status s = ValueOf(result.value, &found); !s.ok()) return s;
    if (found.size() < kLendBytes || !result.value.is_of_entry()) {
      counters_.Add(Counter::kGetsFound);
      value->CopyTo()->assign(found);
      return Status::OK();
    }
    if (loan != nullptr) {
      counters_.Add(Counter::kGetsFound);
      value->Lend(found, std::move(loan));
      return Status::OK();
    }
    // The view must be there before the offset is learnt (view_registry.h): once more, with it.
    loan = std::make_shared<Loan>(Loan{owner(), store_.views, {}});
    loan->view = options.snapshot != nullptr
                     ? views_.Register(options.snapshot->sequence(), &store_.reclaimer->clock())
                     : RegisterView(&store_.reclaimer->clock());
  }
}

}  // namespace braid::read
