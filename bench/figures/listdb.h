// Purpose: what the figures of the ListDB chapter have in common.
// Thread safety: pure.
// Persistence: none.
#pragma once

#include <string>
#include <vector>

#include "bench/figures/frame/figure_run.h"
#include "bench/figures/frame/timeline.h"

namespace braid::figures {

inline constexpr const char* kListDbPaper = "ListDB (dissertation, chapter VI)";

/// braid with the parts that ListDB has, and `more` settings behind them.
std::vector<std::string> ListDbParts(const std::vector<std::string>& more);

/// Adds settings to a workload.
void Append(std::vector<std::string>* settings, const std::vector<std::string>& more);

/// Put, flush and merge throughput over time, in thousands of records a second. Flushes and merges
/// are told when they end: they are drawn over the time they took.
Panel FlowPanel(const std::string& title, const Json& result, bool with_merges);

/// The share of the workers' time in which they were held back, from stall_ns.
double StallShare(const Json& result);

/// What the last sample says of a field; 0 when the store does not tell it.
double LastOf(const Json& result, const std::string& field);

/// Records that flushes made durable a second while they ran, not counting idle time.
double FlushCapacity(const Json& result);
/// The same of merges.
double MergeCapacity(const Json& result);

}  // namespace braid::figures
