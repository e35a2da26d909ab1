#include "bench/figures/frame/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace braid::figures {
namespace {

const char* KindName(PanelKind kind) {
  switch (kind) {
    case PanelKind::kLines:
      return "lines";
    case PanelKind::kBars:
      return "bars";
    case PanelKind::kStackedBars:
      return "stacked-bars";
  }
  return "unknown";
}

}  // namespace

const char* AgreementName(Agreement agreement) {
  switch (agreement) {
    case Agreement::kAgrees:
      return "agrees";
    case Agreement::kInPart:
      return "agrees in part";
    case Agreement::kDoesNotAgree:
      return "does not agree";
    case Agreement::kNotJudged:
      return "not judged";
  }
  return "unknown";
}

Agreement Check::Judge() const {
  if (!std::isfinite(measured)) return Agreement::kNotJudged;
  const auto holds = [this](double bound) {
    return direction == Direction::kAtLeast ? measured >= bound : measured <= bound;
  };
  if (holds(agrees_from)) return Agreement::kAgrees;
  return holds(in_part_from) ? Agreement::kInPart : Agreement::kDoesNotAgree;
}

std::string Check::Rule() const {
  const char* word = direction == Direction::kAtLeast ? "from" : "up to";
  std::string rule = fmt::format("agrees {} {:.4g}", word, agrees_from);
  if (agrees_from != in_part_from) rule += fmt::format(", in part {} {:.4g}", word, in_part_from);
  return rule;
}

Agreement JudgeAll(const std::vector<Check>& checks) {
  size_t judged = 0;
  size_t agree = 0;
  size_t refuse = 0;
  for (const Check& check : checks) {
    const Agreement agreement = check.Judge();
    judged += agreement != Agreement::kNotJudged ? 1 : 0;
    agree += agreement == Agreement::kAgrees ? 1 : 0;
    refuse += agreement == Agreement::kDoesNotAgree ? 1 : 0;
  }
  if (judged == 0) return Agreement::kNotJudged;
  if (agree == checks.size()) return Agreement::kAgrees;
  return refuse == judged ? Agreement::kDoesNotAgree : Agreement::kInPart;
}

Json PanelToJson(const Panel& panel) {
  Json series = Json::array();
  for (const Series& one : panel.series) {
    series.push_back({{"name", one.name}, {"x", one.x}, {"y", one.y}});
  }
  return {{"title", panel.title},     {"kind", KindName(panel.kind)},
          {"x_label", panel.x_label}, {"y_label", panel.y_label},
          {"log_y", panel.log_y},     {"categories", panel.categories},
          {"series", series}};
}

Json CheckToJson(const Check& check) {
  const Agreement agreement = check.Judge();
  const bool told = agreement == Agreement::kInPart || agreement == Agreement::kDoesNotAgree;
  return {{"statement", check.statement},
          {"measured", std::isfinite(check.measured) ? Json(check.measured) : Json()},
          {"paper", check.paper},
          {"rule", check.Rule()},
          {"verdict", AgreementName(agreement)},
          {"reason", told ? check.reason : std::string()}};
}

}  // namespace braid::figures
