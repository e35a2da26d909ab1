#include "tools/shell_words.h"

#include <gtest/gtest.h>

namespace braid::tools {
namespace {

std::vector<std::string> Bytes(std::string_view line, bool hex = false) {
  std::vector<std::string> all;
  for (const Word& word : SplitWords(line)) {
    std::string bytes;
    const Status status = WordBytes(word, hex, &bytes);
    all.push_back(status.ok() ? bytes : "error: " + std::string(status.message()));
  }
  return all;
}

TEST(ShellWordsTest, BlanksPartWords) {
  using All = std::vector<std::string>;
  EXPECT_EQ(Bytes(""), All{});
  EXPECT_EQ(Bytes("  put  key\tvalue "), (All{"put", "key", "value"}));
  EXPECT_EQ(Bytes(R"(put "a key" "")"), (All{"put", "a key", ""}));
  EXPECT_EQ(Bytes(R"("say \"hi\"" \"x)"), (All{"say \"hi\"", "\"x"}));
  EXPECT_EQ(Bytes(R"(a\tb \\ \xff "\n")"), (All{"a\tb", "\\", "\xff", "\n"}));
  EXPECT_EQ(Bytes("00ff", true), (All{std::string("\0\xff", 2)}));
}

TEST(ShellWordsTest, WrongWordsSayWhy) {
  EXPECT_NE(Bytes(R"(get "open)").back().find("not closed"), std::string::npos);
  EXPECT_NE(Bytes(R"(\q)").back().find("is not an escape"), std::string::npos);
  EXPECT_NE(Bytes("0x", true).back().find("is not hex"), std::string::npos);
}

TEST(ShellWordsTest, WhatIsQuotedIsReadBackForAllBytes) {
  for (int first = 0; first < 256; ++first) {
    for (const char* rest : {"", " ", "\"", "\\", "x y"}) {
      const std::string bytes = static_cast<char>(first) + std::string(rest);
      for (const bool hex : {false, true}) {
        const std::vector<std::string> words = Bytes(QuoteWord(bytes, hex, true), hex);
        ASSERT_EQ(words.size(), 1u) << first << rest;
        EXPECT_EQ(words[0], bytes);
      }
    }
  }
  EXPECT_EQ(QuoteWord("", false, true), "\"\"");
  EXPECT_EQ(QuoteWord("a b", false, false), "\"a b");
}

}  // namespace
}  // namespace braid::tools
