// SPDX-License-Identifier: Apache-2.0
// Keys with messages in a park topic: what follows them, and how they come back.

#include <gmock/gmock.h>

#include "core_harness.h"

namespace oncemq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CoreParked : public CoreHarness {
 protected:
  static CoreOptions Parking() {
    CoreOptions options = Small();
    options.refusals.parks = true;
    return options;
  }
  CoreParked() : CoreHarness(Parking()) {}

  std::vector<BatchItem> TakeWith(bool follows) {
    const auto items = Take();
    for (const BatchItem& item : items) {
      EXPECT_EQ(item.follows, follows) << item.at.offset;
    }
    return items;
  }
  void Redrive(std::initializer_list<int64_t> offsets, const std::string& key, bool drop = false,
               const char* refusal = nullptr) {
    std::vector<RedrivenArrival> arrivals;
    for (const int64_t offset : offsets) {
      RedrivenArrival& arrival = arrivals.emplace_back();
      arrival.message = &arrival_;
      arrival.key_hash = key.empty() ? 0 : ProcessHash(key);
      arrival.offset = offset;
      arrival.bytes = 10;
      arrival.drop = drop;
      arrival.refusal = refusal;
    }
    core_.AdmitRedriven(0, arrivals);
  }
  void SettleRedriven(const BatchItem& item, DeliveryFate fate, Stage stage = Stage::kFresh) {
    Settlement settlement;
    settlement.slot = item.slot;
    settlement.ticket = item.ticket;
    settlement.redriven = item.redriven;
    settlement.fate = fate;
    settlement.stage = stage;
    Settle(settlement);
  }

  int arrival_ = 0;
};

TEST_F(CoreParked, TheLaterMessagesOfAParkedKeyFollowItAndThoseOfOtherKeysRun) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "a");
  const auto items = TakeWith(false);
  Settle(items[0], DeliveryFate::kParked);
  Settle(items[1], DeliveryFate::kWithdrawn);
  EXPECT_THAT(Offsets(TakeWith(true)), ElementsAre(1)) << "queued before it was parked";
  Admit(0, 2, "b");
  EXPECT_THAT(Offsets(TakeWith(false)), ElementsAre(2));
}

TEST_F(CoreParked, ACopyOfAParkedMessageParksNoKey) {
  Give(0);
  Admit(0, 0, "a");
  Settlement settlement;
  const auto items = Take();
  settlement.slot = items[0].slot;
  settlement.ticket = items[0].ticket;
  settlement.fate = DeliveryFate::kParked;
  settlement.attached = true;
  Settle(settlement);
  Admit(0, 1, "a");
  TakeWith(false);
}

TEST_F(CoreParked, AMessageWithoutAKeyIsParkedAlone) {
  Give(0);
  Admit(0, 0, "");
  Settle(Take()[0], DeliveryFate::kParked);
  Admit(0, 1, "");
  TakeWith(false);
}

TEST_F(CoreParked, TheTopicTellsTheNextOwnerItsKeysAndWhatItHasAlready) {
  Give(0, 5);
  core_.SetParked(0, {.keys = {{ProcessHash("a"), 1}}, .offsets = {5}});
  Admit(0, 5, "a");
  Admit(0, 6, "a");
  const auto items = TakeWith(true);
  ASSERT_THAT(Offsets(items), ElementsAre(5, 6));
  EXPECT_EQ(items[0].stage, Stage::kNotDone) << "it is on record";
  EXPECT_EQ(items[1].stage, Stage::kFresh);
}

TEST_F(CoreParked, WhatWasRefusedUnderTheCommitAndHasEndedSinceIsDone) {
  CommitMetadata metadata;
  metadata.map.Append(1, 4);
  metadata.not_done.Append(1, 3);
  metadata.totals = {.applied = 1, .parked = 2};
  for (const int64_t from : {0, 2, 3}) {
    metadata.optional.on_record = {.from = from, .refused = 2};
    Give(0, 0, metadata);
    core_.SetParked(0, {.offsets = {1}});
    for (int64_t offset = 0; offset < 4; offset++) {
      Admit(0, offset, "");
    }
    const auto items = Take();
    ASSERT_THAT(Offsets(items), ElementsAre(0, 1, 2, 3));
    EXPECT_EQ(items[1].stage, Stage::kNotDone);
    EXPECT_EQ(items[2].stage, from <= 2 ? Stage::kCarried : Stage::kNotDone) << from;
    EXPECT_EQ(items[3].stage, Stage::kCarried);
    core_.Lost(0);
    SettleAll(items);
  }
}

TEST_F(CoreParked, ACommitSaysFromWhereItsRefusalsAreOnRecord) {
  const auto commit = [&] {
    After(1'000);
    const auto commits = Acknowledge();
    return *DecodeCommit(commits.back().metadata, commits.back().offset);
  };
  CommitMetadata metadata;
  metadata.since = 2;
  Give(0, 5, metadata);
  Admit(0, 5, "");
  Settle(Take()[0], DeliveryFate::kParked);
  metadata = commit();
  EXPECT_EQ(metadata.optional.on_record, (RefusalsOnRecord{.from = 2, .refused = 1}));
  core_.Lost(0);
  // An owner without a park topic has refused another one, and one above the commit.
  metadata.totals.rejected = 2;
  metadata.map.Append(9, 11);
  metadata.not_done.Append(9, 10);
  Give(0, 7, metadata);
  Admit(0, 7, "");
  Settle(Take()[0], DeliveryFate::kParked);
  metadata = commit();
  EXPECT_EQ(metadata.optional.on_record, (RefusalsOnRecord{.from = 11, .refused = 4}));
  core_.Lost(0);
  Give(0, 8, metadata);
  Admit(0, 8, "");
  SettleAll(Take());
  EXPECT_EQ(commit().optional.on_record, metadata.optional.on_record) << "as long as it holds";
}

TEST_F(CoreParked, AMapThatLeavesNoRoomForItEndsWhatIsOnRecord) {
  CommitMetadata metadata;
  metadata.totals.parked = 1;
  OffsetMap map;
  for (int64_t offset = 1; MapFits({.map = map}, metadata); offset += 2) {
    metadata.map = map;
    map.Append(offset, offset + 1);
  }
  core_.Assign(0, {.metadata = metadata}, now_);
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{7}, now_);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  const auto written = DecodeCommit(commits[0].metadata, 0);
  EXPECT_EQ(written->map, metadata.map);
  EXPECT_EQ(written->optional.on_record, std::nullopt) << "the next owner begins it anew";
}

TEST_F(CoreParked, WhatWasRefusedUnreadHoldsBackTheNextOfItsKeyUntilItIsOnRecord) {
  Give(0);
  Arrival arrival;
  arrival.message = &arrival_;
  arrival.key_hash = ProcessHash("a");
  arrival.refusal = "no id";
  core_.Admit(0, {&arrival, 1});
  Admit(0, 1, "a");
  const auto items = TakeWith(false);
  ASSERT_THAT(Offsets(items), ElementsAre(0));
  Settle(items[0], DeliveryFate::kParked);
  EXPECT_THAT(Offsets(TakeWith(true)), ElementsAre(1));
}

TEST_F(CoreParked, WhatWasRefusedUnreadWaitsForThoseBeforeIt) {
  Give(0);
  Admit(0, 0, "a");
  Arrival arrival;
  arrival.message = &arrival_;
  arrival.key_hash = ProcessHash("a");
  arrival.offset = 1;
  arrival.refusal = "no id";
  core_.Admit(0, {&arrival, 1});
  EXPECT_THAT(Offsets(TakeWith(false)), ElementsAre(0));
}

TEST_F(CoreParked, RedrivenMessagesComeBeforeTheLiveOnesOfTheirKeyWhichThenRun) {
  Give(0, 10);
  core_.SetParked(0, {.keys = {{ProcessHash("a"), 2}}});
  Admit(0, 10, "a");
  Redrive({3, 7}, "a");
  const auto items = TakeWith(false);
  ASSERT_THAT(Offsets(items), ElementsAre(3, 7));
  EXPECT_TRUE(items[0].redriven);
  SettleRedriven(items[0], DeliveryFate::kApplied);
  EXPECT_THAT(Take(), IsEmpty());
  SettleRedriven(items[1], DeliveryFate::kSuppressed);
  EXPECT_THAT(Offsets(TakeWith(false)), ElementsAre(10));
  EXPECT_EQ(core_.Status(0).frontier, 10) << "no commit counts them";
}

TEST_F(CoreParked, WhileTheTopicHasMoreOfTheKeyTheLiveOnesFollow) {
  Give(0, 10);
  core_.SetParked(0, {.keys = {{ProcessHash("a"), 3}}});
  Admit(0, 10, "a");
  Redrive({3, 7}, "a");
  for (const BatchItem& item : TakeWith(false)) {
    SettleRedriven(item, DeliveryFate::kApplied);
  }
  EXPECT_THAT(Offsets(TakeWith(true)), ElementsAre(10));
}

TEST_F(CoreParked, OneThatIsRefusedAgainTakesTheOthersOfItsKeyAlong) {
  Give(0, 10);
  core_.SetParked(0, {.keys = {{ProcessHash("a"), 3}}});
  Redrive({3, 5}, "a");
  const auto items = TakeWith(false);
  Redrive({7}, "a");
  Admit(0, 10, "a");
  SettleRedriven(items[0], DeliveryFate::kParked);
  SettleRedriven(items[1], DeliveryFate::kWithdrawn);
  EXPECT_THAT(Offsets(TakeWith(true)), ElementsAre(10));
  EXPECT_EQ(core_.load().unfinished, 1u);
}

// Rule 15: its handler has run.
TEST_F(CoreParked, OneThatIsRefusedAgainLeavesTheMarkerOfTheOneBeforeItOwed) {
  Give(0, 10);
  core_.SetParked(0, {.keys = {{ProcessHash("a"), 2}}});
  Redrive({3, 5}, "a");
  const auto items = TakeWith(false);
  SettleRedriven(items[0], DeliveryFate::kPending, Stage::kApplied);
  SettleRedriven(items[1], DeliveryFate::kParked);
  const auto owed = TakeWith(false);
  ASSERT_THAT(Offsets(owed), ElementsAre(3));
  EXPECT_EQ(owed[0].stage, Stage::kApplied);
}

TEST_F(CoreParked, ARedrivenMessageThatIsRefusedUnreadHoldsBackTheNextOfItsKey) {
  Give(0, 10);
  core_.SetParked(0, {.keys = {{ProcessHash("a"), 4}}});
  Redrive({3}, "a");
  Redrive({5}, "a", false, "no id");
  Redrive({7}, "a");
  const auto first = TakeWith(false);
  ASSERT_THAT(Offsets(first), ElementsAre(3)) << "it may be refused again, or wait";
  SettleRedriven(first[0], DeliveryFate::kApplied);
  const auto refused = TakeWith(false);
  ASSERT_THAT(Offsets(refused), ElementsAre(5));
  SettleRedriven(refused[0], DeliveryFate::kParked);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(core_.load().unfinished, 0u);
}

TEST_F(CoreParked, ARedrivenMessageComesAfterOneOfItsKeyThatIsOnlyNotOnRecordYet) {
  Give(0);
  Admit(0, 0, "a");
  Settlement settlement;
  const auto items = Take();
  settlement.slot = items[0].slot;
  settlement.ticket = items[0].ticket;
  settlement.fate = DeliveryFate::kPending;
  settlement.stage = Stage::kRecorded;
  Settle(settlement);
  Redrive({0}, "a");
  EXPECT_THAT(Offsets(Take()), ElementsAre(0));
}

TEST_F(CoreParked, OneThatIsRefusedUnreadAgainHoldsBackTheNextOfItsKey) {
  Give(0, 10);
  core_.SetParked(0, {.keys = {{ProcessHash("a"), 2}}});
  RedrivenArrival arrival;
  arrival.message = &arrival_;
  arrival.key_hash = ProcessHash("a");
  arrival.offset = 3;
  arrival.refusal = "no id";
  core_.AdmitRedriven(0, {&arrival, 1});
  Redrive({5}, "a");
  EXPECT_THAT(Offsets(TakeWith(false)), ElementsAre(3));
}

TEST_F(CoreParked, ARedrivenMessageThatWasCalledMayHaveHadItsEffect) {
  Give(0, 10);
  RedrivenArrival arrival;
  arrival.message = &arrival_;
  arrival.offset = 3;
  arrival.called = true;
  core_.AdmitRedriven(0, {&arrival, 1});
  EXPECT_TRUE(Take()[0].touched);
}

TEST_F(CoreParked, ARedrivenMessageComesAfterThoseThatALiveOneHadBeforeIt) {
  Give(0, 10);
  core_.SetParked(0, {.keys = {{ProcessHash("a"), 2}}});
  Admit(0, 10, "a");
  const auto items = TakeWith(true);
  Redrive({3}, "a");
  Settle(items[0], DeliveryFate::kWithdrawn);
  Redrive({5}, "a");
  std::vector<int64_t> order;
  for (const BatchItem& item : Take()) {
    order.push_back(item.at.offset);
  }
  EXPECT_THAT(order, ElementsAre(10, 3, 5));
}

TEST_F(CoreParked, ALateWordOfAnEarlierAssignmentParksNothing) {
  Give(0);
  Admit(0, 0, "a");
  const auto items = Take();
  core_.Lost(0);
  Give(0);
  Settle(items[0], DeliveryFate::kParked);
  Admit(0, 0, "a");
  TakeWith(false);
}

TEST_F(CoreParked, ARevocationHandsRedrivenMessagesBackAndNamesNone) {
  Give(0, 10);
  core_.SetParked(0, {.keys = {{ProcessHash("a"), 1}}});
  Redrive({3}, "a");
  core_.Revoke(0, now_ + microseconds(1'000), now_);
  EXPECT_EQ(core_.load().unfinished, 0u);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].offset, 10);
  EXPECT_THAT(Decode(commits[0]).abandoned, IsEmpty());
}

TEST_F(CoreParked, WhetherAnOffsetIsFinishedIsKnownAboveTheFrontierToo) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 2, "b");
  EXPECT_FALSE(core_.Finished(0, 2));
  Settle(Take()[1], DeliveryFate::kApplied);
  EXPECT_FALSE(core_.Finished(0, 0));
  EXPECT_TRUE(core_.Finished(0, 2));
  EXPECT_TRUE(core_.Finished(0, 1)) << "no message";
  EXPECT_FALSE(core_.Finished(0, 3)) << "not read yet";
}

}  // namespace
}  // namespace oncemq
