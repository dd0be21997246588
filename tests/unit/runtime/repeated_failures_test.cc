// SPDX-License-Identifier: Apache-2.0
// Which failures are worth a line, by a clock that the test moves.
#include "repeated_failures.h"

#include <gtest/gtest.h>

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

class RepeatedFailuresTest : public ::testing::Test {
 protected:
  void After(microseconds time) { now_ += time; }

  RepeatedFailures failures_;
  BootTime now_{seconds(1'000)};
};

TEST_F(RepeatedFailuresTest, AnOutageHasALineAtOnceOneInTenSecondsAndOneAtItsEnd) {
  EXPECT_FALSE(failures_.Succeeded(now_));
  const auto first = failures_.Failed(now_);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->count, 1u);
  int lines = 0;
  for (int i = 0; i < 999; i++) {
    After(milliseconds(62));
    const auto summary = failures_.Failed(now_);
    lines += summary ? 1 : 0;
    EXPECT_TRUE(!summary || summary->count >= 100);
  }
  EXPECT_EQ(lines, 6) << "in 62 seconds";
  const auto end = failures_.Succeeded(now_);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->count, 1'000u);
  EXPECT_EQ(end->since, milliseconds(62 * 999));
  EXPECT_FALSE(failures_.Succeeded(now_)) << "once";
}

TEST_F(RepeatedFailuresTest, FailuresBetweenSuccessesHaveNoEndAndNoMoreLines) {
  int lines = 0;
  for (int i = 0; i < 250; i++) {
    lines += failures_.Failed(now_) ? 1 : 0;
    EXPECT_FALSE(failures_.Succeeded(now_));
    After(milliseconds(100));
  }
  EXPECT_EQ(lines, 3) << "in 25 seconds";
}

TEST_F(RepeatedFailuresTest, ALaterOutageHasALineAtOnceAgain) {
  EXPECT_TRUE(failures_.Failed(now_));
  EXPECT_FALSE(failures_.Succeeded(now_));
  After(seconds(60));
  const auto again = failures_.Failed(now_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->count, 1u);
  EXPECT_EQ(again->since, seconds(0));
}

}  // namespace
}  // namespace oncemq::testing
