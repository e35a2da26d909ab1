// Purpose: where reading goes on behind damage, when all that can be asked is whether a key can be
// read.
// Thread safety: pure.
// Persistence: none.
#pragma once

#include <functional>
#include <string>

namespace braid::tier {

/// About the first key behind `hidden`, which can't be read, that can be; at most `shown`, which
/// can be. What can be read is passed only between two places that can't be, and then no more than
/// lies between `hidden` and the first of them. Cost: some 128 questions for each eight bytes that
/// tell keys apart.
std::string FirstReadable(std::string hidden, std::string shown,
                          const std::function<bool(const std::string&)>& is_readable);

}  // namespace braid::tier
