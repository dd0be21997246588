// SPDX-License-Identifier: Apache-2.0
#include "acquire_state.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace oncemq {
namespace {

using Do = AcquireState::Do;
using Kind = LockAnswer::Kind;

constexpr BootTime kStart{microseconds(1'000'000)};

BootTime At(microseconds since) {
  return kStart + since;
}

AcquirePlan Plan() {
  return {.times = {milliseconds(1'000), milliseconds(100), milliseconds(0)},
          .queue_lease = milliseconds(300),
          .patience = milliseconds(2'000)};
}

LockAnswer Granted() {
  return {Kind::kGranted, {0, 7}, {}};
}

LockAnswer Queued(milliseconds again) {
  return {Kind::kQueued, {}, again};
}

const Error kDown{Code::kUnavailable, Effect::kNone, "down"};
const Error kNoReply{Code::kTimeout, Effect::kUnknown, "no reply"};

TEST(AcquireState, AGrantIsAHoldSinceItsAskWasSent) {
  AcquireState state(Plan(), kStart);
  const auto step = state.Next(kStart, false);
  EXPECT_EQ(step.what, Do::kRequest);
  EXPECT_TRUE(step.queue);
  EXPECT_FALSE(state.owes());
  state.Answered(Granted(), kStart, At(milliseconds(5)));
  EXPECT_EQ(state.Next(At(milliseconds(5)), false).what, Do::kHold);
  EXPECT_EQ(state.requested_at(), kStart);
  EXPECT_EQ(state.fence(), (Fence{0, 7}));
}

TEST(AcquireState, AGrantThatCameTooLateIsAskedForAgain) {
  AcquireState state(Plan(), kStart);
  state.Answered(Granted(), kStart, At(milliseconds(897)));
  EXPECT_EQ(state.Next(At(milliseconds(897)), false).what, Do::kRequest);
  EXPECT_TRUE(state.owes()) << "the store may keep it still";
}

TEST(AcquireState, AGrantIsNoHoldBehindTheMomentThatEndsIt) {
  AcquirePlan plan = Plan();
  plan.times.ends = At(milliseconds(50));
  EXPECT_EQ(AcquireState(plan, kStart).Next(At(milliseconds(50)), false).what, Do::kGiveUp)
      << "nothing is asked for then";
  AcquireState state(plan, kStart);
  state.Answered(Queued(milliseconds(300)), kStart, kStart);
  EXPECT_EQ(state.Next(kStart, false).until, At(milliseconds(50)));
  EXPECT_EQ(state.Next(At(milliseconds(50)), false).what, Do::kGiveUp);
  state.Answered(Granted(), At(milliseconds(49)), At(milliseconds(50)));
  EXPECT_EQ(state.Next(At(milliseconds(50)), false).what, Do::kGiveUp);
  EXPECT_TRUE(state.owes());
}

TEST(AcquireState, AGrantThatComesBehindItsLongestTimeIsAskedForAgainWhilePatienceLasts) {
  AcquirePlan plan = Plan();
  plan.times.max_hold = milliseconds(5);
  AcquireState state(plan, kStart);
  BootTime now = kStart;
  for (; now < At(milliseconds(2'005)); now += milliseconds(5)) {
    ASSERT_EQ(state.Next(now, false).what, Do::kRequest);
    state.Answered(Granted(), now, now + milliseconds(5));
  }
  EXPECT_EQ(state.Next(now, false).what, Do::kFail);
  EXPECT_EQ(state.error().code, Code::kTimeout);
  EXPECT_TRUE(state.owes());
}

TEST(AcquireState, AWaiterAsksAgainWhenWhatIsAheadHasEnded) {
  AcquireState state(Plan(), kStart);
  state.Answered(Queued(milliseconds(40)), kStart, At(milliseconds(5)));
  const auto step = state.Next(At(milliseconds(5)), false);
  EXPECT_EQ(step.what, Do::kAwait);
  EXPECT_EQ(step.until, At(milliseconds(46)));
  EXPECT_EQ(state.Next(At(milliseconds(46)), false).what, Do::kRequest);
}

TEST(AcquireState, AWaiterAsksAgainBeforeItsPlaceEnds) {
  AcquireState state(Plan(), kStart);
  state.Answered(Queued(milliseconds(30'000)), kStart, kStart);
  EXPECT_EQ(state.Next(kStart, false).until, At(milliseconds(100)));
}

TEST(AcquireState, AWaiterThatIsWokenAsksAtOnce) {
  AcquireState state(Plan(), kStart);
  state.Answered(Queued(milliseconds(300)), kStart, kStart);
  ASSERT_EQ(state.Next(kStart, false).what, Do::kAwait);
  state.AwaitEnded();
  EXPECT_EQ(state.Next(At(milliseconds(1)), false).what, Do::kRequest);
}

TEST(AcquireState, AWaiterThatCannotBeWokenAsksInTime) {
  AcquireState state(Plan(), kStart);
  state.Answered(Queued(milliseconds(300)), kStart, kStart);
  state.AwaitFailed();
  const auto step = state.Next(kStart, false);
  EXPECT_EQ(step.what, Do::kPause);
  EXPECT_EQ(step.until, At(milliseconds(100)));
  EXPECT_EQ(state.Next(At(milliseconds(100)), false).what, Do::kRequest);
}

TEST(AcquireState, AStopGivesUpAndOwesThePlace) {
  AcquireState state(Plan(), kStart);
  EXPECT_EQ(state.Next(kStart, true).what, Do::kGiveUp) << "before anything was asked";
  EXPECT_FALSE(state.owes());
  state.Answered(Queued(milliseconds(300)), kStart, kStart);
  EXPECT_EQ(state.Next(kStart, true).what, Do::kGiveUp);
  EXPECT_TRUE(state.owes());
}

TEST(AcquireState, AGrantWinsAgainstAStop) {
  AcquireState state(Plan(), kStart);
  state.Answered(Granted(), kStart, kStart);
  EXPECT_EQ(state.Next(kStart, true).what, Do::kHold);
}

TEST(AcquireState, WaitsNoLongerThanItIsTo) {
  AcquirePlan plan = Plan();
  plan.until = At(milliseconds(50));
  AcquireState state(plan, kStart);
  state.Answered(Queued(milliseconds(300)), kStart, kStart);
  EXPECT_EQ(state.Next(kStart, false).until, At(milliseconds(50)));
  EXPECT_EQ(state.Next(At(milliseconds(50)), false).what, Do::kGiveUp);
}

TEST(AcquireState, OneTryAsksOnceAndTakesNoPlace) {
  AcquirePlan plan = Plan();
  plan.until = kStart;
  AcquireState state(plan, kStart);
  const auto step = state.Next(kStart, false);
  EXPECT_EQ(step.what, Do::kRequest);
  EXPECT_FALSE(step.queue);
  state.Answered({Kind::kBusy, {}, {}}, kStart, kStart);
  EXPECT_EQ(state.Next(kStart, false).what, Do::kGiveUp);
  EXPECT_FALSE(state.owes());
}

TEST(AcquireState, OneTryThatFailsIsAnErrorAndNoAnswer) {
  AcquirePlan plan = Plan();
  plan.until = kStart;
  AcquireState state(plan, kStart);
  state.Failed(kNoReply, At(milliseconds(5)));
  EXPECT_EQ(state.Next(At(milliseconds(5)), false).what, Do::kFail);
  EXPECT_EQ(state.error().message, "no reply");
  EXPECT_TRUE(state.owes()) << "it may have been granted";
}

TEST(AcquireState, AnAskThatWasNotAnsweredIsOwedThoughALaterOneIsBusy) {
  AcquirePlan plan = Plan();
  plan.wait = {LockWait::How::kSpin, milliseconds(5)};
  AcquireState state(plan, kStart);
  state.Failed(kNoReply, At(milliseconds(1)));
  state.Answered({Kind::kBusy, {}, {}}, At(milliseconds(1)), At(milliseconds(2)));
  EXPECT_TRUE(state.owes()) << "the first one may still be on its way";
}

TEST(AcquireState, WhatWasGotBeforeTheStoreWasSealedIsOwed) {
  const LockAnswer sealed{Kind::kSealed, {3, 0}, {}};
  AcquireState waits(Plan(), kStart);
  waits.Answered(Queued(milliseconds(300)), kStart, kStart);
  waits.Answered(sealed, At(milliseconds(100)), At(milliseconds(100)));
  EXPECT_EQ(waits.Next(At(milliseconds(100)), false).what, Do::kFail);
  EXPECT_TRUE(waits.owes()) << "its place";
  AcquireState late(Plan(), kStart);
  late.Answered(Granted(), kStart, At(milliseconds(897)));
  ASSERT_EQ(late.Next(At(milliseconds(897)), false).what, Do::kRequest);
  late.Answered(sealed, At(milliseconds(897)), At(milliseconds(898)));
  EXPECT_TRUE(late.owes()) << "the hold that it did not rely on";
  AcquireState never(Plan(), kStart);
  never.Answered(sealed, kStart, kStart);
  EXPECT_EQ(never.Next(kStart, false).what, Do::kFail);
  EXPECT_FALSE(never.owes());
}

TEST(AcquireState, AStoreThatFailsIsAskedAgainMoreAndMoreSlowly) {
  AcquireState state(Plan(), kStart);
  BootTime now = kStart;
  microseconds last{0};
  for (int i = 0; i < 4; i++) {
    ASSERT_EQ(state.Next(now, false).what, Do::kRequest);
    state.Failed(kDown, now);
    const auto step = state.Next(now, false);
    ASSERT_EQ(step.what, Do::kPause);
    const microseconds pause = step.until - now;
    EXPECT_GE(pause, milliseconds(5) * (1 << i));
    EXPECT_LE(pause, milliseconds(15) * (1 << i));
    EXPECT_GT(pause * 4, last);
    last = pause;
    now = step.until;
  }
  EXPECT_FALSE(state.owes()) << "nothing was done at any time";
}

TEST(AcquireState, PatienceEnds) {
  AcquireState state(Plan(), kStart);
  state.Failed(kDown, kStart);
  state.Failed(kDown, At(milliseconds(1'999)));
  EXPECT_EQ(state.Next(At(milliseconds(1'999)), false).what, Do::kPause);
  state.Failed(kDown, At(milliseconds(2'000)));
  EXPECT_EQ(state.Next(At(milliseconds(2'000)), false).what, Do::kFail);
}

TEST(AcquireState, AnAnswerBringsPatienceBack) {
  AcquireState state(Plan(), kStart);
  state.Failed(kDown, kStart);
  state.Answered(Queued(milliseconds(300)), At(milliseconds(1'900)), At(milliseconds(1'900)));
  state.Failed(kDown, At(milliseconds(2'500)));
  EXPECT_EQ(state.Next(At(milliseconds(2'500)), false).what, Do::kPause);
}

TEST(AcquireState, WhatRepeatingCannotHelpFailsAtOnce) {
  AcquireState state(Plan(), kStart);
  state.Failed({Code::kFull, Effect::kNone, "full"}, kStart);
  EXPECT_EQ(state.Next(kStart, false).what, Do::kFail);
}

TEST(AcquireState, ABusyStoreIsAskedAgain) {
  AcquireState state(Plan(), kStart);
  state.Failed({Code::kBusy, Effect::kNone, "all connections are in use"}, kStart);
  EXPECT_EQ(state.Next(kStart, false).what, Do::kPause);
}

TEST(AcquireState, SpinsWithoutAPlaceForItsTimeAndThenWaits) {
  AcquirePlan plan = Plan();
  plan.wait = {LockWait::How::kSpinThenBlock, milliseconds(5)};
  AcquireState state(plan, kStart);
  EXPECT_FALSE(state.Next(kStart, false).queue);
  state.Answered({Kind::kBusy, {}, {}}, kStart, kStart);
  const auto pause = state.Next(kStart, false);
  EXPECT_EQ(pause.what, Do::kPause);
  EXPECT_LE(pause.until, At(microseconds(75)));
  const auto step = state.Next(At(milliseconds(5)), false);
  EXPECT_EQ(step.what, Do::kRequest);
  EXPECT_TRUE(step.queue);
}

TEST(AcquireState, SpinsForItsTimeAndGivesUp) {
  AcquirePlan plan = Plan();
  plan.wait = {LockWait::How::kSpin, milliseconds(5)};
  AcquireState state(plan, kStart);
  state.Answered({Kind::kBusy, {}, {}}, kStart, At(milliseconds(4)));
  EXPECT_LE(state.Next(At(milliseconds(4)), false).until, At(milliseconds(5)));
  EXPECT_EQ(state.Next(At(milliseconds(5)), false).what, Do::kGiveUp);
}

TEST(AcquireState, WhoSpinsDoesSoNoLongerThoughTheStoreFails) {
  AcquirePlan plan = Plan();
  plan.wait = {LockWait::How::kSpin, milliseconds(5)};
  AcquireState state(plan, kStart);
  state.Failed(kDown, At(milliseconds(1)));
  EXPECT_EQ(state.Next(At(milliseconds(1)), false).until, At(milliseconds(5)));
  EXPECT_EQ(state.Next(At(milliseconds(5)), false).what, Do::kFail);
}

TEST(AcquireState, WhoSpinsForNoTimeTriesOnceWithoutAPlace) {
  AcquirePlan plan = Plan();
  plan.wait = {LockWait::How::kSpin, milliseconds(0)};
  AcquireState state(plan, kStart);
  EXPECT_EQ(state.Next(kStart, false).what, Do::kRequest);
  EXPECT_FALSE(state.Next(kStart, false).queue);
  state.Answered({Kind::kBusy, {}, {}}, kStart, kStart);
  EXPECT_EQ(state.Next(kStart, false).what, Do::kGiveUp);
}

TEST(AcquireState, AStoreWithoutAQueueIsAskedAgain) {
  AcquireState state(Plan(), kStart);
  state.Answered({Kind::kBusy, {}, {}}, kStart, kStart);
  const auto step = state.Next(kStart, false);
  EXPECT_EQ(step.what, Do::kPause);
  EXPECT_EQ(state.Next(step.until, false).what, Do::kRequest);
}

// Whether the store failed, or others have the name, and however they wait for it.
TEST(AcquireState, ThoseWhoAskAgainAtTheSameTimeAreSpread) {
  const auto moments = [](LockWait::How how, const std::function<void(AcquireState&)>& heard) {
    std::set<BootTime> when;
    for (uint64_t chance = 0; chance < 50; chance++) {
      AcquirePlan plan = Plan();
      plan.wait = {how, milliseconds(5)};
      plan.chance = chance;
      AcquireState state(plan, kStart);
      heard(state);
      when.insert(state.Next(kStart, false).until);
    }
    return when.size();
  };
  const auto fails = [](AcquireState& state) { state.Failed(kDown, kStart); };
  const auto busy = [](AcquireState& state) {
    state.Answered({Kind::kBusy, {}, {}}, kStart, kStart);
  };
  EXPECT_GT(moments(LockWait::How::kBlock, fails), 25u);
  EXPECT_GT(moments(LockWait::How::kBlock, busy), 25u) << "a store without a queue";
  EXPECT_GT(moments(LockWait::How::kSpin, busy), 25u);
}

}  // namespace
}  // namespace oncemq
