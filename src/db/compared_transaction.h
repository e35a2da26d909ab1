// Purpose: transactions in the order of a comparator.
// Thread safety: one thread at a time, as transaction.h says.
// Persistence: none before Commit, which writes one batch.
#pragma once

#include <functional>
#include <memory>

#include "braid/db.h"
#include "db/compared_edit.h"

namespace braid {

/// What a transaction needs of its database, and keeps.
struct ComparedStore {
  std::shared_ptr<DB> below;
  std::shared_ptr<const Comparator> comparator;
  /// Runs a change while no other write comes: `change` fills an edit, which is then committed.
  std::function<Status(const WriteOptions& options,
                       const std::function<Status(ComparedEdit* edit)>& change)>
      apply;
};

/// `watch` is a transaction of the database below that has just begun: it has the snapshot, and
/// watches values.
std::unique_ptr<Transaction> NewComparedTransaction(ComparedStore store,
                                                    std::unique_ptr<Transaction> watch);

/// The key whose value a read at `snapshot` (not null) finds for `key`; none: none compares as
/// equal. `*value` becomes the value; null: it is not wanted.
Status FindAt(const ComparedStore& store, const Snapshot* snapshot, Slice key,
              std::optional<std::string>* stored, std::string* value);

}  // namespace braid
