// Bytes as text and back: the escapes of `scan` and `load`, hex, JSON, sizes, numbers for people.
//
// The escapes of a text line: printable UTF-8 stays as it is; TAB, newline, carriage return and
// backslash become \t \n \r \\; every other control character and every byte that is not valid
// UTF-8 becomes \xHH. So a line never holds a raw TAB or newline of the data, a terminal never
// receives a control sequence from it, and UnescapeText(EscapeText(x)) == x for all bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "braid/status.h"

namespace braid::tools {

/// Length of the printable UTF-8 character at the start of `bytes`; 0 when it starts with a
/// control character or with a byte that is not valid UTF-8.
size_t PrintableLength(std::string_view bytes);

/// Whether all of `bytes` is valid UTF-8, control characters included.
bool IsUtf8(std::string_view bytes);

/// Appends `bytes` with the escapes of a text line.
void AppendEscaped(std::string_view bytes, std::string* out);
std::string EscapeText(std::string_view bytes);

/// The same for a value that is shown on a terminal: newline and TAB stay, backslash too.
std::string EscapeForTerminal(std::string_view bytes);

/// The reverse of EscapeText. Raw bytes other than backslash are taken as they are. InvalidArgument
/// names the bad escape.
Status UnescapeText(std::string_view text, std::string* bytes);

void AppendHex(std::string_view bytes, std::string* out);
std::string EncodeHex(std::string_view bytes);
/// Digits of either case, no separators. InvalidArgument says what is wrong.
Status DecodeHex(std::string_view text, std::string* bytes);

/// An argument of the command line as bytes: as it is, or hex digits when `hex`.
Status ParseBytes(std::string_view argument, bool hex, std::string* bytes);

/// Appends `"name":"bytes"`, or `"name_hex":"digits"` when `hex` or when the bytes are not UTF-8.
void AppendJsonField(std::string_view name, std::string_view bytes, bool hex, std::string* out);

/// "4096", "64K", "64M", "1.5G", "2T", powers of 1024, with "B" or "iB" allowed behind the unit.
/// Nothing when it is no size or more than 64 bits.
std::optional<uint64_t> ParseSize(std::string_view text);

/// "1,234,567".
std::string GroupDigits(uint64_t number);
/// "1 record", "1,234 records".
std::string Counted(uint64_t number, std::string_view noun);
/// "64.0 MiB".
std::string SizeText(uint64_t bytes);
/// "850 us", "12.3 ms", "4.56 s", "3 min 20 s".
std::string DurationText(double seconds);

/// The same of times below it, too: "850 ns", "12.3 us".
std::string NanosText(uint64_t nanos);

/// `text` cut to at most `limit` bytes at a character, with "..." when something was cut.
std::string Shortened(std::string_view text, size_t limit);

/// Letters to insert, drop, change or swap with their neighbour to make `b` from `a`.
size_t EditDistance(std::string_view a, std::string_view b);

}  // namespace braid::tools
