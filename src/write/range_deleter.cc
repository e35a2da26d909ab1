// Purpose: reads and deletes the keys of a range.
// Thread safety, invariant, persistence: see range_deleter.h.
//
// Why writes to the range cannot slip in between. The range is shown to writers while all shard
// locks are held, when no write is under way; from then on a writer whose key it covers finds it
// under its shard lock, and waits (KeptRange::Own). So no key of the range changes from the read to
// the last delete, and the whole is one step among writes: each other write to the range comes
// before all of it or after all of it. It ends in the same way, so that nobody looks at a range
// that is gone. Concurrent reads and snapshots see a batch whole or not at all.
#include "write/range_deleter.h"

#include <algorithm>
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
  std::vector<log::PendingEntry> Drafts() const {
    std::vector<log::PendingEntry> entries(ends.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      entries[i].op = format::EntryOp::kDelete;
      entries[i].key = Key(i);
      entries[i].key_hash = base::Hash64(entries[i].key);
    }
    return entries;
  }
};

Status RangeDeleter::Delete(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                            uint64_t* deleted) {
  *deleted = 0;
  if (Status s = engine::CheckKey(begin); !s.ok()) return s;
  if (end && *end <= begin) return store_.reader->closed() ? Status::Closed() : Status::OK();
  if (Status s = store_.writer->Admit(); !s.ok()) return s;  // it may find nothing to delete
  const auto one_at_a_time = store_.writer->OwnKeptRange();
  const KeyRange range{begin, end};
  store_.writer->ShowKeptRange(&range);
  const Status s = base::CatchToStatus([&] { return DeleteKeys(options, range, deleted); });
  store_.writer->ShowKeptRange(nullptr);
  return s;
}

/// No view is held while a batch is written: merges that make room for it would keep what the
/// batches before it have deleted. Nobody else changes the range, so each batch finds what is left.
Status RangeDeleter::DeleteKeys(const WriteOptions& options, const KeyRange& range,
                                uint64_t* deleted) {
  std::string from(range.begin);
  size_t step = kStep;
  for (Keys keys; !keys.is_last;) {
    if (Status s = ReadKeys(range, from, step, &keys); !s.ok()) return s;
    const size_t count = keys.ends.size();
    BRAID_DCHECK(count <= step);
    if (count == 0) break;
    Status s = store_.writer->DeleteKept(options, keys.Drafts());
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

/// The first `step` keys of the range from the key `from` on.
Status RangeDeleter::ReadKeys(const KeyRange& range, const std::string& from, size_t step,
                              Keys* keys) {
  BRAID_DCHECK(step > 0);  // or it would be asked for the same keys forever
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
  for (merged.SeekGE(from); merged.Valid() && range.Covers(merged.key()); merged.Next()) {
    if (keys->ends.size() == step || keys->bytes.size() >= kStepBytes) return merged.status();
    if (Status s = CheckKeyOf(merged); !s.ok()) return s;
    keys->Add(merged.key());
  }
  keys->is_last = true;
  return merged.status();
}

}  // namespace braid::write
