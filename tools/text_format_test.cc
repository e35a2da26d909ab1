#include "tools/text_format.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/environment.h"
#include "tools/key_range_flags.h"

namespace braid::tools {
namespace {

std::string Unescaped(std::string_view text) {
  std::string bytes;
  const Status status = UnescapeText(text, &bytes);
  EXPECT_TRUE(status.ok()) << text << ": " << status.message();
  return bytes;
}

TEST(EscapeTest, EveryPairOfBytesRoundTripsOnOneCleanLine) {
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string bytes{static_cast<char>(first), static_cast<char>(second)};
      const std::string text = EscapeText(bytes);
      ASSERT_EQ(Unescaped(text), bytes) << text;
      ASSERT_TRUE(IsUtf8(text));
      for (const char c : text) {
        ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) << first << " " << second;
      }
    }
  }
}

TEST(EscapeTest, RandomBytesRoundTripAsTextAndHex) {
  SCOPED_TRACE(test::ReplayLine());
  test::Random random(test::DeriveSeed(1));
  for (int i = 0; i < 2000; ++i) {
    const std::string bytes = random.Bytes(random.Below(200));
    ASSERT_EQ(Unescaped(EscapeText(bytes)), bytes);
    std::string decoded;
    ASSERT_TRUE(DecodeHex(EncodeHex(bytes), &decoded).ok());
    ASSERT_EQ(decoded, bytes);
  }
}

TEST(EscapeTest, PrintableUtf8StaysAsItIs) {
  EXPECT_EQ(EscapeText("Größe 尺寸 😀 \"'"), "Größe 尺寸 😀 \"'");
  EXPECT_EQ(EscapeText("\t\n\r\\"), "\\t\\n\\r\\\\");
  EXPECT_EQ(EscapeText(std::string_view("\0\x1b\x7f", 3)), "\\x00\\x1b\\x7f");
}

TEST(EscapeTest, ControlCharactersAboveAsciiAreEscaped) {
  EXPECT_EQ(EscapeText("\xC2\x9B"), "\\xc2\\x9b");  // CSI in eight bits
  EXPECT_EQ(EscapeText("\xC2\xA0"), "\xC2\xA0");
}

TEST(EscapeTest, TerminalTextKeepsLinesAndTabsOnly) {
  EXPECT_EQ(EscapeForTerminal("a\tb\nc\\\x1b[2J\xFF"), "a\tb\nc\\\\x1b[2J\\xff");
}

TEST(EscapeTest, BadEscapesAreRefused) {
  std::string bytes;
  for (const char* text : {"\\", "\\q", "\\x", "\\x1", "\\xg1", "\\x1g", "ok\\"}) {
    EXPECT_TRUE(UnescapeText(text, &bytes).IsInvalidArgument()) << text;
  }
}

TEST(Utf8Test, OverlongFormsSurrogatesAndCutCharactersAreInvalid) {
  for (const char* text : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xED\xBF\xBF",
                           "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\x80",
                           "\xE4\xB8", "\xF0\x9F\x98", "\xC3", "a\xC3z"}) {
    EXPECT_FALSE(IsUtf8(text)) << EncodeHex(text);
  }
  for (const char* text : {"", "a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(text)) << EncodeHex(text);
  }
}

TEST(HexTest, BadDigitsAreRefused) {
  std::string bytes;
  EXPECT_TRUE(DecodeHex("0", &bytes).IsInvalidArgument());
  EXPECT_TRUE(DecodeHex("0g", &bytes).IsInvalidArgument());
  EXPECT_TRUE(DecodeHex("0 1 ", &bytes).IsInvalidArgument());
  ASSERT_TRUE(DecodeHex("00aBFf", &bytes).ok());
  EXPECT_EQ(bytes, std::string("\0\xAB\xFF", 3));
}

TEST(JsonFieldTest, BytesThatAreNotUtf8GoToAHexField) {
  std::string text;
  AppendJsonField("key", "a\"\n", false, &text);
  AppendJsonField("value", "\xFF", false, &text);
  AppendJsonField("value", "a", true, &text);
  EXPECT_EQ(text, R"("key":"a\"\n""value_hex":"ff""value_hex":"61")");
}

TEST(SizeTest, UnitsArePowersOf1024) {
  EXPECT_EQ(ParseSize("0"), 0u);
  EXPECT_EQ(ParseSize("4096"), 4096u);
  EXPECT_EQ(ParseSize("4096B"), 4096u);
  EXPECT_EQ(ParseSize("64k"), 64ull << 10);
  EXPECT_EQ(ParseSize("64M"), 64ull << 20);
  EXPECT_EQ(ParseSize("1.5G"), 3ull << 29);
  EXPECT_EQ(ParseSize("2TiB"), 2ull << 40);
  EXPECT_EQ(ParseSize("18446744073709551615"), ~0ull);
}

TEST(SizeTest, WhatIsNoSizeIsRefused) {
  for (const char* text : {"", "M", "-1", "1X", "1MM", "1 M", "0x10", "1e3", "nan", "inf",
                           "18446744073709551616", "16777216T", "1.5.5", "64Mi"}) {
    EXPECT_EQ(ParseSize(text), std::nullopt) << text;
  }
}

TEST(NumberTextTest, NumbersAreEasyToRead) {
  EXPECT_EQ(GroupDigits(0), "0");
  EXPECT_EQ(GroupDigits(999), "999");
  EXPECT_EQ(GroupDigits(1000), "1,000");
  EXPECT_EQ(GroupDigits(1234567), "1,234,567");
  EXPECT_EQ(Counted(1, "record"), "1 record");
  EXPECT_EQ(Counted(1200, "record"), "1,200 records");
  EXPECT_EQ(SizeText(1023), "1023 B");
  EXPECT_EQ(SizeText(1536), "1.5 KiB");
  EXPECT_EQ(SizeText(64ull << 20), "64.0 MiB");
  EXPECT_EQ(DurationText(0.0005), "500 us");
  EXPECT_EQ(DurationText(0.0123), "12.3 ms");
  EXPECT_EQ(DurationText(4.5), "4.50 s");
  EXPECT_EQ(DurationText(200), "3 min 20 s");
  EXPECT_EQ(DurationText(7260), "2 h 1 min");
}

TEST(ShortenedTest, CutsBetweenCharacters) {
  EXPECT_EQ(Shortened("abc", 3), "abc");
  EXPECT_EQ(Shortened("abcd", 3), "abc...");
  EXPECT_EQ(Shortened("aüü", 2), "a...");
}

TEST(EditDistanceTest, SwappedLettersAreOneStep) {
  EXPECT_EQ(EditDistance("get", "get"), 0u);
  EXPECT_EQ(EditDistance("gte", "get"), 1u);
  EXPECT_EQ(EditDistance("sca", "scan"), 1u);
  EXPECT_EQ(EditDistance("", "put"), 3u);
}

TEST(PrefixEndTest, EndIsTheFirstKeyBehindThePrefix) {
  EXPECT_EQ(PrefixEnd("ab"), "ac");
  EXPECT_EQ(PrefixEnd("a\xFF"), "b");
  EXPECT_EQ(PrefixEnd("a\x7F"), "a\x80");
  EXPECT_EQ(PrefixEnd("\xFF\xFF"), std::nullopt);
  EXPECT_EQ(PrefixEnd(""), std::nullopt);
}

}  // namespace
}  // namespace braid::tools
