// SPDX-License-Identifier: Apache-2.0
#include "log_escape.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace oncemq {
namespace {

using namespace std::string_view_literals;

std::string Text(std::string_view bytes) {
  std::string out;
  AppendLogText(out, bytes);
  return out;
}

std::string Value(std::string_view bytes) {
  std::string out;
  AppendLogValue(out, bytes);
  return out;
}

std::string Json(std::string_view bytes) {
  std::string out;
  AppendLogJson(out, bytes);
  return out;
}

bool HasControls(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      return true;
    }
  }
  return false;
}

TEST(LogEscape, PlainTextStaysAsItIs) {
  EXPECT_EQ(Text("commit refused: 7 of \"9\""), "commit refused: 7 of \"9\"");
  EXPECT_EQ(Text("Z\xC3\xBCrich \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "Z\xC3\xBCrich \xE2\x82\xAC \xF0\x9F\x98\x80");
}

TEST(LogEscape, ALineStaysOneLine) {
  EXPECT_EQ(Text("a\nb\r\nc"), "a\\nb\\r\\nc");
  EXPECT_EQ(Text("a\xC2\x85"
                 "b\xE2\x80\xA8"
                 "c"),
            "a\\x85b\\u2028c");
}

TEST(LogEscape, NoTextPaintsTheTerminal) {
  EXPECT_EQ(Text("\x1b[31mred\x1b[0m\a"), "\\x1b[31mred\\x1b[0m\\x07");
  EXPECT_EQ(Text("\xC2\x9B"
                 "31m"),
            "\\x9b31m");
  EXPECT_EQ(Text("a\0b\x7F"sv), "a\\x00b\\x7f");
}

TEST(LogEscape, NoTextTurnsTheReadingDirectionOrHides) {
  EXPECT_EQ(Text("\xE2\x80\xAEgnp.exe"), "\\u202egnp.exe");
  EXPECT_EQ(Text("a\xE2\x80\x8B"
                 "b\xEF\xBB\xBF"),
            "a\\u200bb\\ufeff");
}

TEST(LogEscape, AnEscapeCannotBeForged) {
  EXPECT_EQ(Text("a\\nb"), "a\\\\nb");
}

TEST(LogEscape, InvalidUtf8IsReplaced) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(Text("a\xFF"
                 "b"),
            "a" + replaced + "b");
  EXPECT_EQ(Text("\x80"), replaced);
  EXPECT_EQ(Text("\xC3"), replaced);                                               // cut short
  EXPECT_EQ(Text("\xC0\xAF"), replaced + replaced);                                // overlong
  EXPECT_EQ(Text("\xE0\x80\xAF"), replaced + replaced + replaced);                 // overlong
  EXPECT_EQ(Text("\xED\xA0\x80"), replaced + replaced + replaced);                 // surrogate
  EXPECT_EQ(Text("\xF4\x90\x80\x80"), replaced + replaced + replaced + replaced);  // too large
}

TEST(LogEscape, AValueIsQuotedWhereSpacesOrQuotesWouldMislead) {
  EXPECT_EQ(Value("pay"), "pay");
  EXPECT_EQ(Value(""), "\"\"");
  EXPECT_EQ(Value("a b"), "\"a b\"");
  EXPECT_EQ(Value("a=b"), "\"a=b\"");
  EXPECT_EQ(Value("say \"hi\"\\"), "\"say \\\"hi\\\"\\\\\"");
}

TEST(LogEscape, ALongStringIsCutAtACharacterAndSaysSo) {
  const std::string long_text(kLogStringLimit + 10, 'x');
  EXPECT_EQ(Text(long_text), std::string(kLogStringLimit, 'x') + "...(+10 bytes)");
  std::string on_the_border(kLogStringLimit - 1, 'x');
  on_the_border += "\xE2\x82\xAC";
  EXPECT_EQ(Text(on_the_border), std::string(kLogStringLimit - 1, 'x') + "...(+3 bytes)");
}

TEST(LogEscape, ALongRunOfTailBytesIsCutToo) {
  const std::string tails(kLogStringLimit * 2, '\x80');
  EXPECT_LT(Text(tails).size(), kLogStringLimit * 3 + 32);
}

TEST(LogEscape, JsonReadsBackAsTheSameText) {
  for (const std::string_view text :
       {"plain"sv, "a\"b\\c/"sv, "a\nb\tc\0d\x1b"sv, "\xE2\x80\xA8"sv}) {
    EXPECT_EQ(nlohmann::json::parse(Json(text)).get<std::string>(), text);
  }
}

RC_GTEST_PROP(LogEscape, AnyBytesGiveOneHarmlessLine, (const std::string& bytes)) {
  RC_ASSERT(!HasControls(Text(bytes)));
  RC_ASSERT(!HasControls(Value(bytes)));
  RC_ASSERT(!HasControls(Json(bytes)));
}

RC_GTEST_PROP(LogEscape, AnyBytesGiveValidJson, (const std::string& bytes)) {
  RC_ASSERT(nlohmann::json::accept(Json(bytes)));
}

}  // namespace
}  // namespace oncemq
