#include "bench/figures/all_figures.h"

namespace braid::figures {

std::vector<FigureSpec> AllFigures() {
  return {
      ListDbFigure29(),    NvSkiplistFigure6(),  NvSkiplistFigure7(),  NvSkiplistFigure8(),
      NvSkiplistFigure9(), NvSkiplistFigure10(), NvSkiplistFigure11(), NvSkiplistFigure12(),
  };
}

}  // namespace braid::figures
