// Purpose: opens a pool by the name of its order of keys alone, for what works on the encoded keys.
// Thread safety: any thread.
// Persistence: the name is in the header of a new pool.
#pragma once

#include <memory>
#include <string>

#include "braid/db.h"

namespace braid {

/// As DB::Open; keys are those that the order `order_name` has made.
Result<std::unique_ptr<DB>> OpenNamed(const Options& options, const std::string& path,
                                      const std::string& order_name);

}  // namespace braid
