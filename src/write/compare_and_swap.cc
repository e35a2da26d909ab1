// Purpose: the conditional write: read, compare, insert unless another write intervened.
// Thread safety, invariants, persistence: see writer.h.
//
// Why it is one step. A call that stores takes effect when it draws its number, under the lock of
// the key's leaf in the memtable that was active before the read began. If that memtable is still
// active after the draw, every newer version of the key is in this leaf (or was in an older table
// when the key was read there), and the leaf holds only the version that was read: so at the draw
// the key held what was compared. A call that does not store takes effect when it reads. A batch
// inserts under all shard locks; a conditional insert, which holds one, meets it whole.
#include "base/check.h"
#include "base/epoch.h"
#include "write/writer.h"

namespace braid::write {

using format::EntryHeader;
using format::EntryOp;

Result<bool> Writer::CompareAndSwap(const WriteOptions& options, Slice key,
                                    std::optional<Slice> expected, Slice desired) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  if (Status s = engine::CheckValue(desired); !s.ok()) return s;
  log::PendingEntry pending;
  pending.op = EntryOp::kPut;
  pending.key = key;
  pending.value = desired;
  pending.key_hash = base::Hash64(key);
  const base::Stalls::WriteWatch watch(store_.controller->stalls());
  space::LargeValues::Scope large(store_.large_values, {&pending, 1});
  bool wants_copy = false;
  bool stored = false;
  Status s = AttemptUntilDone(For::kUser, [&] {
    if (wants_copy) {
      if (Status copied = CopyLarge(&large, pool::AllocationClass::kWrite); !copied.ok()) {
        return copied;
      }
    }
    Result<bool> swapped = TryCompareAndSwap(&pending, expected, large, &wants_copy);
    stored = swapped.ok() && *swapped;
    return swapped.status();
  });
  if (!s.ok()) return s;
  if (!stored) return false;
  counters_.Add(Counter::kPuts);
  counters_.Add(Counter::kBytesPut, key.size() + desired.size());
  if (s = AfterWrite(options); !s.ok()) return s;
  return true;
}

/// One attempt. TryAgain when the key was written, or the memtable switched, after the read; or
/// when the value must be copied first, which `*wants_copy` says: it is large, and what was
/// compared was equal.
Result<bool> Writer::TryCompareAndSwap(log::PendingEntry* pending, std::optional<Slice> expected,
                                       const space::LargeValues::Scope& large, bool* wants_copy) {
  const base::EpochGuard guard;
  if (closed()) return Status::Closed();
  // Before the read, which may look at a newer state: a memtable that is no longer active then
  // refuses the insert.
  memtable::MemTable* const target = store_.versions->shown().active.get();
  memtable::MemTable::Condition condition{0};
  const index::ReadView view = store_.reader->ViewOfNow();
  Status status;
  tier::Found held;
  const index::LookupResult now = store_.reader->LookupEntry(pending->key, view, &status, &held);
  if (!status.ok()) return status;
  const bool found = now.state == index::LookupResult::State::kFound;
  if (found != expected.has_value()) return false;
  if (found) {
    std::string_view value;
    if (Status s = store_.reader->ValueOf(now.value, &value); !s.ok()) return s;
    if (value != *expected) return false;
  }
  *wants_copy = large.wants_copy();
  if (*wants_copy) return Status::TryAgain("");
  // The leaf is to hold what was read, or nothing where no version is known.
  BRAID_DCHECK(now.has_version() || now.sequence == 0);
  condition.sequence = now.sequence;
  if (Status s = Insert(target, pending, &condition); !s.ok()) return s;
  return true;
}

}  // namespace braid::write
