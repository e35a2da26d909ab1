#include "bench/figures/all_figures.h"

namespace braid::figures {

std::vector<FigureSpec> AllFigures() {
  return {
      ListDbFigure29(),
  };
}

}  // namespace braid::figures
