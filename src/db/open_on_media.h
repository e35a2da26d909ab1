// Purpose: opens a database on a medium that is not a directory; for the crash simulator and tests.
// Thread safety: any thread.
// Persistence: the medium's.
#pragma once

#include <memory>

#include "braid/db.h"
#include "media/media.h"

namespace braid {

/// Creates the pool when `media` has no published segment. With options.read_only the engine
/// changes nothing beyond what recovery does; whether that reaches the medium is the medium's
/// business.
Result<std::unique_ptr<DB>> OpenOnMedia(const Options& options,
                                        std::unique_ptr<media::Media> media);

}  // namespace braid
