// Figure 11: inserts by number of threads, of uniform and Zipfian keys into 10 and 100 ranges.
#include <fmt/format.h>

#include "bench/figures/all_figures.h"
#include "bench/figures/nvskiplist_zones.h"

namespace braid::figures {
namespace nvskiplist_11 {
namespace {

constexpr uint64_t kRecords = 2'000'000;
constexpr int kRounds = 3;

/// Rates by number of threads, of uniform and of Zipfian keys.
Status MeasureBoth(FigureRun& run, const std::vector<Variant>& variants, Panel* uniform,
                   Panel* zipfian) {
  for (Panel* panel : {uniform, zipfian}) {
    panel->x_label = "threads";
    panel->y_label = "thousand inserts/s";
    for (const Variant& variant : variants) panel->series.push_back({variant.name, {}, {}});
  }
  for (const int threads : ThreadCounts(run)) {
    std::vector<InsertLoad> loads;
    for (const bool skewed : {false, true}) {
      for (const Variant& variant : variants) {
        loads.push_back({variant, threads, run.Scaled(kRecords), skewed});
      }
    }
    std::vector<double> rates;
    if (Status s = MeasureInsertsInTurn(run, loads, kRounds, &rates); !s.ok()) return s;
    for (size_t i = 0; i < loads.size(); ++i) {
      Series& series = (loads[i].zipfian ? zipfian : uniform)->series[i % variants.size()];
      series.x.push_back(threads);
      series.y.push_back(rates[i]);
    }
  }
  return Status::OK();
}

Status Run(FigureRun& run) {
  Panel uniform;
  uniform.title = "(a) " + std::to_string(run.Scaled(kRecords)) + " inserts, uniform keys";
  Panel zipfian;
  zipfian.title = "(b) the same, Zipfian keys";
  const std::vector<Variant> variants = {RangesVariant(10), RangesVariant(100), DividedVariant()};
  if (Status s = MeasureBoth(run, variants, &uniform, &zipfian); !s.ok()) return s;
  run.AddPanel(uniform);
  run.AddPanel(zipfian);

  size_t most = 0;
  while (uniform.series[0].x[most] < MostThreads(run)) ++most;
  const std::string with = " with " + std::to_string(MostThreads(run)) + " threads";
  const auto even = [&](size_t variant) { return uniform.series[variant].y[most]; };
  const auto hot = [&](size_t variant) { return zipfian.series[variant].y[most]; };
  run.AddCheck({"uniform keys" + with + ": 100 ranges to 10", even(1) / even(0),
                Direction::kAtLeast, 1.05, 0.98, "above 1 (but its figure 12 sees no difference)",
                "searches descend by logarithm, so that ranges save few steps"});
  run.AddCheck({"10 ranges" + with + ": Zipfian to uniform keys", hot(0) / even(0),
                Direction::kAtMost, 0.95, 1.0, "below 1",
                "a range's height grows with the logarithm of its leaves, not up to a limit that "
                "makes searches linear, and hot leaves stay in the processor's caches"});
  run.AddCheck({"what Zipfian keys cost with 10 ranges to what they cost with 100" + with,
                (even(0) / hot(0)) / (even(1) / hot(1)), Direction::kAtLeast, 1.05, 0.98, "above 1",
                "hot zones cost little with 10 ranges already"});
  NoteDivided(run, "Zipfian keys, inserts a second" + with + ", to 10 ranges", hot(2), hot(0));
  NoteDivided(run, "Zipfian keys, inserts a second" + with + ", to 100 ranges", hot(2), hot(1));
  run.AddNote(
      fmt::format("Dividing ranges{}: Zipfian keys are inserted at {:.3g} times the rate "
                  "of uniform ones.",
                  with, hot(2) / even(2)));
  return Status::OK();
}

}  // namespace
}  // namespace nvskiplist_11

FigureSpec NvSkiplistFigure11() {
  return {"nvskiplist-11",
          "Inserts of uniform and Zipfian keys by number of threads",
          kNvSkiplistPaper,
          "4.3.1, figure 11",
          "More ranges insert faster. Zipfian keys are slower than uniform ones, most of all with "
          "few ranges, since hot zones fill some ranges and leave others empty. Dividing ranges as "
          "they grow is left to the future.",
          kZonesSetting,
          false,
          nvskiplist_11::Run};
}

}  // namespace braid::figures
