// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/check.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

TEST(Check, LetsATrueConditionPassAndAsksItOnce) {
  int asked = 0;
  ONCEMQ_CHECK(++asked == 1, "the condition has a side effect here");
  EXPECT_EQ(asked, 1);
}

TEST(Check, StandsAloneInAnIfWithoutBraces) {
  bool otherwise = false;
  // clang-format off
  if (false)  // NOLINT: without braces is what is tested
    ONCEMQ_CHECK(false, "never reached");
  else
    otherwise = true;
  // clang-format on
  EXPECT_TRUE(otherwise);
}

TEST(CheckDeathTest, AFalseConditionEndsTheProcessWithPlaceConditionAndReason) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(ONCEMQ_CHECK(1 + 1 == 3, "arithmetic must hold"),
               "check_test.cc:[0-9]+: this is a bug in oncemq: 1 \\+ 1 == 3 does not hold: "
               "arithmetic must hold");
}

}  // namespace
}  // namespace oncemq
