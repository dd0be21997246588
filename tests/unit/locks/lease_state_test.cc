// SPDX-License-Identifier: Apache-2.0
#include "lease_state.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

constexpr BootTime kStart{microseconds(1'000'000)};

BootTime At(milliseconds since) {
  return kStart + since;
}

// Safe for 1000 - 100 - 1 - 2 ms.
constexpr LeaseTimes kTimes{milliseconds(1'000), milliseconds(100), milliseconds(0)};
constexpr milliseconds kSafe{897};

TEST(LeaseState, AHoldIsSafeForItsLeaseLessMarginAndDrift) {
  EXPECT_EQ(kTimes.Safe(), kSafe);
  EXPECT_EQ(LeaseState(kTimes, kStart).safe_until(), At(kSafe));
  EXPECT_EQ((LeaseTimes{milliseconds(10), milliseconds(100), {}}.Safe()), milliseconds(0));
}

TEST(LeaseState, IsRenewedAtAThirdOfItsLease) {
  LeaseState state(kTimes, kStart);
  EXPECT_EQ(state.next(), At(milliseconds(333)));
  EXPECT_FALSE(state.At(At(milliseconds(332))).renew);
  EXPECT_TRUE(state.At(At(milliseconds(333))).renew);
  EXPECT_FALSE(state.At(At(milliseconds(334))).renew) << "one is on its way";
  EXPECT_EQ(state.next(), At(kSafe));
}

TEST(LeaseState, CountsARenewalFromItsSending) {
  LeaseState state(kTimes, kStart);
  state.Renewed(At(milliseconds(333)), At(milliseconds(700)));
  EXPECT_EQ(state.safe_until(), At(milliseconds(333) + kSafe));
}

TEST(LeaseState, IsRenewedAtOnceWhenItIsInDoubt) {
  LeaseState state(kTimes, kStart);
  EXPECT_FALSE(state.At(At(milliseconds(1))).renew);
  state.Warned();
  EXPECT_EQ(state.safe_until(), At(kSafe)) << "doubt is no answer";
  EXPECT_TRUE(state.At(At(milliseconds(1))).renew);
  state.Renewed(At(milliseconds(1)), At(milliseconds(2)));
  EXPECT_EQ(state.next(), At(milliseconds(334))) << "it is settled";
}

TEST(LeaseState, ADoubtBehindTheSendingOfARenewalIsSettledByTheNextOne) {
  for (const bool answered : {true, false}) {
    LeaseState state(kTimes, kStart);
    ASSERT_TRUE(state.At(At(milliseconds(333))).renew);
    state.Warned();
    EXPECT_FALSE(state.At(At(milliseconds(334))).renew) << "one is on its way";
    if (answered) {
      state.Renewed(At(milliseconds(333)), At(milliseconds(335)));
    } else {
      state.RenewalFailed(At(milliseconds(335)));
    }
    EXPECT_TRUE(state.At(At(milliseconds(335))).renew);
    state.Renewed(At(milliseconds(335)), At(milliseconds(336)));
    EXPECT_EQ(state.next(), At(milliseconds(668)));
  }
}

TEST(LeaseState, WhatIsLostStaysLostInDoubt) {
  LeaseState state(kTimes, kStart);
  state.End(LeaseLoss::kTaken);
  EXPECT_TRUE(state.At(kStart).lost);
  state.Warned();
  EXPECT_FALSE(state.At(kStart).renew);
  EXPECT_FALSE(state.next());
}

TEST(LeaseState, IsLostAtItsDeadlineAndSaysSoOnce) {
  LeaseState state(kTimes, kStart);
  EXPECT_FALSE(state.At(At(kSafe - milliseconds(1))).lost);
  EXPECT_EQ(state.At(At(kSafe)).lost, LeaseLoss::kDeadline);
  EXPECT_FALSE(state.At(At(kSafe)).lost);
  EXPECT_EQ(state.lost(), LeaseLoss::kDeadline);
  EXPECT_FALSE(state.next());
}

TEST(LeaseState, ALateAcknowledgementDoesNotBringItBack) {
  LeaseState told(kTimes, kStart);
  ASSERT_TRUE(told.At(At(kSafe)).lost);
  told.Renewed(At(milliseconds(800)), At(kSafe));
  EXPECT_EQ(told.lost(), LeaseLoss::kDeadline);

  // Nobody has looked at the clock since; the hold was unsafe all the same.
  LeaseState unreported(kTimes, kStart);
  unreported.Renewed(At(milliseconds(800)), At(kSafe));
  EXPECT_EQ(unreported.At(At(kSafe)).lost, LeaseLoss::kDeadline);
}

TEST(LeaseState, AFailedRenewalIsSentAgainAndExtendsNothing) {
  LeaseState state(kTimes, kStart);
  ASSERT_TRUE(state.At(At(milliseconds(333))).renew);
  state.RenewalFailed(At(milliseconds(500)));
  EXPECT_EQ(state.safe_until(), At(kSafe));
  EXPECT_EQ(state.next(), At(milliseconds(550)));
  EXPECT_TRUE(state.At(At(milliseconds(550))).renew);
}

TEST(LeaseState, ARenewalWaitsForASixthOfTheLeaseAndTheNextOneForAllThatIsLeft) {
  LeaseState state(kTimes, kStart);
  EXPECT_EQ(state.AnswerWithin(At(milliseconds(333))), milliseconds(166));
  state.RenewalFailed(At(milliseconds(499)));
  EXPECT_EQ(state.AnswerWithin(At(milliseconds(549))), kSafe - milliseconds(549));
  EXPECT_EQ(state.AnswerWithin(At(milliseconds(890))), milliseconds(166));
  state.Renewed(At(milliseconds(549)), At(milliseconds(550)));
  EXPECT_EQ(state.AnswerWithin(At(milliseconds(882))), milliseconds(166));
}

TEST(LeaseState, NoRenewalWaitsForLessThanAStoreNeeds) {
  const LeaseTimes times{milliseconds(60), milliseconds(6), milliseconds(0)};
  EXPECT_EQ(LeaseState(times, kStart).AnswerWithin(At(milliseconds(20))), milliseconds(50));
}

TEST(LeaseState, AnEarlierRenewalThatIsAcknowledgedLaterTakesNothingBack) {
  LeaseState state(kTimes, kStart);
  state.Renewed(At(milliseconds(600)), At(milliseconds(610)));
  state.Renewed(At(milliseconds(333)), At(milliseconds(620)));
  EXPECT_EQ(state.safe_until(), At(milliseconds(600) + kSafe));
}

TEST(LeaseState, IsLostWhenTheStoreEndsIt) {
  LeaseState state(kTimes, kStart);
  state.End(LeaseLoss::kTaken);
  EXPECT_EQ(state.next(), BootTime::min()) << "at once";
  EXPECT_EQ(state.At(At(milliseconds(1))).lost, LeaseLoss::kTaken);
  state.End(LeaseLoss::kClosed);
  EXPECT_EQ(state.lost(), LeaseLoss::kTaken) << "the first reason stays";
}

TEST(LeaseState, IsLostAtTheMomentThatEndsItOrWhenItWasHeldForTooLong) {
  LeaseTimes times;
  times.ends = At(milliseconds(700));
  EXPECT_EQ(LeaseState(times, At(milliseconds(600))).safe_until(), At(milliseconds(700)));
  times.max_hold = milliseconds(50);
  EXPECT_EQ(LeaseState(times, At(milliseconds(600))).safe_until(), At(milliseconds(650)));
  times.max_hold = milliseconds(5'000);
  LeaseState state(times, At(milliseconds(0)));
  EXPECT_EQ(state.At(At(milliseconds(699))).lost, std::nullopt);
  EXPECT_EQ(state.At(At(milliseconds(700))).lost, LeaseLoss::kTooLong);
}

TEST(LeaseState, IsLostWhenItWasHeldForTooLongHoweverWellItIsRenewed) {
  LeaseTimes times = kTimes;
  times.max_hold = milliseconds(1'500);
  LeaseState state(times, kStart);
  for (int i = 1; i <= 4; i++) {
    state.Renewed(At(milliseconds(333 * i)), At(milliseconds(333 * i)));
  }
  EXPECT_FALSE(state.At(At(milliseconds(1'499))).lost);
  EXPECT_EQ(state.At(At(milliseconds(1'500))).lost, LeaseLoss::kTooLong);
}

TEST(LeaseState, AnEndThatIsMovedCountsAtOnceInBothDirections) {
  LeaseState state(kTimes, kStart);
  state.EndAt(At(milliseconds(300)), At(milliseconds(1)));
  EXPECT_EQ(state.safe_until(), At(milliseconds(300)));
  EXPECT_EQ(state.next(), At(milliseconds(300)));
  state.EndAt(At(milliseconds(800)), At(milliseconds(200)));
  EXPECT_EQ(state.safe_until(), At(milliseconds(800)));
  EXPECT_FALSE(state.At(At(milliseconds(300))).lost);
  state.EndAt(BootTime::max(), At(milliseconds(300)));
  EXPECT_EQ(state.safe_until(), At(kSafe)) << "its lease ends it as ever";
  state.EndAt(BootTime::min(), At(milliseconds(300)));
  EXPECT_EQ(state.At(At(milliseconds(300))).lost, LeaseLoss::kTooLong);
}

TEST(LeaseState, AnEndThatIsMovedBringsNothingBack) {
  LeaseState state(kTimes, kStart);
  state.EndAt(At(milliseconds(300)), kStart);
  state.EndAt(At(milliseconds(800)), At(milliseconds(300)));
  EXPECT_EQ(state.At(At(milliseconds(300))).lost, LeaseLoss::kTooLong)
      << "it was over, seen or not";
  LeaseTimes times = kTimes;
  times.max_hold = milliseconds(500);
  LeaseState longest(times, kStart);
  longest.EndAt(At(milliseconds(800)), kStart);
  EXPECT_EQ(longest.safe_until(), At(milliseconds(500)));
}

}  // namespace
}  // namespace oncemq
