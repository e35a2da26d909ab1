// The statistics of a store as Prometheus metrics: the one table that `braid metrics` and
// docs/guide/metrics.md are made from.
//
// Thread safety: pure functions.
// Persistence: none.
// Invariants:
//   1. Every field of ListFields() is in the table once, and the table has no other
//      (metric_table_test.cc); but those of latencies, which are one histogram a kind.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/stats_file.h"

namespace braid::tools {

struct Metric {
  const char* field;  ///< of Statistics
  const char* name;   ///< base units; "_total" at the end of a counter
  const char* label;  ///< `layer="upper",region="local"`, or empty
  bool counter;       ///< only grows while a process has the pool open
  double unit;        ///< a field's one in base units: 1e-6 for microseconds
  const char* help;   ///< one sentence without a full stop; shared by the rows of one name
};

/// Rows of one name are adjacent.
const std::vector<Metric>& MetricTable();

/// What the text says beside the statistics.
struct MetricsSource {
  std::string pool;                                        ///< label `pool` of every line
  std::vector<std::pair<std::string, std::string>> facts;  ///< further labels of braid_info
  const StatsSnapshot* snapshot = nullptr;                 ///< null: no process tells anything
};

/// Prometheus' text exposition format, version 0.0.4. Fields that the snapshot lacks are left out.
std::string MetricsText(const MetricsSource& source);

/// docs/guide/metrics.md.
std::string MetricsPage();

}  // namespace braid::tools
