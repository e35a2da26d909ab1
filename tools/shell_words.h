// The words of a shell line, with the escapes of text_format.h.
//
// Words are parted by blanks. A word in double quotes may hold blanks, and \" for a quote; in and
// out of quotes the escapes \t \n \r \\ and \xHH stand for their bytes. With hex a word is hex
// digits.
//
// Thread safety: pure.
// Persistence: none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "braid/status.h"

namespace braid::tools {

struct Word {
  std::string text;  ///< without the quotes, escapes still in it
  size_t begin = 0;  ///< where it begins in the line, its quote included
  bool quoted = false;
  bool open = false;  ///< its closing quote is missing, or the line ends behind it
};

/// Never fails: an open quote shows in the last word.
std::vector<Word> SplitWords(std::string_view line);
/// The bytes that a word stands for. InvalidArgument says what is wrong.
Status WordBytes(const Word& word, bool hex, std::string* bytes);
/// The word to type for `bytes`: quoted where that is needed. `whole`: with the closing quote.
std::string QuoteWord(std::string_view bytes, bool hex, bool whole);

}  // namespace braid::tools
