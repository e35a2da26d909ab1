// Text for pages: escaping, numbers as people read them, tables.
//
// Thread safety: functions without state.
// Persistence: none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace braid::bench {

/// `text` for content and attributes of XML and HTML. Control characters and bytes that are not
/// UTF-8 become U+FFFD, so that the page is well-formed whatever a command line held.
std::string EscapeHtml(std::string_view text);

/// "1,234,567"; rounded to a whole number.
std::string GroupedText(double number);
/// Three significant digits: "2.47 M", "350 k", "12.5", "0.04".
std::string ShortNumber(double number);
/// Three significant digits with the unit that suits: "640 ns", "2.10 µs", "24.0 ms", "7.31 s".
std::string ShortDuration(double nanos);
/// "512 B", "64.0 MiB".
std::string ShortBytes(double bytes);
/// ShortNumber and ShortDuration for the marks of an axis: no zeros behind the last digit.
std::string TickNumber(double number);
std::string TickDuration(double nanos);

/// A table: the first column is text, the others are numbers and stand to the right.
class HtmlTable {
 public:
  explicit HtmlTable(std::vector<std::string> header) : header_(std::move(header)) {}
  /// Cells are text, not HTML.
  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string ToHtml() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

/// Names and values in two columns, both text.
std::string FactsTable(const std::vector<std::pair<std::string, std::string>>& facts);

}  // namespace braid::bench
