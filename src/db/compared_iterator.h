// Purpose: an iterator in the order of a comparator.
// Thread safety: one thread at a time, as for any iterator.
// Persistence: none.
#pragma once

#include <memory>

#include "braid/db.h"
#include "db/key_tree.h"

namespace braid {

/// `nodes` and `values` are iterators of the database below, at one moment. Keeps both, and
/// `comparator`.
std::unique_ptr<Iterator> NewComparedIterator(std::shared_ptr<const Comparator> comparator,
                                              const ReadOptions& bounds,
                                              std::unique_ptr<Iterator> nodes,
                                              std::unique_ptr<Iterator> values);

/// Reads nodes by seeks of an iterator, which must outlive it.
NodeReader NodesOf(Iterator* nodes);

}  // namespace braid
