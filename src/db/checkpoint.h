// Purpose: checkpoints of an open database, and pools made of them.
// Thread safety: any thread; two to one target get in each other's way, and one of them fails.
// Persistence: the new pool is made under another name, closed and synced; its rename is the commit
// point.
#pragma once

#include <string>

#include "braid/db.h"
#include "engine/engine.h"

namespace braid {

/// Writes what `engine`, which was opened with `options`, holds now to a new pool at `target`.
Status WriteCheckpoint(engine::Engine* engine, const Options& options, const std::string& target,
                       const CheckpointOptions& checkpoint_options);

}  // namespace braid
