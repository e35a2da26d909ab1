// Figure 7: the time to get with one thread.
#include "bench/figures/all_figures.h"
#include "bench/figures/nvskiplist.h"

namespace braid::figures {
namespace nvskiplist_7 {
namespace {

constexpr uint64_t kRecords = 2'000'000;
constexpr int kRounds = 3;
constexpr const char* kGet = "readrandom";

Variant Unchecked(Variant variant) {
  variant.name += ", unchecked";  // entries' checksums
  variant.settings.push_back("verify_checksums=false");
  return variant;
}

Status Run(FigureRun& run) {
  const std::vector<Variant> variants = {WbTreeVariant(),
                                         RangesVariant(1),
                                         RangesVariant(10),
                                         RangesVariant(64),
                                         RangesVariant(100),
                                         DividedVariant(),
                                         Unchecked(RangesVariant(100))};
  bench::WorkloadOptions workload = run.Workload(run.Scaled(kRecords), 8, 8);
  workload.benchmarks = {"fillrandom", kGet};
  std::vector<StoreRun> stores;
  for (const Variant& variant : variants) stores.push_back(StoreOf(variant, workload));
  std::vector<Rounds> results;
  if (Status s = MeasureInTurn(run, stores, kRounds, &results); !s.ok()) return s;

  Panel time;
  time.title = "time of " + std::to_string(run.Scaled(kRecords)) + " gets";
  time.kind = PanelKind::kBars;
  time.y_label = "seconds";
  time.categories = NamesOf(variants);
  Series seconds{"seconds", {}, {}};
  for (const Rounds& rounds : results) seconds.y.push_back(MedianSeconds(rounds, kGet));
  time.series = {seconds};
  run.AddPanel(time);

  const double tree = seconds.y[0];
  run.AddCheck({"time of one range to that of the wB+-tree", seconds.y[1] / tree,
                Direction::kAtLeast, 1.3, 1.05, "1.45 (45 % slower)",
                "searches raise nodes until paths are short, and fingerprints in DRAM find the "
                "pair without a walk through the leaf"});
  run.AddCheck(
      {"time of 100 ranges to that of the wB+-tree", seconds.y[4] / tree, Direction::kAtMost, 1.1,
       1.45, "about 1",
       "linked nodes, and an entry of any length behind a reference, touch two to three times "
       "the lines that the wB+-tree does (figure 9); the last bar shows what checksums "
       "cost"});
  run.AddCheck({"time of one range to that of 100 ranges", seconds.y[1] / seconds.y[4],
                Direction::kAtLeast, 1.15, 1.0, "1.4 or so (read off the figure)",
                "searches descend by logarithm, so that 100 ranges save few steps"});
  NoteDivided(run, "time of gets, to 100 ranges", seconds.y[5], seconds.y[4]);
  run.AddNote(kNvSkiplistUnlike);
  run.AddNote(
      "Unchecked: the checksums of entries are not looked at when they are read "
      "(verify_checksums=false).");
  return Status::OK();
}

}  // namespace
}  // namespace nvskiplist_7

FigureSpec NvSkiplistFigure7() {
  return {"nvskiplist-7",
          "Gets: wB+-tree and leaves under skip lists",
          kNvSkiplistPaper,
          "4.2.2, figure 7",
          "With one range gets are 45 % slower than in a wB+-tree, since a search follows pointers "
          "from node to node and misses the cache at each. With 100 ranges they are as fast.",
          "One thread, 8-byte keys and values, uniform keys, 2 million instead of 25.6; all "
          "gets find their key. Reads pay nothing for a slow medium, so none is emulated.",
          false,
          nvskiplist_7::Run};
}

}  // namespace braid::figures
