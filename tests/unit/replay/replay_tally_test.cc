// SPDX-License-Identifier: Apache-2.0
#include "replay_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Key;

constexpr int64_t kDay = 86'400'000;
constexpr ClaimAnswer Answer(ClaimVerdict verdict) {
  return {.answer = verdict};
}

const ReplayRange kRange{
    .topic = "payments", .partition = 0, .from = 0, .to = 100, .frontier = 100, .since = 10};

class ReplayTallyTest : public ::testing::Test {
 protected:
  ReplayCounts Sum() const {
    ReplayCounts sum;
    for (const auto& [place, counts] : tally_.table()) {
      sum += counts;
    }
    return sum;
  }
  int64_t Count(ReplayWord word) const { return Sum()[word]; }

  WindowCapabilities can_{.level = Level::kGuarded, .ages = true};
  ReplayTally tally_{can_};
};

TEST_F(ReplayTallyTest, EachRecordCountsOnceByTopicAndDay) {
  const ReplayRange other{.topic = "refunds", .partition = 3, .from = 0, .to = 9, .frontier = 9};
  tally_.Add(kRange, {20, 5 * kDay, 1}, Answer(ClaimVerdict::kGranted));
  tally_.Add(kRange, {21, 6 * kDay - 1, 2}, Answer(ClaimVerdict::kDuplicate));
  tally_.Add(kRange, {22, 6 * kDay, 3}, Answer(ClaimVerdict::kInFlight));
  tally_.Add(other, {0, 5 * kDay, 4}, Answer(ClaimVerdict::kAttached));
  tally_.AddRefused(other, {1, -1, 0});
  EXPECT_THAT(tally_.table(),
              ElementsAre(Key(std::pair("payments", 5)), Key(std::pair("payments", 6)),
                          Key(std::pair("refunds", kNoReplayDay)), Key(std::pair("refunds", 5))));
  EXPECT_EQ(Sum().messages(), 5);
  EXPECT_EQ(tally_.table().at({"payments", 5})[ReplayWord::kApplies], 1);
  EXPECT_EQ(tally_.table().at({"payments", 5})[ReplayWord::kSuppressed], 1);
  EXPECT_EQ(Count(ReplayWord::kInFlight), 1);
  EXPECT_EQ(Count(ReplayWord::kParked), 1);
  EXPECT_EQ(Count(ReplayWord::kRefused), 1);
}

TEST_F(ReplayTallyTest, ACopyWithinTheSetIsSuppressed) {
  tally_.Add(kRange, {20, kDay, 1}, Answer(ClaimVerdict::kGranted));
  tally_.Add(kRange, {21, kDay, 1}, Answer(ClaimVerdict::kGranted));
  tally_.Add(kRange, {22, kDay, 1}, Answer(ClaimVerdict::kInFlight));
  EXPECT_EQ(Count(ReplayWord::kApplies), 1);
  EXPECT_EQ(Count(ReplayWord::kSuppressed), 2);
}

TEST_F(ReplayTallyTest, ACopyOfWhatDoesNotApplyKeepsItsOwnWord) {
  tally_.Add(kRange, {20, kDay, 1}, Answer(ClaimVerdict::kOutsideWindow));
  tally_.Add(kRange, {21, kDay, 1}, Answer(ClaimVerdict::kGranted));
  tally_.Add(kRange, {22, kDay, 1}, Answer(ClaimVerdict::kConflict));
  EXPECT_EQ(Count(ReplayWord::kOutside), 1);
  EXPECT_EQ(Count(ReplayWord::kApplies), 1);
  EXPECT_EQ(Count(ReplayWord::kConflict), 1);
}

TEST_F(ReplayTallyTest, WherePartitionsOwnIdsTheSameIdOfAnotherOneIsNoCopy) {
  can_.partition_owned = true;
  ReplayTally tally(can_);
  ReplayRange next = kRange;
  next.partition = 1;
  ReplayRange other = kRange;
  other.topic = "refunds";
  for (const ReplayRange& range : {kRange, next, other, next}) {
    tally.Add(range, {20, kDay, 1}, Answer(ClaimVerdict::kGranted));
  }
  EXPECT_EQ(tally.table().at({"payments", 1})[ReplayWord::kApplies], 2);
  EXPECT_EQ(tally.table().at({"payments", 1})[ReplayWord::kSuppressed], 1);
  EXPECT_EQ(tally.table().at({"refunds", 1})[ReplayWord::kApplies], 1);
}

TEST_F(ReplayTallyTest, WithoutATimeAnUnknownIdMayBeAsOldAsAny) {
  tally_.Add(kRange, {20, -1, 1}, Answer(ClaimVerdict::kGranted));
  EXPECT_EQ(Count(ReplayWord::kOutside), 1);
  ReplayTally forever(WindowCapabilities{.level = Level::kGuarded, .ages = false});
  forever.Add(kRange, {20, -1, 1}, Answer(ClaimVerdict::kGranted));
  EXPECT_EQ(forever.table().at({"payments", kNoReplayDay})[ReplayWord::kApplies], 1);
}

TEST_F(ReplayTallyTest, ADoubtCountsAtTheLevelOpaqueAlone) {
  const ClaimAnswer doubt{.answer = ClaimVerdict::kGranted, .uncertain = true};
  tally_.Add(kRange, {20, kDay, 1}, doubt);
  EXPECT_EQ(Count(ReplayWord::kApplies), 1);
  ReplayTally opaque(WindowCapabilities{.level = Level::kOpaque});
  opaque.Add(kRange, {20, kDay, 1}, doubt);
  EXPECT_EQ(opaque.table().at({"payments", 1})[ReplayWord::kUncertain], 1);
}

TEST_F(ReplayTallyTest, WhatAppliesFromBeforeTheHistoryIsCountedNextToIt) {
  tally_.Add(kRange, {9, kDay, 1}, Answer(ClaimVerdict::kGranted));
  tally_.Add(kRange, {8, kDay, 2}, Answer(ClaimVerdict::kDuplicate));
  tally_.Add(kRange, {10, kDay, 3}, Answer(ClaimVerdict::kGranted));
  EXPECT_EQ(Count(ReplayWord::kApplies), 2);
  EXPECT_EQ(Sum().before_history, 1);
}

}  // namespace
}  // namespace oncemq::testing
