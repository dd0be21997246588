// SPDX-License-Identifier: Apache-2.0
#include "batch_watch.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

constexpr microseconds kBudget{100};

BootTime At(int64_t micros) {
  return BootTime(microseconds(micros));
}

// A run of three messages in lanes of their own, whose first handler is being called.
class BatchWatchTest : public ::testing::Test {
 protected:
  BatchWatchTest() {
    oncemq::MessageBatch batch;
    for (uint32_t i = 0; i < 3; i++) {
      BatchItem item;
      item.slot = item.lane = item.partition = i;
      batch.items.push_back(item);
    }
    batch.safe_until = BootTime::max();
    machine_.Start(batch);
    watch_.Reset(/*on_poll_thread=*/true, BootTime::max());
    watch_.BeginHandling(machine_, At(0));
    machine_.Next(At(0));
    watch_.Enter();
  }

  BatchMachine machine_{BatchPolicy{.window = false}, TokenSource(1)};
  BatchWatch watch_;
  std::vector<Settlement> settled_;
};

TEST_F(BatchWatchTest, OneCallThatLastsFreesTheOthersOnce) {
  EXPECT_FALSE(watch_.SettleOthers(At(50), kBudget, settled_)) << "seen for the first time";
  EXPECT_FALSE(watch_.SettleOthers(At(149), kBudget, settled_));
  EXPECT_TRUE(watch_.SettleOthers(At(150), kBudget, settled_));
  ASSERT_EQ(settled_.size(), 2U);
  EXPECT_EQ(settled_[0].slot, 1U);
  EXPECT_EQ(settled_[0].fate, DeliveryFate::kWithdrawn);
  EXPECT_FALSE(watch_.SettleOthers(At(500), kBudget, settled_));
  watch_.Leave();
  machine_.Handled(Done{});
  EXPECT_EQ(machine_.Next(At(600)), nullptr);
  EXPECT_EQ(watch_.EndHandling(), BatchWatch::Ended::kOurs);
  ASSERT_EQ(machine_.settlements().size(), 1U);
  EXPECT_EQ(machine_.settlements()[0].slot, 0U);
  EXPECT_EQ(machine_.settlements()[0].fate, DeliveryFate::kApplied);
}

TEST_F(BatchWatchTest, ARunThatMovesOnIsLeftAlone) {
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
  EXPECT_EQ(settled_[0].fate, DeliveryFate::kApplied) << "it was finished";
}

TEST_F(BatchWatchTest, ARunIsUnderWayFromBeforeItsFirstHandlerUntilItIsSettled) {
  BatchWatch watch;
  EXPECT_FALSE(watch.Tick(At(0), milliseconds(1)).under_way);
  watch.Reset(/*on_poll_thread=*/true, BootTime::max());
  EXPECT_TRUE(watch.Tick(At(1'000), milliseconds(1)).under_way) << "its claims take their time";
  watch.End();
  EXPECT_FALSE(watch.Tick(At(2'000), milliseconds(1)).under_way);
}

TEST_F(BatchWatchTest, OnlyARunOnThePollThreadIsDemotedAndOnlyOnce) {
  EXPECT_FALSE(watch_.Demote(At(99), kBudget));
  EXPECT_TRUE(watch_.Demote(At(100), kBudget));
  EXPECT_TRUE(watch_.demoted());
  EXPECT_FALSE(watch_.Demote(At(200), kBudget));
}

TEST_F(BatchWatchTest, AnAbandonedRunCallsNoFurtherHandler) {
  EXPECT_TRUE(watch_.Abandon());
  EXPECT_TRUE(watch_.stop_handling());
  EXPECT_EQ(watch_.EndHandling(), BatchWatch::Ended::kAbandoned);
}

TEST_F(BatchWatchTest, ARunThatHasEndedCannotBeAbandoned) {
  EXPECT_EQ(watch_.EndHandling(), BatchWatch::Ended::kOurs);
  EXPECT_FALSE(watch_.Abandon());
}

TEST_F(BatchWatchTest, TheWishToStopIsTimedAndNewForEachRun) {
  watch_.SetStopAt(At(100));
  EXPECT_FALSE(watch_.Tick(At(99), microseconds(1000)).stop_due);
  auto due = watch_.Tick(At(100), microseconds(1000));
  EXPECT_TRUE(due.stop_due);
  EXPECT_TRUE(watch_.NotifyStop(due.stop));
  EXPECT_TRUE(watch_.stop_handling());
  EXPECT_FALSE(watch_.NotifyStop(due.stop)) << "told once";
  EXPECT_FALSE(watch_.Tick(At(101), microseconds(1000)).stop_due);
  watch_.StopFailed(due.stop);
  EXPECT_TRUE(watch_.Tick(At(101), microseconds(1000)).stop_due) << "it could not be requested";
  EXPECT_TRUE(watch_.NotifyStop(due.stop));
  watch_.EndHandling();
  watch_.Reset(false, BootTime::max());
  due.stop.request_stop();  // late
  EXPECT_FALSE(watch_.stop().stop_requested());
  EXPECT_FALSE(watch_.NotifyStop(due.stop)) << "that run has ended";
}

TEST_F(BatchWatchTest, OnlyOneCallThatLastsHangs) {
  EXPECT_FALSE(watch_.Hangs(At(50), kBudget)) << "seen for the first time";
  EXPECT_FALSE(watch_.Hangs(At(149), kBudget));
  EXPECT_TRUE(watch_.Hangs(At(150), kBudget));
  watch_.Leave();
  machine_.Handled(Done{});
  machine_.Next(At(150));
  watch_.Enter();
  EXPECT_FALSE(watch_.Hangs(At(160), kBudget));
}

// A run of claimed messages, at its handle step: `x` alone, and a lane where `b` waits behind `a`.
class BatchWatchClaims : public ::testing::Test {
 protected:
  void Begin(ClaimVerdict head_of_lane, const Status& released = {}) {
    oncemq::MessageBatch batch;
    for (const char* id : {"x", "a", "b"}) {
      BatchItem item;
      item.slot = static_cast<uint32_t>(batch.items.size());
      item.lane = item.slot == 0 ? 0 : 1;
      item.id = id;
      batch.items.push_back(item);
    }
    batch.safe_until = BootTime::max();
    machine_.Start(batch);
    for (size_t i = 0; i < 3; i++) {
      machine_.claim_answers()[i] = {.answer = i == 1 ? head_of_lane : ClaimVerdict::kGranted};
    }
    machine_.Claimed({});
    if (machine_.step() == BatchStep::kRelease) {
      machine_.Released(released);
    }
    ASSERT_EQ(machine_.step(), BatchStep::kHandle);
    watch_.Reset(/*on_poll_thread=*/false, BootTime::max());
    watch_.BeginHandling(machine_, At(0));
    machine_.Next(At(0));
  }
  std::vector<std::string> Renewed(int64_t at) {
    std::vector<std::string> ids;
    for (const auto& claim : watch_.Tick(At(at), kRenewEvery).renew) {
      ids.push_back(claim.id);
    }
    return ids;
  }

  static constexpr microseconds kRenewEvery{100};
  BatchMachine machine_{BatchPolicy{.level = Level::kGuarded}, TokenSource(1)};
  BatchWatch watch_;
};

TEST_F(BatchWatchClaims, AreRenewedInTimeWhileTheHandlersRun) {
  Begin(ClaimVerdict::kGranted);
  EXPECT_TRUE(Renewed(99).empty());
  EXPECT_EQ(Renewed(100), (std::vector<std::string>{"x", "a", "b"}));
  EXPECT_TRUE(Renewed(199).empty());
  EXPECT_EQ(Renewed(200).size(), 3U);
  EXPECT_EQ(watch_.EndHandling(), BatchWatch::Ended::kOurs);
  EXPECT_TRUE(Renewed(300).empty());
}

TEST_F(BatchWatchClaims, AreRenewedDuringTheirCompletionAndNoLossStopsIt) {
  Begin(ClaimVerdict::kGranted);
  EXPECT_EQ(watch_.EndHandling(), BatchWatch::Ended::kOurs);
  watch_.BeginCompleting(machine_);
  watch_.SetStopAt(At(100));
  const auto due = watch_.Tick(At(100), kRenewEvery);
  EXPECT_EQ(due.renew.size(), 3U);
  EXPECT_FALSE(due.stop_due);
  EXPECT_FALSE(watch_.NotifyStop(due.stop));
  watch_.EndCompleting();
  EXPECT_TRUE(Renewed(300).empty());
}

TEST_F(BatchWatchClaims, ThatWereGivenBackAreNotRenewedOrTheRunWouldBeStoppedForThem) {
  Begin(ClaimVerdict::kInFlight);
  EXPECT_EQ(Renewed(100), std::vector<std::string>{"x"});
}

TEST_F(BatchWatchClaims, WhoseReleaseWasNotAnsweredAreNotRenewedEither) {
  Begin(ClaimVerdict::kInFlight, Error{Code::kTimeout, Effect::kUnknown, "no reply"});
  EXPECT_EQ(Renewed(100), std::vector<std::string>{"x"});
}

TEST_F(BatchWatchClaims, OfWhatWasSettledApartAreNotRenewed) {
  Begin(ClaimVerdict::kGranted);
  std::vector<Settlement> settled;
  machine_.SettleOthers(settled);
  EXPECT_EQ(settled.size(), 2U);
  EXPECT_EQ(Renewed(100), std::vector<std::string>{"x"});
}

}  // namespace
}  // namespace oncemq
