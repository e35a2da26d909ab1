// Purpose: the version of the library. SemVer for the API; the format version is an integer of its
// own.
#pragma once

#define BRAID_VERSION_MAJOR 0
#define BRAID_VERSION_MINOR 1
#define BRAID_VERSION_PATCH 0
#define BRAID_VERSION_STRING "0.1.0"

namespace braid {
/// Version of the bytes in a pool that this library writes.
inline constexpr unsigned kFormatVersion = 2;
}  // namespace braid
