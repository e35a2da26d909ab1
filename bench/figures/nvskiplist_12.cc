// Figure 12: inserts by number of ranges, of uniform and Zipfian keys.
#include <algorithm>

#include "bench/figures/all_figures.h"
#include "bench/figures/nvskiplist_zones.h"

namespace braid::figures {
namespace nvskiplist_12 {
namespace {

constexpr uint64_t kRecords = 2'000'000;
constexpr int kRounds = 3;

Status Run(FigureRun& run) {
  const std::vector<uint32_t> counts = {1, 10, 20, 50, 100, 500};
  std::vector<Variant> variants;
  Panel panel;
  panel.title = std::to_string(run.Scaled(kRecords)) + " inserts by " +
                std::to_string(MostThreads(run)) + " threads";
  panel.kind = PanelKind::kBars;
  panel.x_label = "ranges";
  panel.y_label = "thousand inserts/s";
  for (const uint32_t count : counts) {
    variants.push_back(RangesVariant(count));
    panel.categories.push_back(std::to_string(count));
  }
  variants.push_back(DividedVariant());
  panel.categories.push_back("divided");
  std::vector<InsertLoad> loads;
  for (const bool zipfian : {false, true}) {
    for (const Variant& variant : variants) {
      loads.push_back({variant, MostThreads(run), run.Scaled(kRecords), zipfian});
    }
  }
  std::vector<double> rates;
  if (Status s = MeasureInsertsInTurn(run, loads, kRounds, &rates); !s.ok()) return s;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(variants.size());
  const std::vector<double> uniform(rates.begin(), middle);
  const std::vector<double> zipfian(middle, rates.end());
  panel.series = {{"uniform", {}, uniform}, {"Zipfian", {}, zipfian}};
  run.AddPanel(panel);

  const size_t last = counts.size() - 1;
  const auto begin = uniform.begin() + 1;  // from 10 ranges on, as in the paper
  const auto end = uniform.begin() + static_cast<std::ptrdiff_t>(counts.size());
  run.AddCheck({"uniform keys, 10 to 500 ranges: fastest to slowest",
                *std::max_element(begin, end) / *std::min_element(begin, end), Direction::kAtMost,
                1.1, 1.3, "1: the number does not matter", "more ranges save steps of the search"});
  run.AddCheck({"Zipfian keys: 500 ranges to 10", zipfian[last] / zipfian[1], Direction::kAtLeast,
                1.1, 1.0, "above 1",
                "searches descend by logarithm, so that hot ranges cost little more than others"});
  run.AddCheck({"gain from 10 to 500 ranges, Zipfian to uniform keys",
                (zipfian[last] / zipfian[1]) / (uniform[last] / uniform[1]), Direction::kAtLeast,
                1.05, 1.0, "above 1",
                "searches descend by logarithm, so that hot ranges cost little more than others"});
  NoteDivided(run, "Zipfian keys, inserts a second, to the best fixed number", zipfian.back(),
              *std::max_element(zipfian.begin(), zipfian.end() - 1));
  NoteDivided(run, "uniform keys, inserts a second, to the best fixed number", uniform.back(),
              *std::max_element(uniform.begin(), uniform.end() - 1));
  return Status::OK();
}

}  // namespace
}  // namespace nvskiplist_12

FigureSpec NvSkiplistFigure12() {
  return {"nvskiplist-12",
          "Inserts by number of ranges",
          kNvSkiplistPaper,
          "4.3.1, figure 12",
          "With uniform keys the number of ranges does not matter. With Zipfian keys more ranges "
          "insert faster, since they part the hot zones.",
          std::string(kZonesSetting) +
              " The most threads, of 1, 2, 4 ..., that have a processor each, instead of 8.",
          false,
          nvskiplist_12::Run};
}

}  // namespace braid::figures
