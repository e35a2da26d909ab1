// Purpose: scenarios, named lists of benchmarks with the state of the store that they ask about: at
// rest, at once after a load, beside a writer, overwritten without a pause, larger than the pool,
// killed. Thread safety: functions without state. Persistence: none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/workload_options.h"

namespace braid::bench {

struct Scenario {
  std::string name;
  std::string summary;
  std::vector<std::string> benchmarks;
  bool settles = true;
  uint64_t pool_share = 0;  ///< WorkloadOptions::pool_share
  bool is_killed = false;   ///< WorkloadOptions::kill_at_end
  bool of_designs = false;  ///< it compares braid's designs, where no stores are named
};

const std::vector<Scenario>& AllScenarios();

/// Null when there is none of that name.
const Scenario* FindScenario(std::string_view name);

/// Sets the benchmarks of the scenario, and whether the store settles between them.
/// InvalidArgument names the known ones.
Status ApplyScenario(std::string_view name, WorkloadOptions* options);

}  // namespace braid::bench
