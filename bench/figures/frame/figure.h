// Purpose: what a figure is made of: panels with series of numbers, and the claim of a paper with
// the checks that hold our numbers against it.
// Thread safety: none needed.
// Persistence: none.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "braid/status.h"

namespace braid::figures {

using Json = nlohmann::json;

/// One line, or the bars of one colour.
struct Series {
  std::string name;
  std::vector<double> x;  ///< empty in bars: one y a category
  std::vector<double> y;
};

enum class PanelKind { kLines, kBars, kStackedBars };

/// One diagram of a figure.
struct Panel {
  std::string title;
  PanelKind kind = PanelKind::kLines;
  std::string x_label;
  std::string y_label;
  std::vector<std::string> categories;  ///< of bars, from left to right
  std::vector<Series> series;
  bool log_y = false;
};

enum class Agreement { kAgrees, kInPart, kDoesNotAgree, kNotJudged };
/// "agrees", "agrees in part", "does not agree", "not judged".
const char* AgreementName(Agreement agreement);

/// Whether a larger or a smaller number speaks for the claim.
enum class Direction { kAtLeast, kAtMost };

/// One statement of the paper, as a number of ours and the rule by which it is judged.
struct Check {
  std::string statement;  ///< what is compared, in words
  double measured = 0;
  Direction direction = Direction::kAtLeast;
  double agrees_from = 1;   ///< the claim holds from here on
  double in_part_from = 1;  ///< the direction is right from here on, the size is not
  std::string paper;        ///< the paper's number, as text; empty when it gives none
  std::string reason;       ///< told when the check does not agree: why not

  Agreement Judge() const;
  /// "agrees from 1.5, in part from 1.05".
  std::string Rule() const;
};

/// All agree: agrees. None does: does not agree. Without checks: not judged. Else: in part.
Agreement JudgeAll(const std::vector<Check>& checks);

Json PanelToJson(const Panel& panel);
Json CheckToJson(const Check& check);

class FigureRun;

/// A figure of a paper, as a program: the constants of one file of bench/figures.
struct FigureSpec {
  std::string id;  ///< "listdb-29"; its results are in <id>.json
  std::string title;
  std::string paper;
  std::string section;
  std::string claim;          ///< of the paper, in our words
  std::string setting;        ///< what differs from the paper's run, in our words
  bool emulates_pmem = true;  ///< runs on a medium that is slowed down, where DRAM hides the effect
  std::function<Status(FigureRun&)> run;
};

}  // namespace braid::figures
