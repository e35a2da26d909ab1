// Where a run stands, as the line that replays a failure names it: seed:point:image.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace braid::crash {

/// Points count from 1; point 0 means that the failure shows without any crash.
struct Position {
  uint64_t seed = 0;
  uint64_t point = 0;
  /// The image, by its number in the plan, or by the prefixes of its lines.
  uint64_t image = 0;
  bool by_prefixes = false;
  std::vector<uint32_t> prefixes;
};

/// "seed:point:number" or "seed:point:p1.0.3" (zeroes at the end are left out).
std::string ToText(const Position& position);
/// False when the text is no position.
bool ParsePosition(const char* text, Position* position);

/// The image under way, for the message of a process that dies in it.
extern Position current_position;
extern const char* current_workload;

}  // namespace braid::crash
