package io.braid.hadoop.sim;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/** The figures of chapters III and IV that are simulated, by number. */
final class Figures {
  private static final Map<Integer, Supplier<Report>> ALL = new LinkedHashMap<>();

  static {
    ALL.put(1, FiguresOfChapter3::figure1);
    ALL.put(2, FiguresOfChapter3::figure2);
    ALL.put(3, FiguresOfChapter3::figure3);
    ALL.put(4, FiguresOfChapter3::figure4);
    ALL.put(6, FiguresOfChapter4::figure6);
    ALL.put(7, FiguresOfChapter4::figure7);
    ALL.put(8, FiguresOfChapter4::figure8);
    ALL.put(9, FiguresOfChapter4::figure9);
    ALL.put(10, FiguresOfChapter4::figure10);
  }

  private Figures() {}

  static Report of(int number) {
    Supplier<Report> figure = ALL.get(number);
    if (figure == null) {
      throw new IllegalArgumentException(
          "there is no figure "
              + number
              + " to simulate: use one of "
              + ALL.keySet()
              + " (5 is a drawing of a plan: see explain)");
    }
    return figure.get();
  }
}
