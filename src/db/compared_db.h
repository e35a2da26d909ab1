// Purpose: a database in the order of a comparator, over one in byte order.
// Thread safety: as DB says. Writes take turns; reads do not wait for them.
// Locks: the mutex of writes, before all those of the database below.
// Invariants:
//   1. Every value below belongs to a key of the tree (key_tree.h), and every key of the tree has a
//      value, in each state that the database below can show, except what an inconsistent
//      comparator has misplaced.
//   2. Of keys that compare as equal one has a value: the one that was put last.
// Persistence: values and nodes change in one batch. On page-cache media a power loss takes batches
// that were not synced, of which a later one may be left: then, and after a repair, the tree is
// made again from the values when the pool is opened; TreeFacts::is_whole says when that is done.
#pragma once

#include <memory>
#include <string>

#include "braid/db.h"

namespace braid {

/// InvalidArgument for a name that can't be one.
Status CheckComparator(const Comparator& comparator);

/// What the header of a pool has in the place of the name of an order: the name, or, where it is
/// too long for the place, its beginning and a hash. No name of a KeyOrder.
std::string HeaderNameOf(std::string_view comparator);
/// Whether a header says that the pool has a comparator.
bool IsComparatorName(std::string_view header_name);

/// `db` is a pool whose header says HeaderNameOf(comparator). `read_only`: it is opened so. Errors:
/// InvalidArgument (its comparator has another name), NotSupported (the design has no snapshots or
/// no atomic batches; or the tree must be made again, and it is opened read-only), Corruption.
Result<std::unique_ptr<DB>> InComparison(std::unique_ptr<DB> db,
                                         std::shared_ptr<const Comparator> comparator,
                                         bool read_only);

/// For a repaired pool: the next open makes the tree again.
Status ForgetTree(DB* db);

}  // namespace braid
