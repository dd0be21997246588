// SPDX-License-Identifier: Apache-2.0
#include "log_format.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace oncemq {
namespace {

// 2026-11-21T10:00:00.123456Z
constexpr WallTime kTime{1'795'255'200'123'456};

TEST(LogTime, IsRfc3339InUtcWithMilliseconds) {
  EXPECT_EQ(FormatLogTime(kTime), "2026-11-21T10:00:00.123Z");
  EXPECT_EQ(FormatLogTime(WallTime{0}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatLogTime(WallTime{951'782'400'000'000}), "2000-02-29T00:00:00.000Z");
}

TEST(LogTime, ATimeBefore1970IsStillATime) {
  EXPECT_EQ(FormatLogTime(WallTime{-1}), "1969-12-31T23:59:59.999Z");
}

TEST(LogText, IsTimeLevelAreaTextAndFields) {
  const LogField fields[] = {{"topic", "pay"}, {"partition", 3}, {"why", "not a leader"}};
  EXPECT_EQ(FormatLogText({kTime, LogLevel::kWarn, "kafka", "commit refused", fields, 0}),
            "2026-11-21T10:00:00.123Z WARN kafka commit refused topic=pay partition=3 "
            "why=\"not a leader\"\n");
}

TEST(LogText, SaysHowManyAlikeWereHeldBack) {
  EXPECT_EQ(FormatLogText({kTime, LogLevel::kInfo, "kafka", "commit refused", {}, 37}),
            "2026-11-21T10:00:00.123Z INFO kafka commit refused (+37 alike)\n");
}

TEST(LogText, PercentAndBracesAreOnlyText) {
  EXPECT_EQ(FormatLogText({kTime, LogLevel::kInfo, "a", "%s %n {} {0:x} ${HOME}", {}, 0}),
            "2026-11-21T10:00:00.123Z INFO a %s %n {} {0:x} ${HOME}\n");
}

TEST(LogText, NoPartOfALineCanStartASecondLine) {
  const LogField fields[] = {{"na\nme", "val\nue"}};
  const std::string line = FormatLogText({kTime, LogLevel::kInfo, "ar\nea", "te\nxt", fields, 0});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

TEST(LogJson, IsOneObjectOnOneLine) {
  const LogField fields[] = {{"topic", "pay"}, {"partition", 3}, {"lost", true}};
  const std::string line =
      FormatLogJson({kTime, LogLevel::kWarn, "kafka", "commit \"refused\"\n", fields, 2});
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["time"], "2026-11-21T10:00:00.123Z");
  EXPECT_EQ(json["level"], "warn");
  EXPECT_EQ(json["area"], "kafka");
  EXPECT_EQ(json["text"], "commit \"refused\"\n");
  EXPECT_EQ(json["topic"], "pay");
  EXPECT_EQ(json["partition"], 3);
  EXPECT_EQ(json["lost"], true);
  EXPECT_EQ(json["alike"], 2);
}

TEST(LogJson, KeepsTheLargestNumbers) {
  const LogField fields[] = {{"low", std::numeric_limits<int64_t>::min()},
                             {"high", std::numeric_limits<uint64_t>::max()}};
  const auto json =
      nlohmann::json::parse(FormatLogJson({kTime, LogLevel::kInfo, "a", "b", fields, 0}));
  EXPECT_EQ(json["low"], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(json["high"], std::numeric_limits<uint64_t>::max());
}

TEST(LogJson, AFieldCannotReplaceTheLinesOwnKeys) {
  const LogField fields[] = {{"level", "debug"}, {"text", "forged"}};
  const auto json =
      nlohmann::json::parse(FormatLogJson({kTime, LogLevel::kError, "a", "true", fields, 0}));
  EXPECT_EQ(json["level"], "error");
  EXPECT_EQ(json["text"], "true");
  EXPECT_EQ(json["level_"], "debug");
  EXPECT_EQ(json["text_"], "forged");
}

TEST(LogJson, ATextThatLooksLikeANumberStaysAText) {
  const LogField fields[] = {{"id", "007"}};
  const auto json =
      nlohmann::json::parse(FormatLogJson({kTime, LogLevel::kInfo, "a", "b", fields, 0}));
  EXPECT_EQ(json["id"], "007");
}

}  // namespace
}  // namespace oncemq
