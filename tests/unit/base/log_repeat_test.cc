// SPDX-License-Identifier: Apache-2.0
#include "log_repeat.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace oncemq {
namespace {

using std::chrono::seconds;

constexpr LogLevel kWarn = LogLevel::kWarn;

int Admitted(RepeatLimit& limit, int times, BootTime now, const std::string& text = "refused") {
  int admitted = 0;
  for (int i = 0; i < times; i++) {
    admitted += limit.Admit(kWarn, "kafka", text, now) ? 1 : 0;
  }
  return admitted;
}

TEST(RepeatLimit, AFewAlikePassEachSecond) {
  ManualClock clock;
  RepeatLimit limit(3);
  EXPECT_EQ(Admitted(limit, 10, clock.Boot()), 3);
  clock.Advance(milliseconds(999));
  EXPECT_EQ(Admitted(limit, 10, clock.Boot()), 0);
  clock.Advance(milliseconds(1));
  EXPECT_EQ(Admitted(limit, 10, clock.Boot()), 3);
}

TEST(RepeatLimit, OtherTextsAndOtherAreasAreNotAlike) {
  const ManualClock clock;
  RepeatLimit limit(1);
  EXPECT_TRUE(limit.Admit(kWarn, "kafka", "refused", clock.Boot()));
  EXPECT_TRUE(limit.Admit(kWarn, "kafka", "accepted", clock.Boot()));
  EXPECT_TRUE(limit.Admit(kWarn, "window", "refused", clock.Boot()));
  EXPECT_FALSE(limit.Admit(kWarn, "kafka", "refused", clock.Boot()));
}

TEST(RepeatLimit, TheBorderBetweenAreaAndTextCounts) {
  const ManualClock clock;
  RepeatLimit limit(1);
  EXPECT_TRUE(limit.Admit(kWarn, "ab", "c", clock.Boot()));
  EXPECT_TRUE(limit.Admit(kWarn, "a", "bc", clock.Boot()));
  EXPECT_TRUE(limit.Admit(kWarn, "c", "ab", clock.Boot()));
}

TEST(RepeatLimit, WhatWasHeldBackIsToldOnceItsSecondHasEnded) {
  ManualClock clock;
  RepeatLimit limit(1);
  Admitted(limit, 5, clock.Boot());
  EXPECT_TRUE(limit.Take(clock.Boot()).empty());
  clock.Advance(seconds(1));
  const auto held = limit.Take(clock.Boot());
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].count, 4u);
  EXPECT_EQ(held[0].level, kWarn);
  EXPECT_EQ(held[0].area, "kafka");
  EXPECT_EQ(held[0].text, "refused");
  EXPECT_TRUE(limit.Take(clock.Boot()).empty());
}

TEST(RepeatLimit, ALineThatGoesOnIsToldToo) {
  ManualClock clock;
  RepeatLimit limit(1);
  Admitted(limit, 5, clock.Boot());
  clock.Advance(seconds(1));
  Admitted(limit, 1, clock.Boot());
  const auto held = limit.Take(clock.Boot());
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].count, 4u);
}

TEST(RepeatLimit, OfLinesThatDifferInDigitsOnlyOnePassesInAMinute) {
  ManualClock clock;
  RepeatLimit limit(1, std::chrono::minutes(1), RepeatLimit::Alike::kButForDigits);
  int passed = 0;
  uint64_t told = 0;
  for (int half_second = 0; half_second < 240; half_second++) {
    for (const char* partition : {"0", "1", "12"}) {
      passed += Admitted(limit, 1, clock.Boot(), "no lock on payments/" + std::string(partition));
    }
    for (const auto& held : limit.Take(clock.Boot())) {
      told += held.count;
    }
    clock.Advance(milliseconds(500));
  }
  EXPECT_EQ(passed, 2) << "in two minutes";
  EXPECT_EQ(told, 3u * 120 - 1) << "of the first one";
  EXPECT_EQ(Admitted(limit, 1, clock.Boot(), "no space on payments/0"), 1) << "another text";
  const auto held = limit.Take(clock.Boot());
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].count, 3u * 120 - 1);
  EXPECT_EQ(held[0].text, "no lock on payments/1") << "a line as it was";
}

TEST(RepeatLimit, EveryLineEitherPassesOrIsCounted) {
  ManualClock clock;
  RepeatLimit limit(2);
  uint64_t passed = 0;
  uint64_t told = 0;
  for (int i = 0; i < 20'000; i++) {
    passed += Admitted(limit, 1, clock.Boot(), "text " + std::to_string(i % 700));
    clock.Advance(milliseconds(1));
    for (const auto& held : limit.Take(clock.Boot())) {
      told += held.count;
    }
  }
  clock.Advance(seconds(1));
  for (const auto& held : limit.Take(clock.Boot())) {
    told += held.count;
  }
  EXPECT_EQ(passed + told, 20'000u);
}

TEST(RepeatLimit, MoreDifferentLinesThanItRemembersPass) {
  const ManualClock clock;
  RepeatLimit limit(1);
  for (int i = 0; i < 10'000; i++) {
    ASSERT_TRUE(limit.Admit(kWarn, "kafka", "text " + std::to_string(i), clock.Boot()));
  }
}

TEST(RepeatLimit, ZeroMeansNoLimit) {
  const ManualClock clock;
  RepeatLimit limit(0);
  EXPECT_EQ(Admitted(limit, 1000, clock.Boot()), 1000);
}

}  // namespace
}  // namespace oncemq
