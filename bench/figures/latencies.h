// Purpose: latencies of random writes and of the reads behind them, store by store, as several
// papers draw them; and LevelDB beside a design, with buffers of the same size.
// Thread safety: none needed.
// Persistence: none.
#pragma once

#include <string>
#include <vector>

#include "bench/figures/frame/figure_run.h"

namespace braid::figures {

/// A series a store, a value a point.
struct Latencies {
  std::vector<Series> write;
  std::vector<Series> read;

  /// Measures the store number `number` at the next point `x`, which is called `point`: writes of
  /// all records at random, then as many reads.
  Status Add(FigureRun& run, StoreRun store, size_t number, double x, const std::string& point);
  /// Two panels; `title` tells them from others of the figure.
  void AddPanels(FigureRun& run, const std::string& x_label, const std::string& title = "") const;
};

/// Microseconds an operation, by all the time that a benchmark took.
double MicrosAnOperation(const Json& result, const std::string& benchmark);

StoreRun LevelDb(const bench::WorkloadOptions& workload, uint64_t write_buffer_bytes);
/// Whether LevelDB is in this build; else a note says that nothing is judged against it.
bool HasLevelDb(FigureRun& run);

}  // namespace braid::figures
