// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core_harness.h"

namespace oncemq {
namespace {

using CoreOrder = CoreHarness;

class CoreUnordered : public CoreHarness {
 protected:
  static CoreOptions Unordered() {
    CoreOptions options = Small();
    options.order = Order::kUnordered;
    return options;
  }
  CoreUnordered() : CoreHarness(Unordered()) {}
};

class CorePartitionOrder : public CoreHarness {
 protected:
  static CoreOptions ByPartition() {
    CoreOptions options = Small();
    options.order = Order::kPartition;
    return options;
  }
  CorePartitionOrder() : CoreHarness(ByPartition()) {}
};

TEST_F(CoreOrder, OneKeyIsWithOneWorkerAtATimeAndInOrder) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "a");
  const auto first = Take();
  EXPECT_EQ(Offsets(first), (std::vector<int64_t>{0, 1}));
  Admit(0, 2, "a");
  EXPECT_TRUE(Take().empty());
  SettleAll(first);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{2}));
}

// What the others of its lane were set aside for goes behind them, and then alone: with them it
// would lose its effects to its own slowness again.
TEST_F(CoreOrder, WhatIsToRunAloneHasNothingInItsRun) {
  Give(0);
  Admit(0, 0, "b");
  const auto other = Take();
  for (int64_t offset = 1; offset <= 4; offset++) {
    Admit(0, offset, "a");
  }
  const auto batch = Take();
  ASSERT_EQ(Offsets(batch), (std::vector<int64_t>{1, 2, 3, 4}));
  for (const BatchItem& item : batch) {
    Settlement settlement;
    settlement.slot = item.slot;
    settlement.ticket = item.ticket;
    settlement.fate = DeliveryFate::kWithdrawn;
    settlement.alone = item.at.offset == 3;
    Settle(settlement);
  }
  const auto before = Take();
  EXPECT_EQ(Offsets(before), (std::vector<int64_t>{1, 2}));
  SettleAll(before);
  Admit(0, 5, "b");
  SettleAll(other);
  std::vector<std::vector<int64_t>> runs;
  for (auto next = Take(); !next.empty(); next = Take()) {
    runs.push_back(Offsets(next));
    SettleAll(next);
  }
  EXPECT_EQ(std::count(runs.begin(), runs.end(), std::vector<int64_t>{3}), 1) << "and nothing else";
}

TEST_F(CoreOrder, OtherKeysDoNotWait) {
  Give(0);
  Admit(0, 0, "a");
  Take();
  Admit(0, 1, "b");
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{1}));
}

TEST_F(CoreOrder, OneKeyInTwoPartitionsIsTwoLanes) {
  Give(0);
  Give(1);
  Admit(0, 0, "a");
  Take();
  Admit(1, 0, "a");
  EXPECT_EQ(Take().size(), 1u);
}

TEST_F(CoreOrder, AMessageWithoutKeyIsALaneOfItsOwn) {
  Give(0);
  Admit(0, 0, "");
  Take();
  Admit(0, 1, "");
  EXPECT_EQ(Take().size(), 1u);
}

TEST_F(CoreOrder, ARetryWaitsInItsLaneWithItsFollowersAndHoldsNobodyElse) {
  Give(0);
  for (int64_t offset = 0; offset < 3; offset++) {
    Admit(0, offset, "a");
  }
  Admit(0, 3, "b");
  const auto items = Take();
  Settle(items[0], DeliveryFate::kRetry, 2'000);
  Settle(items[1], DeliveryFate::kWithdrawn);
  Settle(items[2], DeliveryFate::kWithdrawn);
  Settle(items[3], DeliveryFate::kApplied);
  EXPECT_TRUE(Take().empty());
  EXPECT_EQ(core_.load().running, 0u);
  After(1'999);
  EXPECT_TRUE(Take().empty());
  EXPECT_EQ(core_.NextTimer().has_value(), true);
  After(1);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{0, 1, 2}));
}

TEST_F(CoreOrder, WhatWaitsForAnothersClaimGoesAloneUntilItHasMoved) {
  Give(0);
  for (int64_t offset = 0; offset < 3; offset++) {
    Admit(0, offset, "a");
  }
  const auto items = Take();
  Settle(items[0], DeliveryFate::kWait, 2'000);
  Settle(items[1], DeliveryFate::kWithdrawn);
  Settle(items[2], DeliveryFate::kWithdrawn);
  After(2'000);
  const auto head = Take();
  EXPECT_EQ(Offsets(head), (std::vector<int64_t>{0}));
  SettleAll(head);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{1, 2}));
}

TEST_F(CoreOrder, AnAttemptIsCountedWhenTheHandlerWasCalled) {
  Give(0);
  Admit(0, 0, "a");
  auto items = Take();
  EXPECT_EQ(items[0].attempts.made, 0u);
  Settlement settlement;
  settlement.slot = items[0].slot;
  settlement.ticket = items[0].ticket;
  settlement.fate = DeliveryFate::kRetry;
  settlement.handled = true;
  settlement.wait = microseconds(1);
  Settle(settlement);
  After(1);
  EXPECT_EQ(Take()[0].attempts.made, 1u);
}

TEST_F(CoreOrder, FailedAttemptsAreKeptWhileAMessageWaits) {
  Give(0);
  Admit(0, 0, "a");
  const auto items = Take();
  Settlement settlement;
  settlement.slot = items[0].slot;
  settlement.ticket = items[0].ticket;
  settlement.fate = DeliveryFate::kRetry;
  settlement.handled = true;
  settlement.wait = microseconds(1);
  settlement.attempts = {.failed = 3, .first_failed = now_};
  Settle(settlement);
  const BootTime first = now_;
  After(1);
  const auto again = Take();
  EXPECT_EQ(again[0].attempts.failed, 3u);
  EXPECT_EQ(again[0].attempts.first_failed, first);
  Settle(again[0], DeliveryFate::kApplied);
  Admit(0, 1, "a");
  EXPECT_EQ(Take()[0].attempts.failed, 0u) << "another message in the same slot";
}

TEST_F(CoreOrder, ACopyOfARunningIdWaitsHoldsNoWorkerAndIsWokenByTheOutcome) {
  Give(0);
  Admit(0, 0, "a", "x");
  const auto original = Take();
  Admit(0, 1, "b", "x");
  Admit(0, 2, "c", "y");
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{2}));
  EXPECT_EQ(core_.load().running, 2u);
  SettleAll(original);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{1}));
}

TEST_F(CoreOrder, AnotherIdWithTheSameHashDoesNotComeAlong) {
  Give(0);
  std::string ids[] = {"x", "y"};
  for (std::string& id : ids) {
    const Arrival arrival{.message = &id,
                          .id = id,
                          .id_hash = 77,
                          .key_hash = ProcessHash("key"),
                          .offset = &id - ids,
                          .bytes = 10};
    core_.Admit(0, {&arrival, 1});
  }
  const auto first = Take();
  EXPECT_EQ(Offsets(first), (std::vector<int64_t>{0}));
  SettleAll(first);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{1}));
}

TEST_F(CoreOrder, ACopyBehindItsOriginalInOneLaneComesAlongAndIsMarked) {
  Give(0);
  Admit(0, 0, "a", "x");
  Admit(0, 1, "a", "x");
  const auto items = Take();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_FALSE(items[0].copy);
  EXPECT_TRUE(items[1].copy);
}

TEST_F(CoreUnordered, AnIdThatRunsFromBeforeIsWaitedForWithoutLanesToo) {
  Give(0);
  Admit(0, 5, "a", "x");
  const auto running = Take();
  core_.Lost(0);
  Give(0, 5);
  Admit(0, 5, "a", "x");
  EXPECT_TRUE(Take().empty());
  Settle(running[0], DeliveryFate::kApplied);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{5}));
}

class CoreOwnedIds : public CoreHarness {
 protected:
  CoreOwnedIds() : CoreHarness(OwnedIds()) {}
  static CoreOptions OwnedIds() {
    CoreOptions options = Small();
    options.partition_owned = true;
    return options;
  }
};

TEST_F(CoreOwnedIds, TheSameIdInAnotherPartitionIsNotWaitedFor) {
  Give(0);
  Give(1);
  Admit(0, 0, "a", "x");
  const auto running = Take();
  ASSERT_EQ(running.size(), 1u);
  Admit(0, 1, "b", "x");
  Admit(1, 7, "a", "x");
  const auto other = Take();
  EXPECT_EQ(Offsets(other), (std::vector<int64_t>{7}));
  EXPECT_FALSE(other[0].copy);
  SettleAll(running);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{1})) << "a copy in its own partition waits";
}

TEST_F(CoreOrder, WhereIdsCrossACopyInAnotherPartitionWaits) {
  Give(0);
  Give(1);
  Admit(0, 0, "a", "x");
  const auto running = Take();
  Admit(1, 7, "a", "x");
  EXPECT_TRUE(Take().empty());
  SettleAll(running);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{7}));
}

TEST_F(CoreUnordered, EqualKeysRunSideBySide) {
  Give(0);
  Admit(0, 0, "a");
  Take();
  Admit(0, 1, "a");
  EXPECT_EQ(Take().size(), 1u);
}

TEST_F(CorePartitionOrder, APartitionIsOneLane) {
  Give(0);
  Give(1);
  Admit(0, 0, "a");
  Take();
  Admit(0, 1, "b");
  EXPECT_TRUE(Take().empty());
  Admit(1, 0, "b");
  EXPECT_EQ(Take().size(), 1u);
}

TEST_F(CoreOrder, WhatHasRunIsNeverRunAgainWhileItsMarkerIsOwed) {
  Give(0);
  Admit(0, 0, "a", "x");
  auto items = Take();
  Settlement settlement;
  settlement.slot = items[0].slot;
  settlement.ticket = items[0].ticket;
  settlement.fate = DeliveryFate::kPending;
  settlement.stage = Stage::kApplied;
  settlement.token = {1, 77};
  settlement.text = "receipt";
  settlement.wait = microseconds(500);
  Settle(settlement);
  Admit(0, 1, "b", "x");
  EXPECT_TRUE(Take().empty()) << "its copy waits for the marker";
  core_.Lost(0);
  After(500);
  const auto again = Take();
  ASSERT_EQ(again.size(), 1u) << "owed also after the assignment";
  EXPECT_EQ(again[0].stage, Stage::kApplied);
  EXPECT_EQ(again[0].token.attempt, 77u);
  EXPECT_EQ(again[0].text, "receipt");
  SettleAll(again);
  EXPECT_EQ(core_.load().unfinished, 0u);
}

// Handled, and its completion got no answer: it is owed after a pause.
class CoreOwed : public CoreHarness {
 protected:
  void Owe(const BatchItem& item, uint64_t token = 77) {
    Settlement settlement;
    settlement.slot = item.slot;
    settlement.ticket = item.ticket;
    settlement.fate = DeliveryFate::kPending;
    settlement.stage = Stage::kApplied;
    settlement.token = {1, token};
    settlement.wait = microseconds(500);
    Settle(settlement);
  }
};

TEST_F(CoreOwed, CompletionsGoBeforeAllClaimsAndInRunsOfTheirOwn) {
  Give(0);
  Give(1);
  Admit(0, 0, "a", "x");
  Admit(0, 1, "b", "y");
  for (const BatchItem& item : Take()) {
    Owe(item);
  }
  Admit(1, 0, "c", "z");  // whose turn it is
  Admit(0, 2, "a", "v");
  Admit(0, 3, "d", "w");
  After(500);
  const auto owed = Take();
  ASSERT_EQ(owed.size(), 2u);
  for (const BatchItem& item : owed) {
    EXPECT_EQ(item.stage, Stage::kApplied);
    EXPECT_EQ(item.partition, 0u);
  }
  SettleAll(owed);
  EXPECT_EQ(Take().size(), 1u);
  EXPECT_EQ(Take().size(), 2u);
}

TEST_F(CoreOwed, CompletionsBehindEachOtherInOneLaneAreTakenTogetherAndWithoutTheirFollower) {
  Give(0);
  for (int64_t offset = 0; offset < 3; offset++) {
    Admit(0, offset, "a", "x" + std::to_string(offset));
  }
  for (const BatchItem& item : Take()) {
    Owe(item);
  }
  Admit(0, 3, "a", "y");
  After(500);
  auto batch = Take();
  EXPECT_EQ(Offsets(batch), (std::vector<int64_t>{0})) << "after a failure, alone";
  SettleAll(batch);
  batch = Take();
  EXPECT_EQ(Offsets(batch), (std::vector<int64_t>{1, 2}));
  SettleAll(batch);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{3}));
}

TEST_F(CoreOwed, APartitionWhoseStoreFailsDoesNotHoldUpTheOthers) {
  Give(0);
  Give(1);
  for (int64_t offset = 0; offset < 16; offset++) {
    Admit(0, offset, "", "x" + std::to_string(offset));
  }
  for (auto batch = Take(); !batch.empty(); batch = Take()) {
    for (const BatchItem& item : batch) {
      Owe(item);
    }
  }
  Admit(1, 0, "c", "z");
  After(500);
  EXPECT_EQ(Take().front().partition, 0u);
  EXPECT_EQ(Take().front().partition, 1u);
  EXPECT_EQ(Take().front().partition, 0u);
}

TEST_F(CoreOwed, ClaimsThatAreOwedAreNamedUntilTheyAreSettled) {
  Give(3);
  Admit(3, 0, "a", "x");
  Admit(3, 1, "b", "");
  Admit(3, 2, "c", "y");
  const auto items = Take();
  Owe(items[0], 77);
  Owe(items[1], 0);
  const auto named = [this] {
    std::vector<HeldClaim> claims;
    core_.FindOwedClaims(claims);
    return claims;
  };
  ASSERT_EQ(named().size(), 1u) << "one has no id, one is with its handler";
  EXPECT_EQ(named()[0].id, "x");
  EXPECT_EQ(named()[0].token.attempt, 77u);
  EXPECT_EQ(named()[0].at, (Coordinates{0, 3, 0}));
  After(500);
  const auto again = Take();
  EXPECT_EQ(named().size(), 1u) << "also while its completion is under way";
  SettleAll(again);
  EXPECT_TRUE(named().empty());
}

TEST_F(CoreOrder, ARefusalOnRecordKeepsItsNumberUntilItsMarkerIsThere) {
  Give(0);
  Admit(0, 0, "a", "x");
  const auto items = Take();
  Settlement settlement;
  settlement.slot = items[0].slot;
  settlement.ticket = items[0].ticket;
  settlement.fate = DeliveryFate::kPending;
  settlement.stage = Stage::kRecorded;
  settlement.token = {1, 77};
  settlement.entry = 17;
  settlement.wait = microseconds(500);
  Settle(settlement);
  Admit(0, 1, "b", "x");
  EXPECT_TRUE(Take().empty()) << "its copy waits for the marker";
  After(500);
  const auto again = Take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].stage, Stage::kRecorded);
  EXPECT_EQ(again[0].token.attempt, 77u);
  EXPECT_EQ(again[0].entry, 17u);
}

TEST_F(CoreOrder, AStoppedPartitionRunsNothingMoreAndStillCommitsWhatIsFinished) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  Admit(0, 2, "c");
  const auto items = Take();
  Settle(items[0], DeliveryFate::kApplied);
  Settlement stop;
  stop.slot = items[1].slot;
  stop.ticket = items[1].ticket;
  stop.fate = DeliveryFate::kStop;
  stop.text = "not a payment";
  Settle(stop);
  Settle(items[2], DeliveryFate::kApplied);
  std::vector<Action> actions = Actions();
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_EQ(std::get<StopAction>(actions[0]).offset, 1);
  EXPECT_EQ(std::get<StopAction>(actions[0]).why, "not a payment");
  EXPECT_EQ(std::get<StopAction>(actions[0]).message->offset, 1);
  EXPECT_EQ(core_.Credit(0), 0u);
  EXPECT_TRUE(Take().empty());
  After(1'000);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].offset, 1);
  EXPECT_TRUE(Decode(commits[0]).map.Contains(2));
}

}  // namespace
}  // namespace oncemq
