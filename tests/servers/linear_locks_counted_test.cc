// SPDX-License-Identifier: Apache-2.0
// The checker over counted holds: one more than the limit is convicted, whatever order is tried.
#include <gtest/gtest.h>

#include <random>

#include "calls_by_hand.h"
#include "lock_history.h"

namespace oncemq::testing {
namespace {

LockCall CountedGrant(uint64_t token, int64_t from, int64_t to, uint64_t fence, uint32_t limit) {
  return Counted(Granted(token, from, to, fence), limit);
}

TEST(LinearLocksCounted, AsManyAsTheLimitSaysCanHold) {
  EXPECT_TRUE(Can({CountedGrant(1, 0, 10, 1, 2), CountedGrant(2, 20, 30, 2, 2)}));
  EXPECT_TRUE(Can({CountedGrant(1, 0, 10, 1, 2), CountedGrant(2, 20, 30, 2, 2), Freed(1, 40, 50),
                   CountedGrant(3, 45, 60, 3, 2)}));
}

TEST(LinearLocksCounted, OneMoreCanNotBe) {
  EXPECT_FALSE(Can({CountedGrant(1, 0, 10, 1, 2), CountedGrant(2, 20, 30, 2, 2),
                    CountedGrant(3, 40, 50, 3, 2)}));
  EXPECT_FALSE(Can({CountedGrant(1, 0, 10, 1, 2), CountedGrant(2, 20, 30, 2, 2),
                    CountedGrant(3, 40, 50, 3, 2), Freed(1, 60, 70), Freed(2, 60, 70)}))
      << "they were released too late";
  EXPECT_FALSE(Can({CountedGrant(1, 0, 10, 1, 1), CountedGrant(2, 20, 30, 2, 1)}));
}

TEST(LinearLocksCounted, AnyOfThoseWhoseTimeIsOverMayHaveMadeRoom) {
  const std::vector<LockCall> three{CountedGrant(1, 0, 10, 1, 2), CountedGrant(2, 20, 30, 2, 2),
                                    CountedGrant(3, 1'100, 1'110, 3, 2)};
  const auto with = [&](std::vector<LockCall> more) {
    more.insert(more.begin(), three.begin(), three.end());
    return Can(more);
  };
  EXPECT_TRUE(with({}));
  EXPECT_TRUE(with({Extension(1, 1'200, 1'210), Gone(2, 1'200, 1'210)}));
  EXPECT_TRUE(with({Gone(1, 1'200, 1'210), Extension(2, 1'200, 1'210)}));
  EXPECT_FALSE(with({Extension(1, 1'200, 1'210), Extension(2, 1'220, 1'230)}))
      << "one of them has ended";
}

TEST(LinearLocksCounted, EachIsJudgedByItsOwnLimit) {
  EXPECT_TRUE(Can({CountedGrant(1, 0, 10, 1, 1), CountedGrant(2, 20, 30, 2, 2)}));
  EXPECT_FALSE(Can({CountedGrant(2, 0, 10, 1, 2), CountedGrant(1, 20, 30, 2, 1)}));
  EXPECT_TRUE(Can({CountedGrant(2, 0, 10, 1, 2), Freed(2, 15, 25), CountedGrant(1, 20, 30, 2, 1)}));
}

TEST(LinearLocksCounted, OtherModesAreExcluded) {
  const LockCall counted = CountedGrant(1, 0, 10, 1, 3);
  EXPECT_FALSE(Can({counted, Granted(2, 20, 30, 2)}));
  EXPECT_FALSE(Can({counted, Shared(Granted(2, 20, 30, 2))}));
  EXPECT_FALSE(Can({Shared(Granted(2, 0, 10, 1)), CountedGrant(1, 20, 30, 2, 3)}));
  EXPECT_FALSE(Can({Granted(2, 0, 10, 1), CountedGrant(1, 20, 30, 2, 3)}));
  EXPECT_TRUE(Can({counted, Freed(1, 15, 25), Granted(2, 20, 30, 2)}));
}

TEST(LinearLocksCounted, WhatALostReplyLeftMayHaveAnEarlierFence) {
  EXPECT_TRUE(Can({Counted(Open(What::kRequest, 1, 0), 2), CountedGrant(2, 10, 20, 2, 2),
                   CountedGrant(1, 100, 110, 1, 2)}));
  EXPECT_FALSE(Can({CountedGrant(2, 10, 20, 2, 2), CountedGrant(1, 100, 110, 1, 2)}));
  EXPECT_FALSE(Can({Counted(Open(What::kRequest, 1, 0), 2), Granted(3, 1, 5, 2), Freed(3, 6, 9),
                    CountedGrant(1, 100, 110, 1, 2)}))
      << "a writer was granted meanwhile";
  EXPECT_TRUE(Can(
      {Counted(Open(What::kRequest, 1, 0), 2), CountedGrant(2, 10, 20, 2, 2), Freed(1, 100, 110)}));
  EXPECT_FALSE(Can({Counted(Open(What::kRequest, 1, 0), 2), CountedGrant(2, 10, 20, 2, 2),
                    CountedGrant(3, 30, 40, 3, 2), Extension(1, 100, 110)}));
}

// A store that lets one too many in, once in many hand-overs.
std::vector<LockCall> Played(int rounds, uint32_t limit, int one_too_many_in) {
  std::mt19937 random(3);
  std::vector<LockCall> all;
  std::vector<int64_t> free_from(limit, 0);  // of each permit, in turn
  for (int i = 0; i < rounds; i++) {
    const auto token = static_cast<uint64_t>(i + 1);
    int64_t& permit = free_from[token % limit];
    const int64_t at = permit + (i == one_too_many_in ? -60 : 5);
    const auto late = [&] { return static_cast<int64_t>(random() % 4); };
    all.push_back(CountedGrant(token, at - late(), at + late(), 0, limit));
    all.push_back(Freed(token, at + 100 - late(), at + 100 + late()));
    permit = at + 100 + 4;
  }
  return all;
}

TEST(LinearLocksCounted, AStoreThatLetsOneTooManyInIsConvicted) {
  const LinearVerdict good = CheckLinear(Played(1'000, 3, -1));
  EXPECT_EQ(good.kind, LinearVerdict::Kind::kYes) << good.why;
  EXPECT_LT(good.steps, 100'000u);
  const LinearVerdict bad = CheckLinear(Played(1'000, 3, 700));
  EXPECT_EQ(bad.kind, LinearVerdict::Kind::kNo) << bad.steps;
}

TEST(LockHistoryCounted, MoreBeliefsThanTheLimitSaysAreSeen) {
  const auto belief = [](int64_t process, int64_t from, int64_t to) {
    return Belief{process, "a", {0, static_cast<uint64_t>(process)}, from, to, true, 2};
  };
  const std::vector<Belief> good{belief(1, 0, 100), belief(2, 10, 20), belief(3, 21, 90),
                                 belief(4, 101, 110)};
  EXPECT_EQ(TooMany(good), std::vector<std::string>());
  EXPECT_EQ(MostAtATime(good), 2u);
  std::vector<Belief> bad = good;
  bad.push_back(belief(5, 20, 30));
  EXPECT_EQ(TooMany(bad).size(), 1u);
  EXPECT_EQ(MostAtATime(bad), 3u);
  bad.back().name = "b";
  EXPECT_EQ(TooMany(bad), std::vector<std::string>());
}

TEST(LockHistoryCounted, ABeliefIsReadAsItWasWritten) {
  EXPECT_EQ(LineOf({7, "a", {0, 3}, 10, 11, true, 2}), "7 a 0 3 10 11 1 2\n");
}

}  // namespace
}  // namespace oncemq::testing
