// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/memory_locks.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

AcquireRequest RequestOf(uint64_t token, std::string_view name) {
  return {.name = name,
          .token = {1, token},
          .lease = milliseconds(1'000),
          .queue_lease = milliseconds(1'000)};
}

TEST(MemoryLocks, NamesAreLimited) {
  const auto locks = MakeMemoryLocks({.max_names = 2});
  ASSERT_TRUE(locks->Request(RequestOf(1, "a")));
  ASSERT_TRUE(locks->Request(RequestOf(1, "b")));
  const auto third = locks->Request(RequestOf(1, "c"));
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, Code::kFull);
  EXPECT_TRUE(locks->Request(RequestOf(1, "a"))) << "a name that is there takes no room";
}

TEST(MemoryLocks, NamesWhoseHoldersDiedTakeNoRoom) {
  ManualClock clock;
  const auto locks = MakeMemoryLocks({.max_names = 2}, clock);
  ASSERT_TRUE(locks->Request(RequestOf(1, "a")));
  ASSERT_TRUE(locks->Request(RequestOf(1, "b")));
  clock.Advance(milliseconds(1'000));
  EXPECT_TRUE(locks->Request(RequestOf(1, "c")));
}

TEST(MemoryLocks, WaitersAreLimited) {
  const auto locks = MakeMemoryLocks({.max_waiters = 1});
  ASSERT_TRUE(locks->Request(RequestOf(1, "a")));
  ASSERT_TRUE(locks->Request(RequestOf(2, "a")));
  const auto third = locks->Request(RequestOf(3, "a"));
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, Code::kFull);
  EXPECT_TRUE(locks->Request(RequestOf(2, "a"))) << "a waiter that is there takes no room";
}

TEST(MemoryLocks, LeasesAreJudgedByTheBootClockAndNotByTheWall) {
  ManualClock clock;
  const auto locks = MakeMemoryLocks({}, clock);
  ASSERT_TRUE(locks->Request(RequestOf(1, "a")));
  clock.JumpWall(milliseconds(3'600'000));
  EXPECT_EQ(locks->Request(RequestOf(2, "a"))->kind, LockAnswer::Kind::kQueued);
  clock.Advance(milliseconds(1'000));
  EXPECT_EQ(locks->Request(RequestOf(2, "a"))->kind, LockAnswer::Kind::kGranted);
}

// What a target remembers outlives the process.
TEST(MemoryLocks, WhoStartsAgainGrantsLaterFences) {
  ManualClock clock;
  Fence last;
  {
    const auto before = MakeMemoryLocks({}, clock);
    for (uint64_t i = 1; i <= 3; i++) {
      last = before->Request(RequestOf(i, std::to_string(i)))->fence;
    }
  }
  clock.Advance(milliseconds(1));
  EXPECT_GT(MakeMemoryLocks({}, clock)->Request(RequestOf(1, "a"))->fence, last);
}

}  // namespace
}  // namespace oncemq
