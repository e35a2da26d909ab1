#include "bench/figures/all_figures.h"

namespace braid::figures {

std::vector<FigureSpec> AllFigures() {
  return {
      ListDbFigure29(), ListDbFigure30(), ListDbFigure31(), ListDbFigure32(),
      ListDbFigure33(), ListDbFigure34(), ListDbFigure35(), ListDbWriteAmplification(),
      ListDbFigure36(), ListDbFigure37(),
  };
}

}  // namespace braid::figures
