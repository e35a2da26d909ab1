// The scenarios. Thread safety, persistence: see scenario.h.
#include "bench/harness/scenario.h"

#include <algorithm>

namespace braid::bench {

const std::vector<Scenario>& AllScenarios() {
  static const std::vector<Scenario> scenarios = {
      {"at-rest",
       "after a load has settled",
       {"fillrandom", "readrandom", "readzipfian", "multireadrandom", "readseq", "seekrandom",
        "ycsb-a", "ycsb-b", "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f"},
       true},
      // A load of its own before each: the second would meet a store that has had time.
      {"scan-at-once",
       "as soon as the last put of a load has returned",
       {"fillrandom", "readseq", "fillrandom", "seekrandom", "fillrandom", "ycsb-e"},
       false},
      // The same at rest first: what a store alone can do is what it is measured by.
      {"scan-beside-writer",
       "at rest, then beside a writer of 100,000 puts a second, then beside one as fast as it can "
       "be",
       {"fillrandom", "readrandom", "readseq", "seekrandom", "ycsb-e", "readseq-beside-100k",
        "seekrandom-beside-100k", "ycsb-e-beside-100k", "readrandom-beside-100k",
        "readseq-beside-writer", "seekrandom-beside-writer", "ycsb-e-beside-writer",
        "readrandom-beside-writer"},
       true},
      // The scan shows every record in its last generation, or the run ends.
      {"sustained",
       "filled, then overwritten ten times without a pause, settling counted",
       {"sustained", "readseq"},
       true},
      {"beyond-pool",
       "ten times as much data as the pool may hold, the rest in a tier, beside RocksDB on the "
       "same "
       "device with as much DRAM",
       {"fillrandom", "readzipfian", "readrandom", "seekrandom", "ycsb-a", "ycsb-b", "ycsb-c",
        "ycsb-d", "ycsb-e", "ycsb-f", "overwrite"},
       true,
       10},
      {"designs",
       "all designs alike; then killed while they are written, and opened again",
       {"fillrandom", "readrandom", "readzipfian", "readseq", "seekrandom", "ycsb-a", "ycsb-b",
        "ycsb-c", "ycsb-d", "ycsb-e", "ycsb-f", "overwrite"},
       true,
       0,
       true,
       true},
  };
  return scenarios;
}

const Scenario* FindScenario(std::string_view name) {
  const std::vector<Scenario>& all = AllScenarios();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Scenario& scenario) { return scenario.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Status ApplyScenario(std::string_view name, WorkloadOptions* options) {
  if (const Scenario* const found = FindScenario(name); found != nullptr) {
    options->benchmarks = found->benchmarks;
    options->settle = found->settles;
    options->pool_share = found->pool_share;
    options->kill_at_end = found->is_killed;
    return Status::OK();
  }
  std::string known;
  for (const Scenario& scenario : AllScenarios()) {
    known += (known.empty() ? "" : ", ") + scenario.name;
  }
  return Status::InvalidArgument("--scenario: there is no '" + std::string(name) + "'; known are " +
                                 known);
}

}  // namespace braid::bench
