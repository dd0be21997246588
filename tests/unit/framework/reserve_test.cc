// SPDX-License-Identifier: Apache-2.0
#include "reserve.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

constexpr int64_t kStart = 1'000;

class ReserveTest : public ::testing::Test {
 protected:
  ReserveTest() { reserve_.Start(kStart, kStart); }

  // A commit that states the bound, and its acknowledgement.
  int64_t Commit() {
    const int64_t bound = reserve_.State();
    reserve_.Acknowledged(bound);
    return bound;
  }
  void TakeUpTo(int64_t end) {
    for (int64_t offset = kStart; offset < end; offset++) {
      reserve_.Take(offset);
    }
  }

  Reserve reserve_{1'000'000};
};

TEST_F(ReserveTest, NothingIsCoveredBeforeACommitIsAcknowledged) {
  EXPECT_FALSE(reserve_.Covers(kStart));
  const int64_t bound = reserve_.State();
  EXPECT_FALSE(reserve_.Covers(kStart)) << "stated, and not in force";
  reserve_.Acknowledged(bound);
  EXPECT_TRUE(reserve_.Covers(kStart));
  EXPECT_TRUE(reserve_.Covers(bound - 1));
  EXPECT_FALSE(reserve_.Covers(bound));
}

TEST_F(ReserveTest, ACommitWithoutAnAnswerRaisesNothing) {
  const int64_t first = Commit();
  TakeUpTo(first);
  EXPECT_GT(reserve_.State(), first);
  EXPECT_FALSE(reserve_.Covers(first));
}

TEST_F(ReserveTest, TheStatedBoundNeverFalls) {
  TakeUpTo(Commit());
  const int64_t fast = Commit();
  EXPECT_EQ(Commit(), fast) << "nothing came since";
}

TEST_F(ReserveTest, TheBoundFollowsTheSpeed) {
  int64_t ahead = 0;
  for (int i = 0; i < 12; i++) {
    const int64_t bound = Commit();
    EXPECT_FALSE(reserve_.Short());
    TakeUpTo(bound);
    EXPECT_TRUE(reserve_.Short());
    EXPECT_GT(bound - kStart, ahead);
    ahead = bound - kStart;
  }
  EXPECT_GT(ahead, 100'000) << "a dozen round trips after a rest";
}

TEST_F(ReserveTest, HalfOfWhatLayAheadMayGoBeforeACommitIsWanted) {
  const int64_t bound = Commit();
  TakeUpTo(kStart + (bound - kStart) / 2);
  EXPECT_FALSE(reserve_.Short());
  reserve_.Take(kStart + (bound - kStart) / 2);
  EXPECT_TRUE(reserve_.Short());
}

TEST_F(ReserveTest, AMessageBeyondAHoleInTheLogIsReached) {
  Commit();
  constexpr int64_t kFar = kStart + 50'000'000;
  reserve_.KeepBack(kFar + 10);
  reserve_.KeepBack(kFar);
  EXPECT_TRUE(reserve_.Short());
  Commit();
  EXPECT_TRUE(reserve_.Covers(kFar)) << "the lowest of those that wait";
  EXPECT_FALSE(reserve_.Short()) << "they are offered again first";
}

TEST_F(ReserveTest, WhatAnEarlierOwnerReachedStaysBelowTheBound) {
  reserve_.Start(kStart, kStart + 700);
  EXPECT_EQ(Commit(), kStart + 700);
}

}  // namespace
}  // namespace oncemq
