// Thread safety: all functions are pure.
// Persistence: none.
#include "tools/text_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace braid::tools {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

uint8_t ByteAt(std::string_view bytes, size_t index) { return static_cast<uint8_t>(bytes[index]); }

bool IsContinuation(std::string_view bytes, size_t index) {
  return index < bytes.size() && (ByteAt(bytes, index) & 0xC0) == 0x80;
}

// Length of the valid UTF-8 character at the start of `bytes`, 0 when there is none. The ranges of
// the second byte exclude overlong forms, surrogates and what lies beyond U+10FFFF.
size_t CharacterLength(std::string_view bytes) {
  const uint8_t first = ByteAt(bytes, 0);
  if (first < 0x80) return 1;
  if (!IsContinuation(bytes, 1)) return 0;
  const uint8_t second = ByteAt(bytes, 1);
  if (first >= 0xC2 && first <= 0xDF) return 2;
  if (!IsContinuation(bytes, 2)) return 0;
  if (first == 0xE0) return second >= 0xA0 ? 3 : 0;
  if (first == 0xED) return second <= 0x9F ? 3 : 0;
  if (first >= 0xE1 && first <= 0xEF) return 3;
  if (!IsContinuation(bytes, 3)) return 0;
  if (first == 0xF0) return second >= 0x90 ? 4 : 0;
  if (first == 0xF4) return second <= 0x8F ? 4 : 0;
  return first >= 0xF1 && first <= 0xF3 ? 4 : 0;
}

int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

void AppendHexEscape(uint8_t byte, std::string* out) {
  out->append("\\x");
  out->push_back(kHexDigits[byte >> 4]);
  out->push_back(kHexDigits[byte & 15]);
}

}  // namespace

size_t PrintableLength(std::string_view bytes) {
  const uint8_t first = ByteAt(bytes, 0);
  if (first < 0x20 || first == 0x7F) return 0;
  // U+0080 to U+009F are control characters that some terminals obey.
  if (first == 0xC2 && bytes.size() > 1 && ByteAt(bytes, 1) < 0xA0) return 0;
  return CharacterLength(bytes);
}

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t length = CharacterLength(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

void AppendEscaped(std::string_view bytes, std::string* out) {
  while (!bytes.empty()) {
    size_t length = 1;
    switch (bytes[0]) {
      case '\t':
        out->append("\\t");
        break;
      case '\n':
        out->append("\\n");
        break;
      case '\r':
        out->append("\\r");
        break;
      case '\\':
        out->append("\\\\");
        break;
      default:
        length = PrintableLength(bytes);
        if (length == 0) {
          AppendHexEscape(ByteAt(bytes, 0), out);
          length = 1;
        } else {
          out->append(bytes.substr(0, length));
        }
    }
    bytes.remove_prefix(length);
  }
}

std::string EscapeText(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  AppendEscaped(bytes, &out);
  return out;
}

std::string EscapeForTerminal(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    size_t length = bytes[0] == '\n' || bytes[0] == '\t' ? 1 : PrintableLength(bytes);
    if (length == 0) {
      AppendHexEscape(ByteAt(bytes, 0), &out);
      length = 1;
    } else {
      out.append(bytes.substr(0, length));
    }
    bytes.remove_prefix(length);
  }
  return out;
}

Status UnescapeText(std::string_view text, std::string* bytes) {
  bytes->clear();
  while (true) {
    const size_t backslash = text.find('\\');
    bytes->append(text.substr(0, backslash));
    if (backslash == std::string_view::npos) return Status::OK();
    text.remove_prefix(backslash);
    const char letter = text.size() > 1 ? text[1] : '\0';
    size_t length = 2;
    if (letter == 't') {
      bytes->push_back('\t');
    } else if (letter == 'n') {
      bytes->push_back('\n');
    } else if (letter == 'r') {
      bytes->push_back('\r');
    } else if (letter == '\\') {
      bytes->push_back('\\');
    } else if (letter == 'x' && text.size() > 3 && HexValue(text[2]) >= 0 &&
               HexValue(text[3]) >= 0) {
      bytes->push_back(static_cast<char>(HexValue(text[2]) * 16 + HexValue(text[3])));
      length = 4;
    } else {
      return Status::InvalidArgument(
          fmt::format("'{}' is not an escape: write \\t \\n \\r \\xHH, and \\\\ for a backslash",
                      EscapeForTerminal(text.substr(0, letter == 'x' ? 4 : 2))));
    }
    text.remove_prefix(length);
  }
}

void AppendHex(std::string_view bytes, std::string* out) {
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    out->push_back(kHexDigits[byte >> 4]);
    out->push_back(kHexDigits[byte & 15]);
  }
}

std::string EncodeHex(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  AppendHex(bytes, &out);
  return out;
}

Status DecodeHex(std::string_view text, std::string* bytes) {
  bytes->clear();
  if (text.size() % 2 != 0) {
    return Status::InvalidArgument(
        fmt::format("'{}' has an odd number of hex digits: write two for each byte",
                    EscapeForTerminal(Shortened(text, 40))));
  }
  bytes->reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexValue(text[i]);
    const int low = HexValue(text[i + 1]);
    if (high < 0 || low < 0) {
      return Status::InvalidArgument(
          fmt::format("'{}' is not hex: write two of 0-9 a-f for each byte, no separators",
                      EscapeForTerminal(Shortened(text, 40))));
    }
    bytes->push_back(static_cast<char>(high * 16 + low));
  }
  return Status::OK();
}

Status ParseBytes(std::string_view argument, bool hex, std::string* bytes) {
  if (hex) return DecodeHex(argument, bytes);
  bytes->assign(argument);
  return Status::OK();
}

void AppendJsonField(std::string_view name, std::string_view bytes, bool hex, std::string* out) {
  out->push_back('"');
  out->append(name);
  if (hex || !IsUtf8(bytes)) {
    out->append("_hex\":\"");
    AppendHex(bytes, out);
    out->push_back('"');
    return;
  }
  out->append("\":");
  out->append(nlohmann::json(bytes).dump());
}

std::optional<uint64_t> ParseSize(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  uint64_t factor = 1;
  if (!unit.empty()) {
    constexpr std::string_view kUnits = "KMGTP";
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0])));
    const size_t index = kUnits.find(letter);
    if (index != std::string_view::npos) {
      factor = 1ull << (10 * (index + 1));
      unit.remove_prefix(1);
      if (unit != "" && unit != "B" && unit != "iB" && unit != "b") return std::nullopt;
    } else if (unit != "B") {
      return std::nullopt;
    }
  }
  // Whole numbers are multiplied as integers: a double would round those above 2^53.
  uint64_t whole = 0;
  const auto [whole_end, whole_error] = std::from_chars(text.data(), end, whole);
  if (whole_error == std::errc() && whole_end == end) {
    if (whole > std::numeric_limits<uint64_t>::max() / factor) return std::nullopt;
    return whole * factor;
  }
  const double bytes = number * static_cast<double>(factor);
  if (bytes >= 18446744073709551616.0) return std::nullopt;
  return static_cast<uint64_t>(bytes);
}

std::string GroupDigits(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string Counted(uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", GroupDigits(number), noun, number == 1 ? "" : "s");
}

std::string SizeText(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string DurationText(double seconds) {
  if (seconds < 0.001) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

std::string NanosText(uint64_t nanos) {
  if (nanos < 1000) return fmt::format("{} ns", nanos);
  if (nanos < 1'000'000) return fmt::format("{:.1f} us", static_cast<double>(nanos) / 1e3);
  return DurationText(static_cast<double>(nanos) / 1e9);
}

std::string Shortened(std::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  while (limit > 0 && IsContinuation(text, limit)) --limit;
  return std::string(text.substr(0, limit)) + "...";
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({change, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace braid::tools
