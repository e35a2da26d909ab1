// Purpose: every figure there is; each is one file beside this one. A new figure is declared here
// and listed in all_figures.cc.
// Thread safety: immutable.
// Persistence: none.
#pragma once

#include <vector>

#include "bench/figures/frame/figure.h"

namespace braid::figures {

FigureSpec ListDbFigure29();
FigureSpec ListDbFigure30();
FigureSpec ListDbFigure31();
FigureSpec ListDbFigure32();
FigureSpec ListDbFigure33();
FigureSpec ListDbFigure34();
FigureSpec ListDbFigure35();
FigureSpec ListDbWriteAmplification();
FigureSpec ListDbFigure36();
FigureSpec ListDbFigure37();
FigureSpec ZipperDbFigure15();
FigureSpec ZipperDbFigure16();
FigureSpec ZipperDbFigure17();
FigureSpec ZipperDbFigure18();
FigureSpec ZipperDbFigure19();
FigureSpec ZipperDbFigure20();
FigureSpec NoveLsmFigure6();
FigureSpec NoveLsmFigure8();
FigureSpec NoveLsmSplit();
FigureSpec NoveLsmFigure9();
FigureSpec NoveLsmFigure10();
FigureSpec TlsmTable2();
FigureSpec TlsmFigure5a();
FigureSpec TlsmFigure5c();
FigureSpec TlsmFigure5e();
FigureSpec TlsmFigure6();
FigureSpec TlsmFigure7();
FigureSpec NvSkiplistFigure6();
FigureSpec NvSkiplistFigure7();
FigureSpec NvSkiplistFigure8();
FigureSpec NvSkiplistFigure9();
FigureSpec NvSkiplistFigure10();
FigureSpec NvSkiplistFigure11();
FigureSpec NvSkiplistFigure12();

/// In the order they run and stand on the page.
std::vector<FigureSpec> AllFigures();

}  // namespace braid::figures
