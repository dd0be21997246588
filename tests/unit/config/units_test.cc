// SPDX-License-Identifier: Apache-2.0
#include "units.h"
#include "quoted.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace oncemq {
namespace {

using namespace std::chrono_literals;

TEST(Duration, HasAUnit) {
  EXPECT_EQ(ParseDuration("0ms"), 0ms);
  EXPECT_EQ(ParseDuration("500ms"), 500ms);
  EXPECT_EQ(ParseDuration("30s"), 30s);
  EXPECT_EQ(ParseDuration("10m"), 10min);
  EXPECT_EQ(ParseDuration("24h"), 24h);
}

TEST(Duration, IsNothingWithoutUnitWithASignOrWithAFraction) {
  for (const std::string_view text : {"", "30", "s", "-30s", "+30s", "1.5s", "30 s", "30S", "30sec",
                                      " 30s", "30s ", "1d", "99999999999999999999s", "10001h"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

RC_GTEST_PROP(Duration, ReadsBackWhatWasPrinted, ()) {
  const auto duration = std::chrono::milliseconds(*rc::gen::inRange<int64_t>(0, 36'000'000'000));
  RC_ASSERT(ParseDuration(FormatDuration(duration)) == duration);
}

TEST(Duration, IsPrintedInItsLargestWholeUnit) {
  EXPECT_EQ(FormatDuration(0ms), "0ms");
  EXPECT_EQ(FormatDuration(1500ms), "1500ms");
  EXPECT_EQ(FormatDuration(45s), "45s");
  EXPECT_EQ(FormatDuration(2h), "2h");
}

TEST(ByteCount, HasAUnit) {
  EXPECT_EQ(ParseByteCount("1B"), 1u);
  EXPECT_EQ(ParseByteCount("64KiB"), 65'536u);
  EXPECT_EQ(ParseByteCount("256MiB"), 256u << 20);
  EXPECT_EQ(ParseByteCount("2GiB"), 2ull << 30);
}

TEST(ByteCount, IsNothingInADoubtfulUnit) {
  for (const std::string_view text : {"", "64", "64K", "64kB", "64MB", "64 MiB", "-1B",
                                      "9223372036854775807GiB", "99999999999999999999B"}) {
    EXPECT_FALSE(ParseByteCount(text)) << text;
  }
}

RC_GTEST_PROP(ByteCount, ReadsBackWhatWasPrinted, ()) {
  const uint64_t bytes = *rc::gen::inRange<uint64_t>(0, 1ull << 62);
  RC_ASSERT(ParseByteCount(FormatByteCount(bytes)) == bytes);
}

TEST(Time, IsRfc3339) {
  EXPECT_EQ(ParseTime("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(ParseTime("2026-11-21T10:00:00Z"), 1'795'255'200'000);
  EXPECT_EQ(ParseTime("2026-11-21T10:00:00.5Z"), 1'795'255'200'500);
  EXPECT_EQ(ParseTime("2026-11-21T10:00:00.123999999Z"), 1'795'255'200'123);
}

TEST(Time, CountsTheOffset) {
  EXPECT_EQ(ParseTime("2026-11-21T11:00:00+01:00"), ParseTime("2026-11-21T10:00:00Z"));
  EXPECT_EQ(ParseTime("2026-11-20T23:30:00-10:30"), ParseTime("2026-11-21T10:00:00Z"));
  EXPECT_EQ(ParseTime("2026-11-21T10:00:00+00:00"), ParseTime("2026-11-21T10:00:00Z"));
}

TEST(Time, KnowsTheCalendar) {
  EXPECT_TRUE(ParseTime("2024-02-29T00:00:00Z"));
  EXPECT_FALSE(ParseTime("2026-02-29T00:00:00Z"));
  EXPECT_FALSE(ParseTime("2026-13-01T00:00:00Z"));
  EXPECT_FALSE(ParseTime("2026-00-01T00:00:00Z"));
  EXPECT_FALSE(ParseTime("2026-01-00T00:00:00Z"));
  EXPECT_FALSE(ParseTime("2026-01-01T24:00:00Z"));
  EXPECT_FALSE(ParseTime("2026-01-01T00:60:00Z"));
}

TEST(Time, IsNothingInAnyOtherForm) {
  for (const std::string_view text :
       {"", "2026-11-21", "2026-11-21T10:00:00", "2026-11-21 10:00:00Z", "2026-11-21T10:00Z",
        "26-11-21T10:00:00Z", "2026-11-21T10:00:00Z ", "2026-11-21T10:00:00.Z",
        "2026-11-21T10:00:00+1:00", "2026-11-21T10:00:00+24:00", "2026-11-21T10:00:00z",
        "1795255200"}) {
    EXPECT_FALSE(ParseTime(text)) << text;
  }
}

RC_GTEST_PROP(Time, ReadsBackWhatWasPrinted, ()) {
  const int64_t millis = *rc::gen::inRange<int64_t>(0, 253'402'300'799'999);  // the year 9999
  RC_ASSERT(ParseTime(FormatTime(millis)) == millis);
}

RC_GTEST_PROP(Units, ReadingAnyTextEnds, (const std::string& text)) {
  ParseDuration(text);
  ParseByteCount(text);
  ParseTime(text);
}

TEST(Quoted, IsShortAndPrintable) {
  EXPECT_EQ(Quoted("gruop"), "`gruop`");
  EXPECT_EQ(Quoted("a\n\x1b[31m"), "`a\\x0a\\x1b[31m`");
  EXPECT_EQ(Quoted(std::string(100, 'x')), "`" + std::string(60, 'x') + "...`");
}

}  // namespace
}  // namespace oncemq
