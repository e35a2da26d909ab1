// Purpose: reads and deletes the keys of ranges.
// Thread safety, invariant, persistence: see range_deleter.h.
//
// Why writes to the range cannot slip in between. The range is shown to writers while all shard
// locks are held, when no write is under way; from then on a writer whose key it covers finds it
// under its shard lock, and waits (KeptRange::Own). So no key of the range changes from the read to
// the last delete, and the whole is one step among writes: each other write to the range comes
// before all of it or after all of it. It ends in the same way, so that nobody looks at a range
// that is gone. Concurrent reads and snapshots see a batch whole or not at all.
//
// A batch with ranges is the same with one batch at the end: the keys of all its ranges are read
// while these are shown, and its deletes come first. Of its other updates those are left that no
// later range of the batch covers (Writer::UpdatesOf), so that what they say stands after the
// deletes.
#include "write/range_deleter.h"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/checksum.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "level/merging_iterator.h"

namespace braid::write {

namespace {

/// Deletes of one batch. All writers wait for a batch, some hundred nanoseconds a delete.
constexpr size_t kStep = 8192;
/// Bytes of their keys, which are copied.
constexpr uint64_t kStepBytes = 16u << 20;
/// Where there is no room for a batch, so many times fewer may find some.
constexpr size_t kFewer = 16;

}  // namespace

/// Copies of the keys of a batch, in order: their entries may be gone before it is written.
struct RangeDeleter::Keys {
  std::string bytes;
  std::vector<size_t> ends;  // of each key in `bytes`
  bool is_last = false;      // the range has no keys behind them

  void Clear() {
    bytes.clear();
    ends.clear();
    is_last = false;
  }
  void Add(Slice key) {
    bytes.append(key);
    ends.push_back(bytes.size());
  }
  Slice Key(size_t i) const {
    BRAID_DCHECK(i < ends.size());
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return Slice(bytes).substr(begin, ends[i] - begin);
  }
  /// Point to the keys.
  std::vector<log::PendingEntry> Tombstones() const {
    std::vector<log::PendingEntry> entries;
    entries.reserve(ends.size());
    for (size_t i = 0; i < ends.size(); ++i) entries.push_back(Tombstone(i));
    return entries;
  }
  log::PendingEntry Tombstone(size_t i) const {
    log::PendingEntry pending;
    pending.op = format::EntryOp::kDelete;
    pending.key = Key(i);
    pending.key_hash = base::Hash64(pending.key);
    return pending;
  }
};

/// What `call` returns while nobody else writes to the ranges.
template <class Call>
Status RangeDeleter::WhileKept(const base::KeyRangeSet& ranges, Call&& call) {
  const auto one_at_a_time = store_.writer->OwnKeptRange();
  store_.writer->ShowKeptRange(&ranges);
  const Status s = base::CatchToStatus(std::forward<Call>(call));
  store_.writer->ShowKeptRange(nullptr);
  return s;
}

/// Where a flush has found no room each batch looks whether there is some now, as any write does.
/// What finds nothing to delete says so itself: it would be durable, although a sync has failed.
Status RangeDeleter::Admit() {
  Status s = store_.writer->Admit();
  return s.IsOutOfSpace() ? Status::OK() : s;
}

Status RangeDeleter::Delete(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                            uint64_t* deleted) {
  *deleted = 0;
  if (Status s = engine::CheckKey(begin); !s.ok()) return s;
  if (end && *end <= begin) return store_.reader->closed() ? Status::Closed() : Status::OK();
  if (Status s = Admit(); !s.ok()) return s;
  base::KeyRangeSet kept;
  kept.Add(begin, end);
  Status s = WhileKept(kept, [&] { return DeleteKeys(options, {begin, end}, deleted); });
  return s.ok() && *deleted == 0 ? store_.writer->Admit() : s;
}

Status RangeDeleter::Write(const WriteOptions& options, const WriteBatch& batch,
                           const Writer::Unchanged* unchanged) {
  Result<Writer::NetUpdates> updates = store_.writer->UpdatesOf(batch);
  if (!updates.ok()) return updates.status();
  if (updates->ranges.empty()) {
    return store_.writer->WriteAll(options, std::move(updates->entries), unchanged);
  }
  if (Status s = Admit(); !s.ok()) return s;
  const base::KeyRangeSet kept = updates->ranges;
  return WhileKept(kept,
                   [&] { return WriteShown(options, std::move(updates).value(), unchanged); });
}

/// While the ranges are shown. All keys are read before the first is deleted: no view is held while
/// the batch finds its room.
Status RangeDeleter::WriteShown(const WriteOptions& options, Writer::NetUpdates updates,
                                const Writer::Unchanged* unchanged) {
  const uint64_t since = unchanged != nullptr ? unchanged->since->sequence() : index::kLatest;
  std::vector<std::unique_ptr<Keys>> read;
  size_t count = 0;
  for (const auto& [begin, end] : updates.ranges.ranges()) {
    const Range range{begin, end ? std::optional<Slice>(*end) : std::nullopt};
    std::string from = begin;
    do {
      read.push_back(std::make_unique<Keys>());
      Keys* const keys = read.back().get();
      if (Status s = ReadKeys(range, {&from, kStep, since}, keys); !s.ok()) return s;
      BRAID_DCHECK(keys->is_last || !keys->ends.empty());  // or this would not end
      count += keys->ends.size();
      if (keys->is_last) break;
      from.assign(keys->Key(keys->ends.size() - 1)).push_back('\0');  // the next possible key
    } while (true);
  }
  // What is written anyway need not be deleted before.
  std::unordered_set<Slice> written;
  for (const log::PendingEntry& pending : updates.entries) written.insert(pending.key);
  std::vector<log::PendingEntry> entries;
  entries.reserve(count + updates.entries.size());
  for (const std::unique_ptr<Keys>& keys : read) {
    for (size_t i = 0; i < keys->ends.size(); ++i) {
      if (!written.contains(keys->Key(i))) entries.push_back(keys->Tombstone(i));
    }
  }
  const size_t deletes = entries.size();
  entries.insert(entries.end(), updates.entries.begin(), updates.entries.end());
  const bool writes = !entries.empty();
  const Status s =
      store_.writer->WriteKept(options, std::move(entries), updates.entries.size(), unchanged);
  if (s.ok()) store_.writer->CountDeletes(deletes);
  return s.ok() && !writes ? store_.writer->Admit() : s;
}

/// No view is held while a batch is written: merges that make room for it would keep what the
/// batches before it have deleted. Nobody else changes the range, so each batch finds what is left.
Status RangeDeleter::DeleteKeys(const WriteOptions& options, const Range& range,
                                uint64_t* deleted) {
  std::string from(range.begin);
  size_t step = kStep;
  for (Keys keys; !keys.is_last;) {
    if (Status s = ReadKeys(range, {&from, step}, &keys); !s.ok()) return s;
    const size_t count = keys.ends.size();
    BRAID_DCHECK(count <= step);
    if (count == 0) break;
    Status s = store_.writer->DeleteKept(options, keys.Tombstones());
    if (s.IsOutOfSpace() && count > 1) {
      step = std::max<size_t>(count / kFewer, 1);
      BRAID_DCHECK(step < count);  // in the end one delete is tried, and its error told
      keys.is_last = false;
      continue;
    }
    if (!s.ok()) return s;
    store_.writer->CountDeletes(count);
    *deleted += count;
    from.assign(keys.Key(count - 1));
  }
  return Status::OK();
}

/// Nobody is to delete a key that came of damage. What was looked up is checked.
Status RangeDeleter::CheckKeyOf(const level::MergingIterator& at) const {
  if (!store_.options->verify_checksums || at.looked_up()) return Status::OK();
  const pool::PmemPool& pool = *store_.pool;
  const format::EntryHeader* entry = at.item().entry;
  const uint64_t offset = pool.OffsetOf(entry);
  if (!pool.Holds(entry) || index::KeyIsIntact(pool, *entry, offset, base::Hash64(at.key()))) {
    return Status::OK();
  }
  return pool.CorruptionAt(offset, "entry", "its check does not match");
}

/// Of a condition: whether the key that the iterator has come to was put after `since`.
Status RangeDeleter::CheckAge(const level::MergingIterator& at, const index::ReadView& view,
                              uint64_t since) const {
  if (since == index::kLatest) return Status::OK();
  uint64_t sequence = 0;
  if (at.looked_up()) {
    Status status;
    sequence = store_.reader->LookupEntry(at.key(), view, &status, nullptr).sequence;
    if (!status.ok()) return status;
  } else {
    sequence = at.item().entry->sequence();
  }
  return sequence > since ? ChangedMeanwhile() : Status::OK();
}

/// What `look` says of the range.
Status RangeDeleter::ReadKeys(const Range& range, const Look& look, Keys* keys) {
  BRAID_DCHECK(look.step > 0);  // or it would be asked for the same keys forever
  keys->Clear();
  const level::ViewRegistry::Handle handle =
      store_.reader->RegisterView(&store_.reclaimer->clock());
  index::ReadView view = store_.reader->ViewOfNow();
  view.sequence = handle.sequence();
  const base::EpochGuard guard;
  if (store_.reader->closed()) return Status::Closed();
  const std::shared_ptr<const level::ReadState> state = store_.versions->shown().shared_from_this();
  level::MergingIterator merged = store_.reader->MergeOf(*state, view);
  merged.SetBounds(range.begin, range.end);
  const auto covers = [&](Slice key) {
    return key >= range.begin && (!range.end || key < *range.end);
  };
  for (merged.SeekGE(*look.from); merged.Valid() && covers(merged.key()); merged.Next()) {
    if (keys->ends.size() == look.step || keys->bytes.size() >= kStepBytes) return merged.status();
    if (Status s = CheckKeyOf(merged); !s.ok()) return s;
    if (Status s = CheckAge(merged, view, look.since); !s.ok()) return s;
    keys->Add(merged.key());
  }
  keys->is_last = true;
  return merged.status();
}

}  // namespace braid::write
