// SPDX-License-Identifier: Apache-2.0
#include "target_watch.h"

#include <gtest/gtest.h>

#include "switch_times.h"

namespace oncemq::testing {
namespace {

using By = TargetWatch::By;

constexpr milliseconds kPatience{2'000};

class TargetWatchTest : public ::testing::Test {
 protected:
  static BootTime At(int millis) { return kSwitchStart + milliseconds(millis); }
  // Of a call that took as long as it says.
  bool Fails(int sent, int failed, By by = By::kUser, uint32_t epoch = 2) {
    return watch_.Failed(by, epoch, At(sent), At(failed), kPatience);
  }

  TargetWatch watch_;
};

TEST_F(TargetWatchTest, ASilenceBeginsWithTheSendingOfTheFirstFailure) {
  EXPECT_FALSE(Fails(0, 1'000));
  EXPECT_FALSE(Fails(1'100, 1'900));
  EXPECT_TRUE(Fails(1'950, 2'000));
  EXPECT_FALSE(Fails(2'000, 2'100)) << "it was said";
}

TEST_F(TargetWatchTest, OneFailureIsNoSilenceHoweverLongItTook) {
  EXPECT_FALSE(Fails(0, 10'000));
  EXPECT_TRUE(Fails(10'000, 10'001));
}

TEST_F(TargetWatchTest, WhatTheTargetTakesEndsASilence) {
  EXPECT_FALSE(Fails(0, 1'000));
  watch_.Took(By::kUser, At(1'500));
  EXPECT_FALSE(Fails(1'600, 2'600));
  EXPECT_FALSE(Fails(2'700, 3'500));
  EXPECT_TRUE(Fails(3'500, 3'600));
}

// One thread hears nothing, for its connection is gone; another one is answered.
TEST_F(TargetWatchTest, ACallThatWasSentBeforeTheLastAnswerProvesSilenceSinceThenOnly) {
  watch_.Took(By::kUser, At(1'500));
  EXPECT_FALSE(Fails(0, 2'000));
  EXPECT_FALSE(Fails(1'000, 3'400));
  EXPECT_TRUE(Fails(2'000, 3'500));
}

TEST_F(TargetWatchTest, AnAnsweredQuestionEndsASilenceOfQuestionsOnly) {
  EXPECT_FALSE(Fails(0, 100, By::kQuestion));
  watch_.Took(By::kQuestion, At(1'000));
  EXPECT_FALSE(Fails(3'000, 3'100, By::kQuestion)) << "the first one again";
  EXPECT_FALSE(Fails(3'200, 3'300, By::kUser));
  watch_.Took(By::kQuestion, At(4'000));
  EXPECT_TRUE(Fails(5'000, 5'100, By::kUser)) << "it takes questions and nothing else";
}

TEST_F(TargetWatchTest, FailuresOfAnEarlierSwitchDoNotCount) {
  EXPECT_FALSE(Fails(0, 1'000, By::kUser, 2));
  EXPECT_FALSE(Fails(5'000, 5'100, By::kUser, 4));
  EXPECT_TRUE(Fails(7'000, 7'100, By::kUser, 4));
}

// A renewal after a third of the lease that waits for a sixth, and after a twentieth another one.
TEST_F(TargetWatchTest, PatienceLeavesAHolderTimeToLearnThatTheSwitchIsCalledOff) {
  for (const milliseconds lease : {milliseconds(3'000), milliseconds(5'000), milliseconds(10'000),
                                   milliseconds(30'000), milliseconds(3'600'000)}) {
    const auto silent = lease / 6 + lease / 20 + lease / 6;
    EXPECT_LE(TargetWatch::Patience(lease), silent) << lease.count();
    EXPECT_GT(TargetWatch::Patience(lease), lease / 6) << "more than one lost reply";
  }
  EXPECT_EQ(TargetWatch::Patience(milliseconds(100)), milliseconds(1'000));
}

}  // namespace
}  // namespace oncemq::testing
