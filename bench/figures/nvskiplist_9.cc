// Figure 9: cache misses of gets.
#include "bench/figures/all_figures.h"
#include "bench/figures/nvskiplist_counts.h"

namespace braid::figures {
namespace nvskiplist_9 {
namespace {

Status Run(FigureRun& run) {
  const std::vector<Variant> variants = {WbTreeVariant(), RangesVariant(1), RangesVariant(100),
                                         DividedVariant()};
  std::vector<CountedStore> stores;
  if (Status s = CountTouched(run, variants, true, &stores); !s.ok()) return s;
  Panel misses_panel;
  misses_panel.title = "(a) a get";
  misses_panel.kind = PanelKind::kBars;
  misses_panel.y_label = "first-level cache misses";
  Panel references_panel;
  references_panel.title = "(b) a get";
  references_panel.kind = PanelKind::kBars;
  references_panel.y_label = "data references";
  Series misses{"first-level misses", {}, {}};
  Series references{"data references", {}, {}};
  for (const CountedStore& store : stores) {
    misses_panel.categories.push_back(store.name);
    misses.y.push_back(store.get.misses);
    references.y.push_back(store.get.references);
  }
  references_panel.categories = misses_panel.categories;
  misses_panel.series = {misses};
  references_panel.series = {references};
  run.AddPanel(misses_panel);
  run.AddPanel(references_panel);
  const double tree = misses.y[0];
  run.AddCheck({"misses of one range to those of the wB+-tree", misses.y[1] / tree,
                Direction::kAtLeast, 1.2, 1.0, "more: inevitable with linked nodes",
                "nodes of the upper levels are few enough to stay in the cache"});
  run.AddCheck(
      {"misses of 100 ranges to those of the wB+-tree", misses.y[2] / tree, Direction::kAtLeast,
       1.0, 0.9, "more (read off the figure)",
       "100 ranges leave so few levels that linked nodes miss less than nodes of 64 keys"});
  run.AddCheck({"misses of 100 ranges to those of one range", misses.y[2] / misses.y[1],
                Direction::kAtMost, 0.95, 1.0, "",
                "most misses are in the leaf and the entry, whatever leads there"});
  run.AddNote(kNvSkiplistUnlike);
  return Status::OK();
}

}  // namespace
}  // namespace nvskiplist_9

FigureSpec NvSkiplistFigure9() {
  return {"nvskiplist-9",
          "Cache misses of gets",
          kNvSkiplistPaper,
          "4.2.3, figure 9",
          "Gets miss the first-level cache more often than in a wB+-tree, also with many ranges: "
          "linked nodes lie anywhere, while the keys of a tree's node lie side by side.",
          kCountedSetting,
          false,
          nvskiplist_9::Run};
}

}  // namespace braid::figures
