// What `braid top` shows: a screen, a line, an object; from two looks at a process.
//
// Thread safety: functions without state.
// Persistence: none.
// Invariants:
//   1. Rates are growth over the time between the two snapshots by the publisher's clock; without
//      an earlier snapshot there is none, and "-" is shown, not nought.
//   2. No line of a screen is longer than the terminal is wide.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/stats_file.h"

namespace braid::tools {

/// Growth of a counter a second; none without `before`, and when the counter has restarted.
std::optional<double> RateOf(std::string_view name, const StatsSnapshot& now,
                             const StatsSnapshot* before);

/// The whole screen, lines ended by a newline. `before` may be null.
std::string TopScreen(const std::string& pool, const StatsSnapshot& now,
                      const StatsSnapshot* before, size_t columns);

/// The names of TopLine's columns, and the line; both without a newline.
std::string TopHeader();
std::string TopLine(const StatsSnapshot& now, const StatsSnapshot* before);

/// The same for programs: an object of rates and of current values.
std::string TopJson(const StatsSnapshot& now, const StatsSnapshot* before);

}  // namespace braid::tools
