#include "bench/harness/html_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace braid::bench {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Bytes of the UTF-8 character at the start of `text`, 0 when there is none that XML takes.
size_t CharacterLength(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  uint32_t code = first & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3Fu);
  }
  static constexpr std::array<uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool control = code < 0xA0 || (code & 0xFFFE) == 0xFFFE;
  return code < kLeast[length] || code > 0x10FFFF || surrogate || control ? 0 : length;
}

struct Scaled {
  double value;
  const char* unit;
};

/// The largest unit of which there is at least one, where three digits would not round up to 1,000.
Scaled ScaleBy(double number, double factor, std::initializer_list<const char*> units) {
  Scaled scaled{number, *units.begin()};
  for (const char* const* unit = units.begin() + 1; unit != units.end(); ++unit) {
    if (std::abs(scaled.value) < factor - 0.5) break;
    scaled = {scaled.value / factor, *unit};
  }
  return scaled;
}

std::string ThreeDigits(double number) {
  const double size = std::abs(number);
  if (size >= 99.95) return GroupedText(number);
  return size >= 9.995 ? fmt::format("{:.1f}", number) : fmt::format("{:.2f}", number);
}

std::string WithUnit(const Scaled& scaled) {
  const std::string text = ThreeDigits(scaled.value);
  return *scaled.unit == '\0' ? text : text + " " + scaled.unit;
}

std::string TickWithUnit(const Scaled& scaled) {
  // Marks have one or two digits, but no more than four.
  const std::string text = fmt::format("{:.4g}", scaled.value);
  return *scaled.unit == '\0' ? text : text + " " + scaled.unit;
}

Scaled ScaleNumber(double number) { return ScaleBy(number, 1000, {"", "k", "M", "G", "T"}); }
Scaled ScaleDuration(double nanos) { return ScaleBy(nanos, 1000, {"ns", "\u00b5s", "ms", "s"}); }

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const char c = text.front();
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\'') {
      escaped += "&#39;";
    } else if (c == '\n') {
      escaped += "&#10;";
    } else if (length == 0) {
      escaped += kReplacement;
    } else {
      escaped += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(1, length));
  }
  return escaped;
}

std::string GroupedText(double number) {
  const std::string digits = fmt::format("{:.0f}", std::abs(number));
  std::string text;
  if (number < 0 && digits != "0") text += '-';
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string ShortNumber(double number) { return WithUnit(ScaleNumber(number)); }

std::string ShortDuration(double nanos) {
  const Scaled scaled = ScaleDuration(nanos);
  // Nanoseconds are counted whole.
  if (scaled.value == nanos && nanos == std::floor(nanos)) return fmt::format("{:.0f} ns", nanos);
  return WithUnit(scaled);
}

std::string ShortBytes(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  return WithUnit(ScaleBy(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"}));
}

std::string TickNumber(double number) { return TickWithUnit(ScaleNumber(number)); }
std::string TickDuration(double nanos) { return TickWithUnit(ScaleDuration(nanos)); }

std::string HtmlTable::ToHtml() const {
  std::string html = "<div class=\"scroll\"><table class=\"numbers\">\n<thead><tr>";
  for (const std::string& cell : header_) html += "<th>" + EscapeHtml(cell) + "</th>";
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows_) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) {
      const char* tag = i == 0 ? "th" : "td";
      html += fmt::format("<{0}>{1}</{0}>", tag, EscapeHtml(row[i]));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string FactsTable(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string html = "<table class=\"facts\"><tbody>\n";
  for (const auto& [name, value] : facts) {
    html += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", EscapeHtml(name), EscapeHtml(value));
  }
  return html + "</tbody></table>\n";
}

}  // namespace braid::bench
