// SPDX-License-Identifier: Apache-2.0
#include "run_watch.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

constexpr microseconds kBudget{100};

BootTime At(int64_t micros) {
  return BootTime(microseconds(micros));
}

// A run of three messages in lanes of their own, whose first handler is being called.
class RunWatchTest : public ::testing::Test {
 protected:
  RunWatchTest() {
    oncemq::Run run;
    for (uint32_t i = 0; i < 3; i++) {
      RunItem item;
      item.slot = item.lane = i;
      run.items.push_back(item);
    }
    run.safe_until = BootTime::max();
    machine_.Start(run);
    watch_.Reset(/*on_poll_thread=*/true, BootTime::max());
    watch_.BeginHandling(machine_, At(0));
    machine_.Next(At(0));
    watch_.Enter();
  }

  RunMachine machine_{RunPolicy{.window = false}, TokenSource(1)};
  RunWatch watch_;
  std::vector<Settlement> settled_;
};

TEST_F(RunWatchTest, OneCallThatLastsFreesTheOthersOnce) {
  EXPECT_FALSE(watch_.SettleOthers(At(50), kBudget, settled_)) << "seen for the first time";
  EXPECT_FALSE(watch_.SettleOthers(At(149), kBudget, settled_));
  EXPECT_TRUE(watch_.SettleOthers(At(150), kBudget, settled_));
  ASSERT_EQ(settled_.size(), 2U);
  EXPECT_EQ(settled_[0].slot, 1U);
  EXPECT_EQ(settled_[0].fate, Fate::kWithdrawn);
  EXPECT_FALSE(watch_.SettleOthers(At(500), kBudget, settled_));
  watch_.Leave();
  machine_.Handled(Done{});
  EXPECT_EQ(machine_.Next(At(600)), nullptr);
  EXPECT_EQ(watch_.EndHandling(), RunWatch::Ended::kOurs);
  ASSERT_EQ(machine_.settlements().size(), 1U);
  EXPECT_EQ(machine_.settlements()[0].slot, 0U);
  EXPECT_EQ(machine_.settlements()[0].fate, Fate::kApplied);
}

TEST_F(RunWatchTest, ARunThatMovesOnIsLeftAlone) {
  EXPECT_FALSE(watch_.SettleOthers(At(50), kBudget, settled_));
  watch_.Leave();
  machine_.Handled(Done{});
  machine_.Next(At(60));
  EXPECT_FALSE(watch_.SettleOthers(At(1000), kBudget, settled_)) << "nobody is inside";
  watch_.Enter();
  EXPECT_FALSE(watch_.SettleOthers(At(2000), kBudget, settled_)) << "another call";
  EXPECT_TRUE(watch_.SettleOthers(At(2100), kBudget, settled_));
  ASSERT_EQ(settled_.size(), 2U);
  EXPECT_EQ(settled_[0].slot, 0U);
  EXPECT_EQ(settled_[0].fate, Fate::kApplied) << "it was finished";
}

TEST_F(RunWatchTest, OnlyARunOnThePollThreadIsDemotedAndOnlyOnce) {
  EXPECT_FALSE(watch_.Demote(At(99), kBudget));
  EXPECT_TRUE(watch_.Demote(At(100), kBudget));
  EXPECT_TRUE(watch_.demoted());
  EXPECT_FALSE(watch_.Demote(At(200), kBudget));
}

TEST_F(RunWatchTest, AnAbandonedRunCallsNoFurtherHandler) {
  EXPECT_TRUE(watch_.Abandon());
  EXPECT_TRUE(watch_.stop_handling());
  EXPECT_EQ(watch_.EndHandling(), RunWatch::Ended::kAbandoned);
}

TEST_F(RunWatchTest, ARunThatHasEndedCannotBeAbandoned) {
  EXPECT_EQ(watch_.EndHandling(), RunWatch::Ended::kOurs);
  EXPECT_FALSE(watch_.Abandon());
}

TEST_F(RunWatchTest, TheWishToStopIsTimedAndNewForEachRun) {
  watch_.SetStopAt(At(100));
  EXPECT_FALSE(watch_.Tick(At(99), microseconds(1000)).stop_due);
  auto look = watch_.Tick(At(100), microseconds(1000));
  EXPECT_TRUE(look.stop_due);
  EXPECT_TRUE(watch_.TellStop(look.stop));
  EXPECT_TRUE(watch_.stop_handling());
  EXPECT_FALSE(watch_.TellStop(look.stop)) << "told once";
  EXPECT_FALSE(watch_.Tick(At(101), microseconds(1000)).stop_due);
  watch_.NotTold(look.stop);
  EXPECT_TRUE(watch_.Tick(At(101), microseconds(1000)).stop_due) << "it could not be requested";
  EXPECT_TRUE(watch_.TellStop(look.stop));
  watch_.EndHandling();
  watch_.Reset(false, BootTime::max());
  look.stop.request_stop();  // late
  EXPECT_FALSE(watch_.stop().stop_requested());
  EXPECT_FALSE(watch_.TellStop(look.stop)) << "that run has ended";
}

TEST_F(RunWatchTest, OnlyOneCallThatLastsHangs) {
  EXPECT_FALSE(watch_.Hangs(At(50), kBudget)) << "seen for the first time";
  EXPECT_FALSE(watch_.Hangs(At(149), kBudget));
  EXPECT_TRUE(watch_.Hangs(At(150), kBudget));
  watch_.Leave();
  machine_.Handled(Done{});
  machine_.Next(At(150));
  watch_.Enter();
  EXPECT_FALSE(watch_.Hangs(At(160), kBudget));
}

}  // namespace
}  // namespace oncemq
