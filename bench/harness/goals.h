// Purpose: what braid is to reach in each scenario, and whether a comparison shows it.
// Thread safety: functions without state.
// Persistence: none.
#pragma once

#include <nlohmann/json.hpp>

namespace braid::bench {

/// Judges the "summary" of a comparison by the goals of its scenario ("parameters", "machine").
/// An array of {"benchmark", "what", "peer", "value", "goal", "at_least", "met"}: `value` is a
/// ratio when there is a peer, else a number with the unit that `what` names. Goals whose numbers
/// were not measured, and those of other sizes, are left out.
nlohmann::json JudgeGoals(const nlohmann::json& document);

/// "met" or "missed", and the goal, for people: "0.77 (goal 1.00): missed".
std::string FormatGoal(const nlohmann::json& judged);

}  // namespace braid::bench
