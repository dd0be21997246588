// SPDX-License-Identifier: Apache-2.0
#include "memcached/memcached_clock.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

using std::chrono::seconds;

BootTime At(double since) {
  return BootTime(microseconds(static_cast<int64_t>((1'000 + since) * 1e6)));
}

TEST(MemcachedClock, WholeSecondsAreNoPause) {
  MemcachedClock clock;
  for (int tenth = 0; tenth < 100; tenth++) {
    const double now = tenth / 10.0;
    EXPECT_TRUE(clock.Right(seconds(static_cast<int>(now + 0.4)), At(now), At(now)));
  }
}

TEST(MemcachedClock, OneThatStandsIsNotRightUntilItIsPutRight) {
  MemcachedClock clock;
  EXPECT_TRUE(clock.Right(seconds(5), At(5), At(5)));
  EXPECT_FALSE(clock.Right(seconds(5), At(7), At(7)));
  EXPECT_FALSE(clock.Right(seconds(5), At(9), At(9)));
  EXPECT_TRUE(clock.Right(seconds(9), At(9), At(9)));
  EXPECT_FALSE(clock.Right(seconds(9), At(11), At(11)));
}

// What was asked before the pause counts from then on, by the clock of then.
TEST(MemcachedClock, AnAnswerThatTookLongIsJudgedByItsSending) {
  MemcachedClock clock;
  EXPECT_TRUE(clock.Right(seconds(5), At(5), At(5)));
  EXPECT_TRUE(clock.Right(seconds(5), At(5), At(9)));
}

TEST(MemcachedClock, OneThatIsALittleSlowIsRight) {
  MemcachedClock clock;
  for (int i = 0; i < 10'000; i += 10) {
    EXPECT_TRUE(clock.Right(seconds(static_cast<int>(i * 0.9995)), At(i), At(i))) << i;
  }
}

TEST(MemcachedClock, OneThatGoesOnBehindIsRightAgain) {
  MemcachedClock clock;
  EXPECT_TRUE(clock.Right(seconds(5), At(5), At(5)));
  EXPECT_FALSE(clock.Right(seconds(5), At(65), At(65)));
  EXPECT_FALSE(clock.Right(seconds(5), At(65.9), At(65.9)));
  EXPECT_TRUE(clock.Right(seconds(6), At(66), At(66)));
  EXPECT_TRUE(clock.Right(seconds(10), At(70), At(70)));
  EXPECT_FALSE(clock.Right(seconds(10), At(72), At(72)));
}

TEST(MemcachedClock, AnotherBeginningIsForgotten) {
  MemcachedClock clock;
  EXPECT_TRUE(clock.Right(seconds(500), At(5), At(5)));
  EXPECT_FALSE(clock.Right(seconds(0), At(6), At(6)));
  clock.Forget();
  EXPECT_TRUE(clock.Right(seconds(0), At(6), At(6)));
}

}  // namespace
}  // namespace oncemq
