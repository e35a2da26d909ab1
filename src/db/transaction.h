// Purpose: transactions over an engine.
// Thread safety: one thread at a time, as transaction.h says.
// Persistence: none before Commit, which is the engine's conditional batch.
#pragma once

#include <memory>

#include "braid/db.h"
#include "engine/engine.h"

namespace braid {

/// Begins at `snapshot`, which is one of `engine` and not null.
std::unique_ptr<Transaction> NewTransaction(std::shared_ptr<engine::Engine> engine,
                                            std::shared_ptr<const Snapshot> snapshot);

}  // namespace braid
