// SPDX-License-Identifier: Apache-2.0
// The checker itself: histories by hand, of which it is known whether they can be.
#include "linear_locks.h"

#include <gtest/gtest.h>

#include <random>

#include "calls_by_hand.h"

namespace oncemq::testing {
namespace {

using Kind = LinearVerdict::Kind;

TEST(LinearLocks, AHandOverCanBe) {
  EXPECT_TRUE(Can({}));
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Freed(1, 20, 30), Granted(2, 40, 50, 2)}));
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Granted(2, 20, 100, 2), Freed(1, 50, 60)}))
      << "the grant was on its way while the name was freed";
}

TEST(LinearLocks, TwoThatHoldAtATimeCanNotBe) {
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Granted(2, 20, 30, 2)}));
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Granted(2, 20, 30, 2), Freed(1, 50, 60)}));
}

TEST(LinearLocks, AHoldEndsByItselfBehindItsLeaseOnly) {
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Granted(2, 990, 1'000, 2)}));
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Granted(2, 980, 998, 2)}));
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Granted(2, 20, 2'000, 2)})) << "it came late";
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Extension(1, 500, 510), Granted(2, 1'100, 1'110, 2)}));
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Extension(1, 500, 510), Granted(2, 1'100, 1'600, 2)}));
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Open(What::kExtend, 1, 500), Granted(2, 1'100, 1'110, 2)}))
      << "an extension that was not acknowledged is nothing to rely on";
}

TEST(LinearLocks, AHoldMayLastLongerThanItsLease) {
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Extension(1, 5'000, 5'010), Freed(1, 9'000, 9'010)}));
}

TEST(LinearLocks, WhatHasEndedIsNotExtended) {
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Gone(1, 2'000, 2'010), Extension(1, 2'020, 2'030)}));
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Granted(2, 2'000, 2'010, 2), Freed(2, 2'020, 2'030),
                    Extension(1, 2'040, 2'050)}));
  EXPECT_FALSE(
      Can({Queued(1, 0, 5), Granted(1, 6, 10, 1), Freed(1, 20, 30), Extension(1, 40, 50)}));
}

TEST(LinearLocks, FencesGrowInTheOrderOfGrants) {
  EXPECT_FALSE(Can({Granted(1, 0, 10, 5), Freed(1, 20, 30), Granted(2, 40, 50, 4)}));
  EXPECT_FALSE(Can({Granted(1, 0, 10, 5), Freed(1, 20, 30), Granted(2, 40, 50, 5)}));
  EXPECT_TRUE(
      Can({Granted(1, 0, 100, 2), Freed(1, 101, 102), Granted(2, 0, 50, 1), Freed(2, 55, 60)}))
      << "the later grant was asked for first";
}

TEST(LinearLocks, ARepeatedAskOfAHolderGetsItsFence) {
  EXPECT_TRUE(Can({Open(What::kRequest, 1, 0), Granted(1, 100, 110, 1), Granted(1, 200, 210, 1)}));
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Granted(1, 20, 30, 2)}));
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Granted(1, 1'020, 1'030, 2)})) << "it had ended";
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Granted(2, 1'000, 1'010, 2), Freed(2, 1'020, 1'030),
                    Granted(1, 1'040, 1'050, 1)}));
}

TEST(LinearLocks, InALaterEpochTheOwnerMayGetAnotherFenceAtOnce) {
  LockCall later = Granted(1, 20, 30, 1);
  later.fence.epoch = 2;
  EXPECT_TRUE(Can({Granted(1, 0, 10, 7), later}));
}

TEST(LinearLocks, ReadersShareAndWritersDoNot) {
  const LockCall one = Shared(Granted(1, 0, 10, 1));
  const LockCall two = Shared(Granted(2, 20, 30, 2));
  EXPECT_TRUE(Can({one, two}));
  EXPECT_FALSE(Can({one, two, Granted(3, 40, 50, 3)}));
  EXPECT_FALSE(Can({one, Granted(3, 40, 50, 3), Freed(2, 60, 70)}));
  EXPECT_TRUE(Can({one, two, Freed(1, 40, 50), Freed(2, 40, 50), Granted(3, 55, 60, 3)}));
  EXPECT_FALSE(Can({Granted(3, 0, 10, 1), Shared(Granted(1, 20, 30, 2))}));
}

TEST(LinearLocks, AnAskWithoutAnAnswerMayHaveLeftAHold) {
  EXPECT_TRUE(Can({Open(What::kRequest, 1, 0), Freed(1, 100, 110)}));
  EXPECT_TRUE(Can({Open(What::kRequest, 1, 0), NotHeld(1, 100, 110)}));
  EXPECT_TRUE(Can({Open(What::kRequest, 1, 0), Granted(2, 100, 110, 1)}));
  EXPECT_TRUE(Can({Queued(1, 0, 10), Freed(1, 100, 110)}));
  EXPECT_FALSE(Can({Freed(1, 100, 110)}));
  EXPECT_FALSE(Can({Granted(2, 0, 10, 1), Open(What::kRequest, 1, 20), Freed(1, 100, 110)}))
      << "another one held it all the time";
}

TEST(LinearLocks, AReaderWhoseFirstAskWasLostKeepsItsPlaceAmongTheFences) {
  const LockCall lost = Shared(Open(What::kRequest, 1, 0));
  const LockCall other = Shared(Granted(2, 20, 30, 8));
  EXPECT_TRUE(Can({lost, other, Shared(Granted(1, 40, 50, 7))}));
  EXPECT_FALSE(Can({other, Shared(Granted(1, 40, 50, 7))}));
  EXPECT_FALSE(Can({lost, Granted(3, 2, 3, 8), Freed(3, 4, 5), Shared(Granted(1, 40, 50, 7))}));
}

TEST(LinearLocks, AReaderThatWaitedKeepsItsPlaceAmongTheFencesWhereTheseAreOfTheAsks) {
  const LinearRules requests{.fences_of_requests = true};
  const LockCall waits = Shared(Queued(1, 0, 5));
  const LockCall other = Shared(Granted(2, 20, 30, 8));
  const LockCall late = Shared(Granted(1, 40, 50, 7));
  EXPECT_TRUE(Can({waits, other, late}, requests));
  EXPECT_FALSE(Can({waits, other, late})) << "elsewhere a fence is of the grant";
  EXPECT_FALSE(Can({other, late}, requests)) << "it did not wait";
  EXPECT_FALSE(Can({waits, Granted(3, 6, 7, 8), Freed(3, 8, 9), late}, requests));
  EXPECT_FALSE(Can(
      {Queued(1, 0, 5), Granted(2, 20, 30, 8), Freed(2, 32, 35), Granted(1, 40, 50, 7)}, requests))
      << "only those who share";
}

TEST(LinearLocks, AReleaseWithoutAnAnswerMayEndTheHoldAtAnyTime) {
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Open(What::kFree, 1, 20), Granted(2, 30, 40, 2)}));
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Open(What::kFree, 1, 20), Freed(1, 30, 40)}));
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Open(What::kFree, 1, 20), NotHeld(1, 30, 40)}));
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Granted(2, 15, 18, 2), Open(What::kFree, 1, 20)}));
}

TEST(LinearLocks, NotHeldMustBeExplained) {
  EXPECT_TRUE(Can({NotHeld(1, 0, 10)}));
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), NotHeld(1, 20, 30)}));
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), NotHeld(1, 1'020, 1'030)}));
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Gone(1, 20, 30)}));
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Freed(1, 20, 30), NotHeld(1, 40, 50)}));
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Freed(1, 20, 30), Freed(1, 40, 50)}));
}

TEST(LinearLocks, AStoreThatForgetsIsJudgedByItsFences) {
  const LinearRules forgets{.keeps_holds = false};
  EXPECT_TRUE(Can({Granted(1, 0, 10, 1), Granted(2, 20, 30, 2), Gone(1, 40, 50)}, forgets));
  EXPECT_FALSE(Can({Granted(1, 0, 10, 2), Granted(2, 20, 30, 2)}, forgets));
  EXPECT_FALSE(Can({Granted(1, 0, 10, 2), Granted(2, 20, 30, 1)}, forgets));
}

TEST(LinearLocks, AVerdictTellsTheOffendingPart) {
  const LinearVerdict verdict =
      CheckLinear({Granted(1, 0, 10, 1), Freed(1, 20, 30), Granted(2, 40, 50, 2),
                   Granted(3, 60, 70, 3), Freed(2, 80, 90)});
  EXPECT_EQ(verdict.kind, Kind::kNo);
  EXPECT_NE(verdict.why.find("3: ask x"), std::string::npos) << verdict.why;
  EXPECT_NE(verdict.why.find("end by itself before 1039"), std::string::npos) << verdict.why;
  EXPECT_EQ(NotLinear({Granted(1, 0, 10, 1), Granted(2, 20, 30, 2)}).size(), 1u);
}

// A mutex that is played, with calls that take their time: it can be, until one answer is changed.
std::vector<LockCall> Played(int calls, int at_a_time) {
  std::mt19937 random(7);
  std::vector<LockCall> all;
  int64_t now = 0;
  for (int i = 0; i < calls / 2; i++) {
    const auto token = static_cast<uint64_t>(i + 1);
    const auto late = [&] { return static_cast<int64_t>(random() % (20u * at_a_time)); };
    all.push_back(Granted(token, now + 1 - late(), now + 1 + late(), token));
    all.push_back(Freed(token, now + 10 - std::min<int64_t>(late(), 8), now + 10 + late()));
    all.push_back(Queued(token, now - 100, now - 50));
    now += 20;
  }
  // None is released before its grant is known.
  for (size_t i = 0; i < all.size(); i += 3) {
    all[i].answered_at = std::min(all[i].answered_at, all[i + 1].requested_at);
  }
  return all;
}

TEST(LinearLocks, OfTwoStoresOneMayGrantWhatTheOtherStillHolds) {
  const LinearRules two{.half_grants = true};
  const std::vector<LockCall> half{Granted(1, 0, 10, 1), Open(What::kFree, 1, 20),
                                   Queued(2, 30, 40), Freed(2, 50, 60), Freed(1, 70, 80)};
  EXPECT_TRUE(Can(half, two));
  EXPECT_FALSE(Can(half)) << "one store does not";
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Freed(2, 50, 60)}, two)) << "it did not ask";
  EXPECT_FALSE(Can({Granted(1, 0, 10, 1), Queued(2, 30, 40), Granted(2, 50, 60, 2)}, two));
}

TEST(LinearLocks, ThousandsOfCallsAtATimeAreQuick) {
  std::vector<LockCall> calls = Played(20'000, 5);
  const LinearVerdict good = CheckLinear(calls);
  EXPECT_EQ(good.kind, Kind::kYes) << good.why;
  EXPECT_LT(good.steps, 400'000u);
  std::swap(calls[15'000].fence, calls[15'600].fence);
  const LinearVerdict bad = CheckLinear(calls);
  EXPECT_EQ(bad.kind, Kind::kNo) << bad.steps;
}

TEST(LinearLocks, ASearchThatIsTooLongSaysSo) {
  const LinearVerdict verdict = CheckLinear(Played(2'000, 5), {.most_steps = 50});
  EXPECT_EQ(verdict.kind, Kind::kTooHard);
  EXPECT_NE(verdict.why.find("50 steps"), std::string::npos);
  EXPECT_FALSE(NotLinear(Played(2'000, 5), {.most_steps = 50}).empty());
}

}  // namespace
}  // namespace oncemq::testing
