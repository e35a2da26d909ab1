// A record as a line of text: what `scan`, `dump` and `shell` print, and `load` reads.
//
// Thread safety: pure.
// Persistence: none.
#pragma once

#include <string>
#include <string_view>

namespace braid::tools {

struct RecordStyle {
  bool json = false;       ///< an object; else KEY, TAB, VALUE with escapes
  bool hex = false;        ///< hex digits, whether printable or not
  bool keys_only = false;  ///< without the value
};

/// Appends the line, newline included.
void AppendRecordLine(std::string_view key, std::string_view value, const RecordStyle& style,
                      std::string* out);

}  // namespace braid::tools
