// SPDX-License-Identifier: Apache-2.0
#include "words.h"

#include <gtest/gtest.h>

namespace oncemq::demo {
namespace {

TEST(Words, ThousandsAreGrouped) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(22'000), "22,000");
  EXPECT_EQ(Grouped(-1'234'567), "-1,234,567");
}

TEST(Words, MoneyHasTwoDigitsOfCents) {
  EXPECT_EQ(MoneyOf(0), "0.00");
  EXPECT_EQ(MoneyOf(123'456), "1,234.56");
  EXPECT_EQ(MoneyOf(-5), "-0.05");
  EXPECT_EQ(MoneyOf(-250), "-2.50");
}

TEST(Words, ASumShowsItsTerms) {
  EXPECT_EQ(Sum("2,005 delivered").Add(2'000, "applied").Add(0, "parked").Add(5, "open").text(),
            "2,005 delivered = 2,000 applied + 5 open");
  EXPECT_EQ(Sum("0").Add(0, "open", true).text(), "0 = 0 open");
}

}  // namespace
}  // namespace oncemq::demo
