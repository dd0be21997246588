// SPDX-License-Identifier: Apache-2.0
#include "words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oncemq::demo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Words, ThousandsAreGrouped) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(22'000), "22,000");
  EXPECT_EQ(Grouped(-1'234'567), "-1,234,567");
}

TEST(Words, MoneyHasTwoDigitsOfCentsAndACurrency) {
  EXPECT_EQ(MoneyOf(0), "0.00 EUR");
  EXPECT_EQ(MoneyOf(123'456), "1,234.56 EUR");
  EXPECT_EQ(MoneyOf(-5), "-0.05 EUR");
  EXPECT_EQ(MoneyOf(-250), "-2.50 EUR");
}

TEST(Words, ATextIsWrappedAtItsSpaces) {
  EXPECT_THAT(Wrapped("the group waits", 9), ElementsAre("the group", "waits"));
  EXPECT_THAT(Wrapped("the group waits", 8), ElementsAre("the", "group", "waits"));
  EXPECT_THAT(Wrapped("rebalancing a group", 3), ElementsAre("rebalancing", "a", "group"));
  EXPECT_THAT(Wrapped("", 9), IsEmpty());
}

TEST(Words, ASumShowsItsTerms) {
  EXPECT_EQ(Sum("2,005 delivered").Add(2'000, "applied").Add(0, "parked").Add(5, "open").text(),
            "2,005 delivered = 2,000 applied + 5 open");
  EXPECT_EQ(Sum("0").Add(0, "open", true).text(), "0 = 0 open");
}

}  // namespace
}  // namespace oncemq::demo
