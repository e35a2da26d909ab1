#include "tools/shell_words.h"

#include "tools/text_format.h"

namespace braid::tools {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

std::vector<Word> SplitWords(std::string_view line) {
  std::vector<Word> words;
  size_t at = 0;
  while (true) {
    while (at < line.size() && IsBlank(line[at])) ++at;
    if (at == line.size()) return words;
    Word word;
    word.begin = at;
    word.quoted = line[at] == '"';
    word.open = true;
    if (word.quoted) ++at;
    while (at < line.size()) {
      const char c = line[at];
      if (word.quoted ? c == '"' : IsBlank(c)) {
        word.open = false;
        break;
      }
      const bool pair = c == '\\' && at + 1 < line.size();
      if (pair && line[at + 1] == '"') {
        // Escaped for this level alone.
        word.text.push_back('"');
      } else {
        word.text.append(line.substr(at, pair ? 2 : 1));
      }
      at += pair ? 2 : 1;
    }
    if (word.quoted && !word.open) ++at;
    words.push_back(std::move(word));
  }
}

Status WordBytes(const Word& word, bool hex, std::string* bytes) {
  if (word.quoted && word.open) {
    return Status::InvalidArgument("a quote is not closed: end the word with \"");
  }
  return hex ? DecodeHex(word.text, bytes) : UnescapeText(word.text, bytes);
}

std::string QuoteWord(std::string_view bytes, bool hex, bool whole) {
  if (hex) return EncodeHex(bytes);
  std::string escaped;
  bool quote = bytes.empty();
  for (const char c : EscapeText(bytes)) {
    quote = quote || c == ' ' || c == '"';
    if (c == '"') escaped.push_back('\\');
    escaped.push_back(c);
  }
  if (!quote) return escaped;
  return "\"" + escaped + (whole ? "\"" : "");
}

}  // namespace braid::tools
