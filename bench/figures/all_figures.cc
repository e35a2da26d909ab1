#include "bench/figures/all_figures.h"

namespace braid::figures {

std::vector<FigureSpec> AllFigures() {
  return {
      ListDbFigure29(),     ListDbFigure30(),     ListDbFigure31(),    ListDbFigure32(),
      ListDbFigure33(),     ListDbFigure34(),     ListDbFigure35(),    ListDbWriteAmplification(),
      ListDbFigure36(),     ListDbFigure37(),     ZipperDbFigure15(),  ZipperDbFigure16(),
      ZipperDbFigure17(),   ZipperDbFigure18(),   ZipperDbFigure19(),  ZipperDbFigure20(),
      NoveLsmFigure6(),     NoveLsmFigure8(),     NoveLsmSplit(),      NoveLsmFigure9(),
      NoveLsmFigure10(),    TlsmTable2(),         TlsmFigure5a(),      TlsmFigure5c(),
      TlsmFigure5e(),       TlsmFigure6(),        TlsmFigure7(),       NvSkiplistFigure6(),
      NvSkiplistFigure7(),  NvSkiplistFigure8(),  NvSkiplistFigure9(), NvSkiplistFigure10(),
      NvSkiplistFigure11(), NvSkiplistFigure12(),
  };
}

}  // namespace braid::figures
