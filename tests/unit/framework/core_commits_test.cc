// SPDX-License-Identifier: Apache-2.0
#include "core_harness.h"

namespace oncemq {
namespace {

using CoreCommits = CoreHarness;

// As the last commit of an owner that was given much to say: `ranges` finished above the offset,
// and a full list of what was skipped.
CommitMetadata Crowded(int64_t ranges) {
  CommitMetadata metadata;
  for (int64_t i = 0; i < static_cast<int64_t>(kMaxSkipped); i++) {
    metadata.skipped.Append(1'000'000'000 + 2 * i, 1'000'000'001 + 2 * i);
  }
  for (int64_t i = 0; i < ranges; i++) {
    metadata.map.Append(2'000'000'001 + 2 * i, 2'000'000'002 + 2 * i);
  }
  return metadata;
}

TEST_F(CoreCommits, WhereTheMapLeavesNoRoomTheListOfTheSkippedIsClosedUp) {
  core_.Assign(0, {.start = 2'000'000'000, .metadata = Crowded(1'250)}, now_);
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{7}, now_);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  const CommitMetadata metadata = Decode(commits[0]);
  EXPECT_EQ(metadata.map.ranges().size(), 1'250u);
  ASSERT_EQ(metadata.skipped.ranges().size(), 1u);
  EXPECT_TRUE(metadata.skipped.Contains(1'000'000'000));
  EXPECT_TRUE(metadata.skipped.Contains(1'000'000'062));
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kActive);
}

TEST_F(CoreCommits, WhereTheMapLeavesNoRoomAtAllThePartitionStopsAndSaysWhy) {
  core_.Assign(0, {.start = 2'000'000'000, .metadata = Crowded(1'500)}, now_);
  Actions();
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{7}, now_);
  const auto stops = Only<StopAction>();
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_NE(stops[0].why.find("no room"), std::string::npos);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kStopped);
}

// Rule 29: where no marker goes along, the next owner knows of what is finished by the map alone.
class CoreFullMap : public CoreHarness, public ::testing::WithParamInterface<bool> {
 protected:
  static CoreOptions Wide() {
    CoreOptions options = Small();
    options.in_flight = options.partition_credit = options.span = 8'192;
    options.batch = options.lane_batch = 8'192;
    options.relies_on_map = GetParam();
    return options;
  }
  CoreFullMap() : CoreHarness(Wide()) {}
};

TEST_P(CoreFullMap, NothingIsAdmittedUntilTheFrontierMovesWhereNoMarkerGoesAlong) {
  constexpr int64_t kPairs = 3'000;
  Give(0);
  for (int64_t i = 0; i < kPairs; i++) {
    Admit(0, 2 * i, "stuck");
    Admit(0, 2 * i + 1, "quick" + std::to_string(i));
  }
  std::vector<BatchItem> stuck;
  for (const BatchItem& item : Take()) {
    item.at.offset % 2 == 0 ? stuck.push_back(item) : Settle(item, DeliveryFate::kApplied);
  }
  After(1'000);
  ASSERT_EQ(Acknowledge().size(), 1u);
  EXPECT_EQ(core_.Status(0).map_full, GetParam());
  EXPECT_EQ(core_.Credit(0) == 0, GetParam()) << "what is finished now is in no commit";
  SettleAll(stuck);
  After(1'000);
  ASSERT_EQ(Acknowledge().size(), 1u);
  EXPECT_FALSE(core_.Status(0).map_full);
  EXPECT_GT(core_.Credit(0), 0u);
}

INSTANTIATE_TEST_SUITE_P(Markers, CoreFullMap, ::testing::Bool(), [](const auto& alone) {
  return std::string(alone.param ? "StayBehind" : "GoAlong");
});

TEST_F(CoreCommits, ACommitThatIsNeverStoredStopsThePartitionAndSaysWhy) {
  for (const CommitReply reply :
       {CommitReply::kTooLarge, CommitReply::kNotAllowed, CommitReply::kUnknownPartition}) {
    const auto p = static_cast<PartitionId>(reply);
    Give(p, 7);
    Admit(p, 7, "a");
    After(50'000);
    Acknowledge(reply);
    EXPECT_EQ(core_.Status(p).phase, PartitionPhase::kStopped);
    const auto stops = Only<StopAction>();
    ASSERT_EQ(stops.size(), 1u);
    EXPECT_EQ(stops[0].offset, 7);
    EXPECT_FALSE(stops[0].why.empty());
  }
}

TEST_F(CoreCommits, ALastCommitThatIsNeverStoredIsSaidToo) {
  Give(0);
  Admit(0, 0, "a");
  SettleAll(Take());
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  const auto commits = Only<CommitAction>();
  ASSERT_EQ(commits.size(), 1u);
  core_.CommitAnswered(0, commits[0].number, CommitReply::kNotAllowed, now_);
  const auto actions = Actions();
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<StopAction>(actions[0]));
  EXPECT_TRUE(std::holds_alternative<GiveBackAction>(actions[1]));
}

TEST_F(CoreCommits, ARefusedCommitIsTheGroupsToExplain) {
  Give(0);
  After(50'000);
  Acknowledge(CommitReply::kRefused);
  EXPECT_TRUE(Only<StopAction>().empty());
}

TEST_F(CoreCommits, APartitionWhoseCommitsAreRefusedHoldsNoCredit) {
  Give(0);
  Admit(0, 0, "a");
  const auto running = Take();
  Admit(0, 1, "a");
  Admit(0, 2, "b");
  After(50'000);
  Acknowledge(CommitReply::kRefused);
  EXPECT_EQ(core_.Counts().handed_back, 2);
  Settle(running[0], DeliveryFate::kRetry, 10);
  EXPECT_EQ(core_.load().unfinished, 0u) << "what ran is not run again here";
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  EXPECT_EQ(Only<GiveBackAction>().size(), 1u);
}

TEST_F(CoreCommits, OneCommitAtATimePerPartition) {
  Give(0);
  Admit(0, 0, "a");
  SettleAll(Take());
  After(1'000);
  EXPECT_EQ(Only<CommitAction>().size(), 1u);
  Admit(0, 1, "a");
  SettleAll(Take());
  After(50'000);
  EXPECT_TRUE(Only<CommitAction>().empty());
}

TEST_F(CoreCommits, ACommitWithoutAnswerAtTheDeadlineMeansLeavingTheGroup) {
  Give(0);
  Admit(0, 0, "a");
  SettleAll(Take());
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  ASSERT_EQ(Only<CommitAction>().size(), 1u);
  After(5'000);
  EXPECT_TRUE(Only<GiveBackAction>().empty());
  After(10'000);
  const auto given = Only<GiveBackAction>();
  ASSERT_EQ(given.size(), 1u);
  EXPECT_TRUE(given[0].leave_group);
}

TEST_F(CoreCommits, APartitionThatIsGivenBackCommitsNothing) {
  Give(0);
  Admit(0, 0, "a");
  SettleAll(Take());
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  const auto commits = Only<CommitAction>();
  ASSERT_EQ(commits.size(), 1u);
  core_.CommitAnswered(0, commits[0].number, CommitReply::kAcknowledged, now_);
  const auto actions = Actions();
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<GiveBackAction>(actions[0]));
  After(1'000'000);
  EXPECT_TRUE(Actions().empty());
}

TEST_F(CoreCommits, ADrainingPartitionsCommitIsTriedAgainAfterAPauseOnly) {
  Give(0);
  Admit(0, 0, "a");
  SettleAll(Take());
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  for (int tries = 0; tries < 9; tries++) {
    ASSERT_EQ(Acknowledge(CommitReply::kUnknown).size(), 1u);
    EXPECT_EQ(core_.NextTimer(), now_ + microseconds(500));
    After(499);
    EXPECT_TRUE(Actions().empty());
    After(1);
  }
  EXPECT_EQ(Acknowledge().size(), 1u);
  EXPECT_EQ(Only<GiveBackAction>().size(), 1u);
}

TEST_F(CoreCommits, ACommitThatWasNotAnsweredIsTriedAgainAfterAPauseOnly) {
  Give(0);
  Admit(0, 0, "a");
  SettleAll(Take());
  After(1'000);
  for (int tries = 0; tries < 9; tries++) {
    ASSERT_EQ(Acknowledge(CommitReply::kUnknown).size(), 1u);
    EXPECT_GE(core_.NextTimer(), now_ + microseconds(500));
    After(499);
    EXPECT_TRUE(Actions().empty());
    After(501);
  }
}

TEST_F(CoreCommits, AHoleAtTheEndIsCommittedOnceAllBeforeItIsFinished) {
  Give(0);
  Admit(0, 0, "a");
  core_.ReadTo(0, 3);
  const auto running = Take();
  After(1'000);
  for (const CommitAction& commit : Acknowledge()) {
    EXPECT_EQ(commit.offset, 0) << "its message runs";
  }
  SettleAll(running);
  After(1'000);
  auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].offset, 3);
  EXPECT_EQ(Decode(commits[0]).totals, (Totals{.applied = 1}));
  core_.ReadTo(0, 5);
  core_.ReadTo(0, 6);
  After(1'000);
  commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u) << "of both, at the usual time";
  EXPECT_EQ(commits[0].offset, 6);
  for (int round = 0; round < 20; round++) {
    core_.ReadTo(0, 6);
    After(1'000);
  }
  EXPECT_TRUE(Acknowledge().empty()) << "an end that stays is no news";
  Admit(0, 6, "a");
  SettleAll(Take());
  After(1'000);
  commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].offset, 7);
}

TEST_F(CoreCommits, TheLastCommitPassesAHoleAtTheEnd) {
  Give(0);
  Admit(0, 0, "a");
  SettleAll(Take());
  core_.ReadTo(0, 3);
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  const auto commits = Only<CommitAction>();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].offset, 3);
}

TEST_F(CoreCommits, APartitionThatIsNotOursPassesNoHole) {
  Give(0, 5);
  core_.Lost(0);
  core_.ReadTo(0, 9);
  EXPECT_EQ(core_.Status(0).frontier, 5);
}

TEST_F(CoreCommits, AReplyToAnotherCommitAnswersNothing) {
  Give(0);
  Admit(0, 0, "a");
  SettleAll(Take());
  After(1'000);
  const auto commits = Only<CommitAction>();
  ASSERT_EQ(commits.size(), 1u);
  core_.CommitAnswered(0, commits[0].number + 1, CommitReply::kAcknowledged, now_);
  EXPECT_EQ(core_.Status(0).committed, 0) << "what the confirmation committed";
}

}  // namespace
}  // namespace oncemq
