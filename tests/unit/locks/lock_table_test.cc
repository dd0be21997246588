// SPDX-License-Identifier: Apache-2.0
// What the conformance suite does not ask of an engine: memory, turns, and times to the
// microsecond.
#include "lock_table.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

using Kind = LockAnswer::Kind;

constexpr BootTime kStart{microseconds(1'000'000)};
constexpr milliseconds kLease{1'000};

class LockTableTest : public ::testing::Test {
 protected:
  static AcquireRequest RequestOf(uint64_t token, std::string_view name = "x") {
    return {.name = name, .token = {1, token}, .lease = kLease, .queue_lease = kLease};
  }
  static AcquireRequest Counted(uint64_t token, uint32_t limit) {
    AcquireRequest request = RequestOf(token);
    request.mode = LockMode::kCounted;
    request.limit = limit;
    return request;
  }
  LockAnswer Request(const AcquireRequest& request) {
    turns_.clear();
    return table_.Request(request, now_, turns_);
  }
  Freed Free(uint64_t token) {
    turns_.clear();
    return table_.Free({"x", {1, token}}, now_, turns_);
  }
  static LockTable::Turns Of(std::initializer_list<uint64_t> tokens) {
    LockTable::Turns turns;
    for (const uint64_t token : tokens) {
      turns.push_back({1, token});
    }
    return turns;
  }

  LockTable table_;
  LockTable::Turns turns_;
  BootTime now_ = kStart;
};

TEST_F(LockTableTest, AHoldEndsExactlyWithItsLease) {
  ASSERT_EQ(Request(RequestOf(1)).kind, Kind::kGranted);
  now_ += kLease - microseconds(1);
  EXPECT_EQ(Request(RequestOf(2)).kind, Kind::kQueued);
  now_ += microseconds(1);
  EXPECT_EQ(Request(RequestOf(2)).kind, Kind::kGranted);
}

TEST_F(LockTableTest, TheFirstWaiterWaitsForTheHoldersAndOthersForTheOneBefore) {
  ASSERT_EQ(Request(RequestOf(1)).kind, Kind::kGranted);
  now_ += milliseconds(400);
  EXPECT_EQ(Request(RequestOf(2)).again, milliseconds(600));
  now_ += milliseconds(100);
  EXPECT_EQ(Request(RequestOf(3)).again, milliseconds(900));
}

TEST_F(LockTableTest, AReleaseIsTheTurnOfTheFirstWaiterOnly) {
  for (const uint64_t token : {1, 2, 3}) {
    Request(RequestOf(token));
  }
  ASSERT_EQ(Free(1), Freed::kYes);
  EXPECT_EQ(turns_, Of({2}));
}

TEST_F(LockTableTest, AReleaseIsTheTurnOfAllReadersUpToTheNextWriter) {
  Request(RequestOf(1));
  for (const uint64_t token : {2, 3, 5}) {
    AcquireRequest reader = RequestOf(token);
    reader.mode = LockMode::kShared;
    Request(reader);
    if (token == 3) {
      Request(RequestOf(4));
    }
  }
  ASSERT_EQ(Free(1), Freed::kYes);
  EXPECT_EQ(turns_, Of({2, 3}));
}

TEST_F(LockTableTest, AFreedPlaceIsTheTurnOfOne) {
  for (const uint64_t token : {1, 2, 3, 4, 5}) {
    Request(Counted(token, 2));
  }
  ASSERT_EQ(Free(1), Freed::kYes);
  EXPECT_EQ(turns_, Of({3}));
  EXPECT_EQ(Request(Counted(3, 2)).kind, Kind::kGranted);
  EXPECT_EQ(turns_, Of({})) << "nobody else's";
  ASSERT_EQ(Free(2), Freed::kYes);
  EXPECT_EQ(turns_, Of({4}));
  EXPECT_TRUE(table_.MyTurn("x", {1, 4}, now_));
  EXPECT_FALSE(table_.MyTurn("x", {1, 5}, now_));
}

TEST_F(LockTableTest, AWritersReleaseIsTheTurnOfAsManyAsTheirLimitSays) {
  Request(RequestOf(1));
  for (const uint64_t token : {2, 3, 4}) {
    Request(Counted(token, 2));
  }
  ASSERT_EQ(Free(1), Freed::kYes);
  EXPECT_EQ(turns_, Of({2, 3}));
}

TEST_F(LockTableTest, OneWithALowLimitKeepsOthersBackUntilItIsGranted) {
  Request(Counted(1, 4));
  Request(Counted(2, 1));
  Request(Counted(3, 4));
  Request(Counted(4, 4));
  ASSERT_EQ(Free(1), Freed::kYes);
  EXPECT_EQ(turns_, Of({2}));
  EXPECT_EQ(Request(Counted(2, 1)).kind, Kind::kGranted);
  EXPECT_EQ(turns_, Of({3, 4}));
}

TEST_F(LockTableTest, OneWithALowLimitKeepsOthersBackUntilItGivesUp) {
  Request(Counted(1, 4));
  Request(Counted(2, 1));
  Request(Counted(3, 4));
  ASSERT_EQ(Free(2), Freed::kNotHeld);
  EXPECT_EQ(turns_, Of({3}));
}

TEST_F(LockTableTest, PlacesThatEndWithoutAWordAreSeen) {
  Request(Counted(1, 2));
  now_ += kLease / 2;
  Request(Counted(2, 2));
  Request(Counted(3, 2));
  EXPECT_FALSE(table_.MyTurn("x", {1, 3}, now_));
  now_ += kLease / 2;
  EXPECT_TRUE(table_.MyTurn("x", {1, 3}, now_));
  EXPECT_EQ(Request(Counted(4, 2)).kind, Kind::kQueued) << "the place is the other's";
  EXPECT_EQ(turns_, Of({3}));
}

TEST_F(LockTableTest, ATurnIsSeenByWhoeverLooks) {
  Request(RequestOf(1));
  Request(RequestOf(2));
  Request(RequestOf(3));
  EXPECT_FALSE(table_.MyTurn("x", {1, 2}, now_));
  EXPECT_FALSE(table_.MyTurn("x", {1, 3}, now_));
  EXPECT_TRUE(table_.MyTurn("x", {1, 9}, now_)) << "has no place, so it had better ask";
  EXPECT_TRUE(table_.MyTurn("y", {1, 2}, now_));
  ASSERT_EQ(Free(1), Freed::kYes);
  EXPECT_TRUE(table_.MyTurn("x", {1, 2}, now_));
  EXPECT_FALSE(table_.MyTurn("x", {1, 3}, now_));
}

TEST_F(LockTableTest, ATurnIsSeenWhenTheHoldEndedWithoutAWord) {
  Request(RequestOf(1));
  now_ += milliseconds(500);
  Request(RequestOf(2));
  EXPECT_FALSE(table_.MyTurn("x", {1, 2}, now_));
  now_ += milliseconds(500);
  EXPECT_TRUE(table_.MyTurn("x", {1, 2}, now_));
}

TEST_F(LockTableTest, AnIdleNameNeedsNoMemory) {
  for (int i = 0; i < 100'000; i++) {
    const std::string name = "once/" + std::to_string(i);
    ASSERT_EQ(Request(RequestOf(1, name)).kind, Kind::kGranted);
    ASSERT_EQ(table_.Free({name, {1, 1}}, now_, turns_), Freed::kYes);
  }
  EXPECT_EQ(table_.names(), 0u);
}

TEST_F(LockTableTest, NamesWhoseHoldersDiedAreForgottenThoughNobodyAsksForThem) {
  for (int i = 0; i < 100'000; i++) {
    ASSERT_EQ(Request(RequestOf(1, "dead/" + std::to_string(i))).kind, Kind::kGranted);
    now_ += milliseconds(1);
  }
  EXPECT_LT(table_.names(), 5'000u) << "1,000 can be alive at a time";
}

TEST_F(LockTableTest, FencesRiseOverAllNamesAndThroughIdleTimes) {
  const Fence first = Request(RequestOf(1, "a")).fence;
  const Fence second = Request(RequestOf(1, "b")).fence;
  EXPECT_GT(second, first);
  ASSERT_EQ(table_.Free({"a", {1, 1}}, now_, turns_), Freed::kYes);
  EXPECT_GT(Request(RequestOf(2, "a")).fence, second);
}

}  // namespace
}  // namespace oncemq
