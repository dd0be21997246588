// SPDX-License-Identifier: Apache-2.0
// The lowest open message of a partition, its reason to wait, and the count of retries.
#include <gmock/gmock.h>

#include "core_harness.h"

namespace oncemq {
namespace {

using ::testing::SizeIs;

class CoreOldestTest : public CoreHarness {
 protected:
  OpenMessage Oldest(PartitionId partition) const {
    OpenMessage message;
    message.partition = partition;
    core_.FindOldest({&message, 1});
    return message;
  }
  void SettleRetry(const BatchItem& item, const std::string& why, int64_t wait_micros = 1'000,
                   uint16_t failed = 0) {
    Settlement settlement;
    settlement.slot = item.slot;
    settlement.ticket = item.ticket;
    settlement.fate = DeliveryFate::kRetry;
    settlement.handled = true;
    settlement.text = why;
    settlement.attempts.failed = failed;
    settlement.wait = microseconds(wait_micros);
    Settle(settlement);
  }
};

TEST_F(CoreOldestTest, ARetriedMessageIsToldWithItsReasonAndItsNextTry) {
  Give(0);
  Admit(0, 0, "a", "id-a");
  Admit(0, 1, "b", "id-b");
  const auto first = Take();
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_EQ(Oldest(0).state, OpenState::kRunning);
  EXPECT_EQ(Oldest(0).attempt, 1u);
  SettleRetry(first[0], "the database is down");
  Settle(first[1], DeliveryFate::kApplied);
  const OpenMessage oldest = Oldest(0);
  EXPECT_EQ(oldest.offset, 0);
  EXPECT_EQ(oldest.id, "id-a");
  EXPECT_EQ(oldest.state, OpenState::kRetrying);
  EXPECT_EQ(oldest.attempt, 1u);
  EXPECT_EQ(oldest.why, "the database is down");
  EXPECT_EQ(oldest.next_try, now_ + microseconds(1'000));
  EXPECT_EQ(core_.Status(0).retrying, 1u);
  After(1'000);
  const auto second = Take();
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_EQ(Oldest(0).state, OpenState::kRunning);
  EXPECT_EQ(Oldest(0).attempt, 2u);
  EXPECT_EQ(Oldest(0).why, "the database is down") << "of its last attempt";
  Settle(second[0], DeliveryFate::kApplied);
  EXPECT_EQ(core_.Status(0).retrying, 0u);
  EXPECT_EQ(Oldest(0).offset, -1);
}

TEST_F(CoreOldestTest, CallsOfEarlierOwnersCountOnceOneHasFailedHere) {
  Give(0);
  Admit(0, 0, "a", "id-a");
  SettleRetry(Take().at(0), "the database is down", 1'000, 6);
  EXPECT_EQ(Oldest(0).attempt, 6u);
  After(1'000);
  ASSERT_THAT(Take(), SizeIs(1));
  EXPECT_EQ(Oldest(0).attempt, 7u);
}

TEST_F(CoreOldestTest, TheLowestOfEachPartitionIsTold) {
  Give(0);
  Give(1);
  Admit(1, 5, "c");
  Admit(1, 6, "c");
  Admit(0, 3, "c");
  std::vector<OpenMessage> messages(2);
  messages[1].partition = 1;
  core_.FindOldest(messages);
  EXPECT_EQ(messages[0].offset, 3);
  EXPECT_EQ(messages[1].offset, 5);
  EXPECT_EQ(messages[1].state, OpenState::kQueued);
  EXPECT_EQ(messages[1].attempt, 0u);
}

TEST_F(CoreOldestTest, WithAnIdTheLowestMessageOfThatIdIsTold) {
  Give(0);
  Give(1);
  Admit(0, 3, "a", "other");
  Admit(0, 4, "b", "id");
  Admit(0, 5, "b", "id");
  std::vector<OpenMessage> messages(2);
  messages[1].partition = 1;
  messages[0].id = messages[1].id = "id";
  core_.FindOldest(messages);
  EXPECT_EQ(messages[0].offset, 4);
  EXPECT_EQ(messages[0].id, "id");
  EXPECT_EQ(messages[1].offset, -1) << "it is not open in that partition";
}

TEST_F(CoreOldestTest, AClaimInTheWayIsNoRetry) {
  Give(0);
  Admit(0, 0, "a", "id");
  Settle(Take().at(0), DeliveryFate::kWait, 2'000);
  EXPECT_EQ(Oldest(0).state, OpenState::kClaimed);
  EXPECT_EQ(Oldest(0).next_try, now_ + microseconds(2'000));
  EXPECT_EQ(core_.Status(0).retrying, 0u);
}

TEST_F(CoreOldestTest, AHandledMessageWithoutItsMarkerIsOwed) {
  Give(0);
  Admit(0, 0, "a", "id");
  const BatchItem item = Take().at(0);
  SettleRetry(item, "later");
  After(1'000);
  const BatchItem again = Take().at(0);
  Settlement settlement;
  settlement.slot = again.slot;
  settlement.ticket = again.ticket;
  settlement.fate = DeliveryFate::kPending;
  settlement.stage = Stage::kApplied;
  settlement.handled = true;
  settlement.wait = microseconds(500);
  Settle(settlement);
  EXPECT_EQ(Oldest(0).state, OpenState::kOwed);
  EXPECT_EQ(core_.Status(0).retrying, 0u) << "its handler is through";
}

TEST_F(CoreOldestTest, AReasonIsKeptForTheLowestOffsetsAndOnlyItsBeginning) {
  Give(0);
  for (int64_t offset = 0; offset < 32; offset++) {
    Admit(0, offset, "k" + std::to_string(offset));
  }
  std::vector<BatchItem> items;
  for (auto batch = Take(); !batch.empty(); batch = Take()) {
    items.insert(items.end(), batch.begin(), batch.end());
  }
  ASSERT_THAT(items, SizeIs(32));
  for (auto item = items.rbegin(); item != items.rend(); item++) {
    SettleRetry(*item, std::string(1'000, 'x'), 50'000);
  }
  EXPECT_EQ(core_.Status(0).retrying, 32u);
  EXPECT_EQ(Oldest(0).offset, 0);
  EXPECT_EQ(Oldest(0).why.size(), 200u);
}

TEST_F(CoreOldestTest, ARetryThatIsHandedBackIsNotCountedAnyMore) {
  Give(0);
  Admit(0, 0, "a", "id");
  SettleRetry(Take().at(0), "later");
  core_.Lost(0);
  EXPECT_EQ(core_.Status(0).retrying, 0u);
  EXPECT_EQ(Oldest(0).offset, -1);
  Give(0);
  Admit(0, 0, "a", "id");
  EXPECT_EQ(Oldest(0).state, OpenState::kQueued);
  EXPECT_EQ(Oldest(0).why, "");
}

}  // namespace
}  // namespace oncemq
