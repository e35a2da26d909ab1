// Purpose: Transaction, several reads and writes that take effect as one step, or not at all.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "braid/options.h"
#include "braid/status.h"

namespace braid {

/// Made by DB::BeginTransaction. Optimistic: nothing is locked, and nobody waits for it; when
/// another write has changed what it builds upon, Commit returns Busy, nothing is written, and the
/// caller starts over. All its reads show the state at its begin, and its own writes.
///
/// Commit succeeds only if, since the begin, nobody else has written a key that this transaction
/// has written, or has read with GetForUpdate; its writes then become visible and durable together,
/// at a moment when that is so. A key that was read with Get alone may have changed: use Get where
/// that does not matter, GetForUpdate for what the writes depend on. When all such reads are
/// GetForUpdate, transactions are serializable. There a key that is missing counts as read too; a
/// key that came and went again in between does not count as written. Of a range that this
/// transaction has deleted, a key that another has put counts as written, and one that another has
/// deleted does not: it is gone either way.
///
/// A transaction without writes is validated as well: Commit is ok only if, at one moment within
/// the call, no key that was read with GetForUpdate had changed since the begin.
///
/// Keeps what it has written in DRAM, outside the memory budget, and versions of overwritten keys
/// alive as a snapshot does: keep it short. One thread at a time. Outlives its database; then its
/// calls are Closed. Destroying it without a Commit drops it.
class Transaction {
 public:
  virtual ~Transaction() = default;

  /// What this transaction has written, or the value at its begin. Errors: those of DB::Get.
  virtual Status Get(Slice key, std::string* value) = 0;

  /// The same, and Commit fails when another has written the key since the begin. NotFound is an
  /// answer that counts, too.
  virtual Status GetForUpdate(Slice key, std::string* value) = 0;

  /// Kept until Commit. Errors: InvalidArgument (limits).
  virtual Status Put(Slice key, Slice value) = 0;
  virtual Status Delete(Slice key) = 0;

  /// Deletes the keys from `begin` (inclusive; none: from the first) to `end` (exclusive; none: to
  /// the last): what this transaction has written there, and, at Commit, what the database holds.
  /// Kept until Commit, which deletes all of it in one step with the other writes, at the cost of
  /// WriteBatch::DeleteRange. Errors: InvalidArgument (limits).
  virtual Status DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) = 0;

  /// The state at the begin: iterators at it (ReadOptions::snapshot) show what is there without the
  /// writes of this transaction; what they show is not watched. It is this object's.
  virtual const Snapshot* snapshot() const noexcept = 0;

  /// Writes all, with one fence, or nothing. Busy: another came in between; begin a new
  /// transaction. The other errors are those of DB::Write. Whatever it says, the transaction is
  /// over: later calls are InvalidArgument. Without writes and without GetForUpdate it is ok and
  /// does nothing: what was read was true at the begin. Cost: a lookup for each watched key; with
  /// writes, one more in the memtables while, as for a batch, other writes wait.
  virtual Status Commit(const WriteOptions& options) = 0;
  Status Commit() { return Commit(WriteOptions{}); }

  /// Drops all; the transaction is over.
  virtual void Rollback() noexcept = 0;
};

}  // namespace braid
