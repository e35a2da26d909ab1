// Purpose: an iterator in the order of a comparator.
// Thread safety: one thread at a time, as for any iterator.
// Persistence: none.
#pragma once

#include <memory>

#include "braid/db.h"
#include "db/key_tree.h"

namespace braid {

/// Over `below`, which has the tree and the values, at the snapshot of the options or this moment.
/// Keeps `below` and `comparator`. Errors of the database below are the iterator's status.
std::unique_ptr<Iterator> NewComparedIterator(std::shared_ptr<DB> below,
                                              std::shared_ptr<const Comparator> comparator,
                                              const ReadOptions& options);

/// Reads nodes by seeks of an iterator, which must outlive it.
NodeReader NodesOf(Iterator* nodes);

}  // namespace braid
