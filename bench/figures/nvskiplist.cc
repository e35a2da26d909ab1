#include "bench/figures/nvskiplist.h"

#include <fmt/format.h>

#include "bench/figures/frame/timeline.h"

namespace braid::figures {

Variant WbTreeVariant() { return {"wB+-tree", "wbtree", {}}; }

Variant WbTreeInPlaceVariant() { return {"wB+-tree in place", "wbtree-in-place", {}}; }

Variant RangesVariant(uint32_t ranges) {
  const std::string count = std::to_string(ranges);
  return {count + (ranges == 1 ? " range" : " ranges"),
          "braid",
          {"leaf.ranges=" + count, "leaf.divide_ranges=false", "leaf.span=3"}};
}

Variant DividedVariant() {
  return {"dividing ranges", "braid", {"leaf.ranges=1", "leaf.divide_ranges=true", "leaf.span=3"}};
}

void NoteDivided(FigureRun& run, const std::string& what, double divided, double fixed) {
  run.AddNote(
      fmt::format("Dividing ranges, which the paper leaves to the future: {}: {:.3g} "
                  "to 1 of fixed ranges.",
                  what, divided / fixed));
}

StoreRun StoreOf(const Variant& variant, const bench::WorkloadOptions& workload) {
  StoreRun store;
  store.label = variant.name;
  store.engine = variant.engine;
  store.workload = workload;
  if (variant.engine == "braid") {
    store.workload.design = "nvskiplist";
    // The wB+-tree's file is there before the clock starts, too.
    store.workload.settings.push_back("pool.initial_bytes=" +
                                      std::to_string((uint64_t{64} << 20) + workload.num * 160));
    for (const std::string& setting : variant.settings) store.workload.settings.push_back(setting);
  }
  return store;
}

Status MeasureInTurn(FigureRun& run, const std::vector<StoreRun>& stores, int rounds,
                     std::vector<Rounds>* results) {
  results->assign(stores.size(), {});
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < stores.size(); ++i) {
      Json result;
      if (const Status s = run.Measure(stores[i], &result); !s.ok()) return s;
      (*results)[i].push_back(std::move(result));
    }
  }
  return Status::OK();
}

namespace {

template <class Value>
double MedianOf(const Rounds& rounds, const std::string& benchmark, Value&& value) {
  std::vector<double> values;
  for (const Json& one : rounds) values.push_back(value(ResultOf(one, benchmark)));
  return Median(values);
}

}  // namespace

double MedianRate(const Rounds& rounds, const std::string& benchmark) {
  return MedianOf(rounds, benchmark,
                  [](const Json& result) { return result.at("ops_per_second").get<double>(); });
}

double MedianSeconds(const Rounds& rounds, const std::string& benchmark) {
  return MedianOf(rounds, benchmark,
                  [](const Json& result) { return result.at("seconds").get<double>(); });
}

double CountAnOperation(const Rounds& rounds, const std::string& benchmark,
                        const std::string& counter) {
  return MedianOf(rounds, benchmark, [&](const Json& result) {
    return result.at("counters").at(counter).get<double>() / result.at("operations").get<double>();
  });
}

std::vector<std::string> NamesOf(const std::vector<Variant>& variants) {
  std::vector<std::string> names;
  for (const Variant& variant : variants) names.push_back(variant.name);
  return names;
}

std::vector<int> ThreadCounts(const FigureRun& run) {
  std::vector<int> counts;
  for (int threads = 1; threads <= 2 * run.cores(); threads *= 2) counts.push_back(threads);
  return counts;
}

int MostThreads(const FigureRun& run) {
  int most = 1;
  for (const int threads : ThreadCounts(run)) most = threads <= run.cores() ? threads : most;
  return most;
}

}  // namespace braid::figures
