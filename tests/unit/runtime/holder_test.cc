// SPDX-License-Identifier: Apache-2.0
#include "holder.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

PartitionReport Active() {
  PartitionReport one{.topic = "payments", .partition = 3};
  one.status.phase = PartitionPhase::kActive;
  return one;
}

PartitionReport Held(OpenState state, Holder with = Holder::kNone) {
  PartitionReport one = Active();
  one.status.counts.open = 1;
  one.oldest = HeldBy{.message = {.offset = 7, .state = state}, .with = with};
  return one;
}

TEST(Holder, AStoppedPartitionNeedsAPersonWhateverElseWaits) {
  PartitionReport one = Held(OpenState::kRetrying);
  one.waits_for = Holder::kStore;
  one.stopped = "refused";
  EXPECT_EQ(HolderOf(one), Holder::kStopped);
  one.oldest->message.state = OpenState::kStopped;
  EXPECT_EQ(HolderOf(one), Holder::kStopped);
}

TEST(Holder, TheLowestMessageSaysWhoHasIt) {
  EXPECT_EQ(HolderOf(Held(OpenState::kRetrying)), Holder::kHandler);
  EXPECT_EQ(HolderOf(Held(OpenState::kOwed)), Holder::kStore);
  EXPECT_EQ(HolderOf(Held(OpenState::kQueued)), Holder::kTurn);
  EXPECT_EQ(HolderOf(Held(OpenState::kRunning, Holder::kLock)), Holder::kLock);
  EXPECT_EQ(HolderOf(Held(OpenState::kRunning, Holder::kHandler)), Holder::kHandler);
  EXPECT_EQ(HolderOf(Held(OpenState::kRunning)), Holder::kTurn) << "no worker has begun it";
}

TEST(Holder, AStoreWithoutAnAnswerIsNoClaimOfSomebodyElse) {
  PartitionReport one = Held(OpenState::kClaimed);
  EXPECT_EQ(HolderOf(one), Holder::kIdClaimed);
  one.waits_for = Holder::kStore;
  EXPECT_EQ(HolderOf(one), Holder::kStore);
}

TEST(Holder, AQueuedMessageWaitsForWhatItsPartitionWaitsFor) {
  PartitionReport one = Held(OpenState::kQueued);
  one.waits_for = Holder::kBroker;
  EXPECT_EQ(HolderOf(one), Holder::kBroker);
  one.oldest->message.state = OpenState::kRetrying;
  EXPECT_EQ(HolderOf(one), Holder::kHandler) << "it would be tried again without the broker, too";
}

TEST(Holder, WithoutAnOpenMessageThePartitionItselfWaits) {
  PartitionReport one = Active();
  EXPECT_EQ(HolderOf(one), Holder::kNone);
  one.waits_for = Holder::kCommit;
  EXPECT_EQ(HolderOf(one), Holder::kCommit);
}

TEST(Holder, ABrokerThatGivesNoRecordsHoldsTheRestOfTheLog) {
  PartitionReport one = Active();
  one.lag = 5;
  one.unmoved = kUnreadAfter - milliseconds(1);
  EXPECT_EQ(HolderOf(one), Holder::kNone) << "it may come with the next fetch";
  one.unmoved = kUnreadAfter;
  EXPECT_EQ(HolderOf(one), Holder::kBroker);
  one.status.counts.open = 1;
  EXPECT_EQ(HolderOf(one), Holder::kNone) << "a message of it is handled";
  one.status = {};
  EXPECT_EQ(HolderOf(one), Holder::kNone) << "another member reads it";
}

}  // namespace
}  // namespace oncemq
