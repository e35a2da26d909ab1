// Purpose: the parts of a comparison's page that belong to its scenario: goals, the store over time
// while it is overwritten, and what is left of its speed while it is written.
// Thread safety: functions without state.
// Persistence: none.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace braid::bench {

/// Stores and their colours, in the order of the legend.
using StoreColours = std::vector<std::pair<std::string, int>>;

/// "goals" as a table; nothing without them.
std::string RenderGoals(const nlohmann::json& document);
/// Throughput, latency, space and processor time of each store in one picture each, over time and
/// over the rounds; nothing when no result has a series.
std::string RenderOverTime(const nlohmann::json& document, const StoreColours& stores);
/// Each "NAME-beside-..." as a share of NAME at rest, and what the writer reached; nothing without
/// such rows.
std::string RenderBeside(const nlohmann::json& document, const StoreColours& stores);
/// Processor time an operation as bars; nothing when no row has it.
std::string RenderCosts(const nlohmann::json& document, const StoreColours& stores);

/// What a scenario is about, for headings: "overwritten without a pause"; its name when unknown.
std::string ScenarioTitle(const std::string& scenario);

}  // namespace braid::bench
