// Figure 10: updates by number of threads.
#include "bench/figures/all_figures.h"
#include "bench/figures/nvskiplist.h"

namespace braid::figures {
namespace nvskiplist_10 {
namespace {

constexpr uint64_t kRecords = 1'000'000;
constexpr int kRounds = 3;
constexpr const char* kUpdate = "overwrite";

/// Rates of all variants by number of threads, on a slow medium or on the one there is.
Status MeasureMedium(FigureRun& run, const std::vector<Variant>& variants,
                     const std::string& emulate_pmem, Panel* panel) {
  panel->x_label = "threads";
  panel->y_label = "thousand updates/s";
  for (const Variant& variant : variants) panel->series.push_back({variant.name, {}, {}});
  for (const int threads : ThreadCounts(run)) {
    bench::WorkloadOptions workload = run.Workload(run.Scaled(kRecords), 8, 8);
    workload.benchmarks = {"fillrandom", kUpdate};
    workload.distribution = "uniform";
    workload.threads = threads;
    workload.emulate_pmem = emulate_pmem;
    std::vector<StoreRun> stores;
    for (const Variant& variant : variants) {
      stores.push_back(StoreOf(variant, workload));
      stores.back().label += ", " + std::to_string(threads) + " threads";
    }
    std::vector<Rounds> results;
    if (Status s = MeasureInTurn(run, stores, kRounds, &results); !s.ok()) return s;
    for (size_t i = 0; i < variants.size(); ++i) {
      panel->series[i].x.push_back(threads);
      panel->series[i].y.push_back(MedianRate(results[i], kUpdate) / 1e3);
    }
  }
  return Status::OK();
}

void AddChecks(FigureRun& run, const Panel& panel, const std::string& medium) {
  size_t most = 0;
  while (panel.series[0].x[most] < MostThreads(run)) ++most;
  const std::string at = std::to_string(MostThreads(run)) + " threads";
  const auto rate = [&](size_t variant) { return panel.series[variant].y[most]; };
  const auto speedup = [&](size_t variant) { return rate(variant) / panel.series[variant].y[0]; };
  run.AddCheck({medium + ": speed-up from 1 to " + at + ", 100 ranges to wB+-tree",
                speedup(3) / speedup(0), Direction::kAtLeast, 1.1, 0.97,
                "above 1 (read off the figure)",
                "this wB+-tree locks one leaf, and its readers none, so that uniform updates meet "
                "as seldom as in ranges; the paper does not say how its own locked"});
  run.AddCheck({medium + ": updates a second with " + at + ", 100 ranges to wB+-tree",
                rate(3) / rate(0), Direction::kAtLeast, 1.2, 1.0, "above 1 (read off the figure)",
                kPutsUnlike});
  run.AddCheck({medium + ": updates a second with " + at + ", 100 ranges to one range",
                rate(3) / rate(2), Direction::kAtLeast, 1.05, 0.97, "above 1",
                "updates lock leaves, not ranges"});
  NoteDivided(run, medium + ", updates a second with " + at, rate(4), rate(3));
}

Status Run(FigureRun& run) {
  const std::vector<Variant> variants = {WbTreeVariant(), WbTreeInPlaceVariant(), RangesVariant(1),
                                         RangesVariant(100), DividedVariant()};
  const std::string records = std::to_string(run.Scaled(kRecords));
  if (!run.emulate_pmem().empty()) {
    Panel slow;
    slow.title = "(a) updates of " + records + " records, slow medium";
    if (Status s = MeasureMedium(run, variants, run.emulate_pmem(), &slow); !s.ok()) return s;
    run.AddPanel(slow);
    AddChecks(run, slow, "slow medium");
  }
  Panel plain;
  plain.title = "(b) the same, medium as it is";
  if (Status s = MeasureMedium(run, variants, "", &plain); !s.ok()) return s;
  run.AddPanel(plain);
  AddChecks(run, plain, "medium as it is");
  run.AddNote(kNvSkiplistUnlike);
  run.AddNote(
      "In place: the wB+-tree overwrites the value, 8 bytes, where it is: one line and one fence. "
      "The paper's does not, and no store of values of any length can.");
  run.AddNote(
      "Where there are more threads than processors, one that holds a lock may lose its "
      "own; the checks are made where each has one.");
  return Status::OK();
}

}  // namespace
}  // namespace nvskiplist_10

FigureSpec NvSkiplistFigure10() {
  return {
      "nvskiplist-10",
      "Updates by number of threads",
      kNvSkiplistPaper,
      "4.3.1, figure 10",
      "Updates of 2 million records with uniform keys scale better with threads than in a "
      "wB+-tree, since ranges keep the threads apart and the lists need no locks.",
      "8-byte keys and values, 1 million records; up to twice this machine's processors instead "
      "of 24. The slow medium slows the wB+-tree down in the same way.",
      true,
      nvskiplist_10::Run};
}

}  // namespace braid::figures
