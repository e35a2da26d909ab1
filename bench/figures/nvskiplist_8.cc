// Figure 8: data references of inserts.
#include "bench/figures/all_figures.h"
#include "bench/figures/nvskiplist_counts.h"

namespace braid::figures {
namespace nvskiplist_8 {
namespace {

Status Run(FigureRun& run) {
  const std::vector<Variant> variants = {WbTreeVariant(), RangesVariant(1), RangesVariant(100),
                                         DividedVariant()};
  std::vector<CountedStore> stores;
  if (Status s = CountTouched(run, variants, false, &stores); !s.ok()) return s;
  Panel panel;
  panel.title = "an insert";
  panel.kind = PanelKind::kBars;
  panel.y_label = "data references";
  Series references{"data references", {}, {}};
  for (const CountedStore& store : stores) {
    panel.categories.push_back(store.name);
    references.y.push_back(store.put.references);
  }
  panel.series = {references};
  run.AddPanel(panel);
  const double tree = references.y[0];
  const double api = references.y.back();
  run.AddCheck({"data references of 100 ranges to those of the wB+-tree", references.y[2] / tree,
                Direction::kAtMost, 0.8, 1.0, "much lower (read off the figure)", kPutsUnlike});
  run.AddCheck({"the same without what the public API touches", (references.y[2] - api) / tree,
                Direction::kAtMost, 0.8, 1.0, "much lower (read off the figure)", kPutsUnlike});
  run.AddCheck({"data references of 100 ranges to those of one range",
                references.y[2] / references.y[1], Direction::kAtMost, 0.95, 1.0, "",
                "searches descend by logarithm, so that ranges save few steps"});
  run.AddNote(kNvSkiplistUnlike);
  return Status::OK();
}

}  // namespace
}  // namespace nvskiplist_8

FigureSpec NvSkiplistFigure8() {
  return {"nvskiplist-8",
          "Data references of inserts",
          kNvSkiplistPaper,
          "4.2.3, figure 8",
          "Inserts into leaves under a skip list with many ranges touch much less memory than "
          "inserts into a wB+-tree: pairs share nodes that are known by their least and largest "
          "key, and ranges shorten the search.",
          kCountedSetting,
          false,
          nvskiplist_8::Run};
}

}  // namespace braid::figures
