// SPDX-License-Identifier: Apache-2.0
#include "core_harness.h"

namespace oncemq {
namespace {

using CoreAssignment = CoreHarness;

TEST_F(CoreAssignment, NothingIsAdmittedBeforeTheRaisedOwnershipIsConfirmed) {
  core_.Assign(0, {}, now_);
  EXPECT_EQ(Only<RaiseOwnerEpochAction>().size(), 1u);
  EXPECT_EQ(core_.Credit(0), 0u);
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{7}, now_);
  EXPECT_EQ(core_.Credit(0), 0u);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(Decode(commits[0]).owner_epoch, 7u);
  EXPECT_EQ(core_.Credit(0), 32u);
}

TEST_F(CoreAssignment, AnOwnershipIsAskedForAboveThatOfTheLastCommitAndOfThisProcess) {
  AssignFacts facts;
  facts.metadata.owner_epoch = 41;
  core_.Assign(0, facts, now_);
  auto raises = Only<RaiseOwnerEpochAction>();
  ASSERT_EQ(raises.size(), 1u);
  EXPECT_EQ(raises[0].floor, 42u);
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{100}, now_);
  core_.Lost(0);
  core_.Assign(0, facts, now_);
  raises = Only<RaiseOwnerEpochAction>();
  ASSERT_EQ(raises.size(), 1u);
  EXPECT_EQ(raises[0].floor, 101u);
}

TEST_F(CoreAssignment, ARefusedConfirmationStopsThePartition) {
  core_.Assign(0, {}, now_);
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{7}, now_);
  Acknowledge(CommitReply::kRefused);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kStopped);
  EXPECT_EQ(core_.Credit(0), 0u);
  After(1'000'000);
  EXPECT_TRUE(Actions().empty());
}

TEST_F(CoreAssignment, AnUnansweredConfirmationIsSentAgain) {
  core_.Assign(0, {}, now_);
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{7}, now_);
  Acknowledge(CommitReply::kUnknown);
  EXPECT_EQ(core_.Credit(0), 0u);
  After(500);
  EXPECT_EQ(Acknowledge().size(), 1u);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kActive);
}

TEST_F(CoreAssignment, AStoreThatDoesNotAnswerIsAskedAgain) {
  core_.Assign(0, {}, now_);
  Actions();
  core_.OwnerEpochRaised(0, 1, Error{Code::kUnavailable, Effect::kNone, "down"}, now_);
  After(500);
  EXPECT_EQ(Only<RaiseOwnerEpochAction>().size(), 1u);
}

TEST_F(CoreAssignment, AnAnswerForAnEarlierAssignmentChangesNothing) {
  core_.Assign(0, {}, now_);
  core_.Lost(0);
  core_.Assign(0, {}, now_);
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{7}, now_);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kRaising);
}

TEST_F(CoreAssignment, LosingTheOwnershipInTheStoreStartsOverWithoutLosingMessages) {
  Give(0);
  Admit(0, 0, "a");
  const auto items = Take();
  Settle(items[0], DeliveryFate::kOwnershipLost);
  EXPECT_EQ(Only<RaiseOwnerEpochAction>().size(), 1u);
  EXPECT_TRUE(Take().empty());
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{100}, now_);
  EXPECT_TRUE(Take().empty()) << "not confirmed yet";
  Acknowledge();
  const auto again = Take();
  ASSERT_EQ(Offsets(again), (std::vector<int64_t>{0}));
  EXPECT_EQ(again[0].owner_epoch, 100u);
}

TEST_F(CoreAssignment, ALateWordAboutAnEarlierOwnershipDoesNotRaiseAgain) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  const auto items = Take();
  Settle(items[0], DeliveryFate::kOwnershipLost);
  Actions();
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{100}, now_);
  Acknowledge();
  Settle(items[1], DeliveryFate::kOwnershipLost);
  EXPECT_TRUE(Only<RaiseOwnerEpochAction>().empty());
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kActive);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{0, 1}));
}

TEST_F(CoreAssignment, AnAcknowledgementFromBeforeTheRaiseConfirmsNothing) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  const auto items = Take();
  Settle(items[0], DeliveryFate::kApplied);
  After(1'000);
  const auto old = Only<CommitAction>();
  ASSERT_EQ(old.size(), 1u);
  Settle(items[1], DeliveryFate::kOwnershipLost);
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{100}, now_);
  core_.CommitAnswered(0, old[0].number, CommitReply::kAcknowledged, now_);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kConfirming);
  After(0);
  EXPECT_EQ(Acknowledge().size(), 1u);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kActive);
}

// Nothing is claimed before the confirmation, so that only its announcement finds out (rule 9).
TEST_F(CoreAssignment, ACommitUnderARefusedOwnershipStartsOverAfterAPause) {
  core_.Assign(0, {}, now_);
  Actions();
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{7}, now_);
  Acknowledge(CommitReply::kFenced);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kRaising);
  After(100);
  EXPECT_TRUE(Actions().empty());
  After(400);
  EXPECT_EQ(Only<RaiseOwnerEpochAction>().size(), 1u);
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{100}, now_);
  EXPECT_EQ(Decode(Acknowledge().at(0)).owner_epoch, 100u);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kActive);
  After(50'000);
  Acknowledge(CommitReply::kFenced);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kRaising) << "while nothing runs";
}

TEST_F(CoreAssignment, ALateRefusalOfAnEarlierOwnershipsCommitDoesNotRaiseAgain) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  const auto items = Take();
  Settle(items[0], DeliveryFate::kApplied);
  After(1'000);
  const auto old = Only<CommitAction>();
  ASSERT_EQ(old.size(), 1u);
  Settle(items[1], DeliveryFate::kOwnershipLost);
  Actions();
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{100}, now_);
  core_.CommitAnswered(0, old[0].number, CommitReply::kFenced, now_);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kConfirming);
  After(500);
  EXPECT_EQ(Decode(Acknowledge().at(0)).owner_epoch, 100u);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kActive);
}

TEST_F(CoreAssignment, WhileTheOwnershipIsRaisedAnUnsentCommitAsksForNoneMore) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  const auto items = Take();
  Settle(items[0], DeliveryFate::kApplied);
  After(1'000);
  const auto old = Only<CommitAction>();
  ASSERT_EQ(old.size(), 1u);
  Settle(items[1], DeliveryFate::kOwnershipLost);
  EXPECT_EQ(Only<RaiseOwnerEpochAction>().size(), 1u);
  core_.CommitAnswered(0, old[0].number, CommitReply::kNotSent, now_);
  After(1'000);
  EXPECT_TRUE(Actions().empty());
}

TEST_F(CoreAssignment, NoNewEffectStartsInTheLastPartOfTheSession) {
  Give(0);
  Admit(0, 0, "a");
  now_ += microseconds(90'000);
  EXPECT_TRUE(Take().empty());
  After(0);
  Acknowledge();
  EXPECT_EQ(Take().size(), 1u) << "the heartbeat commit was acknowledged";
}

TEST_F(CoreAssignment, AnIdlePartitionCommitsEveryThirdOfItsSession) {
  Give(0);
  After(33'000);
  EXPECT_TRUE(Acknowledge().empty());
  After(400);
  EXPECT_EQ(Acknowledge().size(), 1u);
}

TEST_F(CoreAssignment, RevocationHandsQueuedMessagesBackAndWaitsForRunningOnes) {
  Give(0);
  Admit(0, 0, "a");
  const auto running = Take();
  Admit(0, 1, "a");
  Admit(0, 2, "b");
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  EXPECT_EQ(core_.Counts().handed_back, 2);
  EXPECT_TRUE(Take().empty());
  EXPECT_TRUE(Actions().empty());
  SettleAll(running);
  const auto commits = Only<CommitAction>();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].offset, 1);
  EXPECT_TRUE(Decode(commits[0]).clean);
  EXPECT_TRUE(Decode(commits[0]).abandoned.empty());
  EXPECT_TRUE(Only<GiveBackAction>().empty()) << "the commit is still under way";
  core_.CommitAnswered(0, commits[0].number, CommitReply::kAcknowledged, now_);
  const auto given = Only<GiveBackAction>();
  ASSERT_EQ(given.size(), 1u);
  EXPECT_FALSE(given[0].leave_group);
}

TEST_F(CoreAssignment, AtTheDeadlineTheLastCommitNamesWhatStillRuns) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  const auto running = Take();
  Settle(running[0], DeliveryFate::kApplied);
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  After(5'000);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(Decode(commits[0]).abandoned, (std::vector<int64_t>{running[1].at.offset}));
  EXPECT_EQ(Only<GiveBackAction>().size(), 1u);
  Settle(running[1], DeliveryFate::kApplied);
  EXPECT_EQ(core_.Counts().stale, 1);
  EXPECT_EQ(core_.Counts().applied, 2);
}

TEST_F(CoreAssignment, ARevocationWhileTheOwnershipIsRaisedAnewDrainsAsEver) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  Admit(0, 2, "c");
  const auto items = Take();
  ASSERT_EQ(items.size(), 3u);
  Settle(items[0], DeliveryFate::kApplied);
  Settle(items[1], DeliveryFate::kOwnershipLost);
  EXPECT_EQ(core_.Status(0).phase, PartitionPhase::kRaising);
  Actions();
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  EXPECT_TRUE(Actions().empty()) << "a handler still runs";
  After(5'000);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].offset, 1);
  EXPECT_EQ(Decode(commits[0]).abandoned, (std::vector<int64_t>{2}));
  EXPECT_EQ(Only<GiveBackAction>().size(), 1u);
}

TEST_F(CoreAssignment, WhatIsFinishedWhileTheOwnershipIsRaisedAnewIsCommittedAtTheEnd) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  const auto items = Take();
  Settle(items[1], DeliveryFate::kOwnershipLost);
  Settle(items[0], DeliveryFate::kApplied);
  Actions();
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  const auto commits = Only<CommitAction>();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(commits[0].offset, 1);
}

TEST_F(CoreAssignment, AnOwnershipThatIsRaisedInADrainIsThatOfTheLastCommit) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  const auto items = Take();
  Settle(items[1], DeliveryFate::kOwnershipLost);
  Settle(items[0], DeliveryFate::kApplied);
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  const auto commits = Only<CommitAction>();
  ASSERT_EQ(commits.size(), 1u);
  core_.OwnerEpochRaised(0, 1, OwnerEpoch{100}, now_);
  core_.CommitAnswered(0, commits[0].number, CommitReply::kFenced, now_);
  After(500);
  const auto again = Acknowledge();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(Decode(again[0]).owner_epoch, 100u);
  EXPECT_EQ(again[0].offset, 1);
  EXPECT_EQ(Only<GiveBackAction>().size(), 1u);
}

TEST_F(CoreAssignment, ADrainUnderARefusedOwnershipGivesBackAtOnce) {
  Give(0);
  Admit(0, 0, "a");
  SettleAll(Take());
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  EXPECT_EQ(Acknowledge(CommitReply::kFenced).size(), 1u);
  const auto back = Only<GiveBackAction>();
  ASSERT_EQ(back.size(), 1u);
  EXPECT_FALSE(back[0].leave_group) << "it was not sent";
}

TEST_F(CoreAssignment, ARevocationBeforeAnythingWasAdmittedGivesBackAtOnce) {
  core_.Assign(0, {}, now_);
  Actions();
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  const auto actions = Actions();
  ASSERT_EQ(actions.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<GiveBackAction>(actions[0]));
}

// A group that rebalances refuses every commit at once: asking again at once would be a hot loop.

TEST_F(CoreAssignment, ALostPartitionCommitsNothing) {
  Give(0);
  Admit(0, 0, "a");
  const auto running = Take();
  core_.Lost(0);
  SettleAll(running);
  After(1'000'000);
  EXPECT_TRUE(Actions().empty());
}

TEST_F(CoreAssignment, AStaleSettlementMovesNeitherFrontierNorCommit) {
  Give(0);
  Admit(0, 0, "a");
  const auto running = Take();
  core_.Lost(0);
  Give(0);
  Settle(running[0], DeliveryFate::kApplied);
  EXPECT_EQ(core_.Status(0).frontier, 0);
  EXPECT_EQ(core_.Counts().stale, 1);
}

TEST_F(CoreAssignment, AKeyThatStillRunsFromBeforeIsWaitedFor) {
  Give(0);
  Admit(0, 0, "a");
  const auto running = Take();
  core_.Lost(0);
  Give(0);
  Admit(0, 0, "a");
  EXPECT_TRUE(Take().empty()) << "the partition left and returned, the old handler runs on";
  Settle(running[0], DeliveryFate::kApplied);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{0}));
}

TEST_F(CoreAssignment, TheMapOfTheLastCommitIsCarried) {
  CommitMetadata metadata;
  metadata.map.Append(1, 3);
  metadata.totals.applied = 2;
  Give(0, 0, metadata);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  Admit(0, 2, "c");
  const auto items = Take();
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].stage, Stage::kFresh);
  EXPECT_EQ(items[1].stage, Stage::kCarried);
  Settle(items[0], DeliveryFate::kApplied);
  Settle(items[1], DeliveryFate::kRestored);
  Settle(items[2], DeliveryFate::kRestored);
  After(1'000);
  const auto commits = Acknowledge();
  EXPECT_EQ(commits[0].offset, 3);
  EXPECT_EQ(Decode(commits[0]).totals, (Totals{.applied = 3}));
  EXPECT_EQ(core_.Counts().repaired, 2);
}

TEST_F(CoreAssignment, WhatTheLastCommitCallsNotDoneHoldsNoIdAndIsCommittedOn) {
  CommitMetadata metadata;
  metadata.map.Append(1, 3);
  metadata.not_done.Append(1, 2);
  metadata.totals = {.applied = 1, .rejected = 1};
  Give(0, 0, metadata);
  Admit(0, 0, "a", "x");
  Admit(0, 1, "b", "x");
  Admit(0, 2, "c", "y");
  const auto items = Take();
  ASSERT_EQ(items.size(), 3u) << "the refused one does not wait for the id that runs";
  EXPECT_EQ(items[1].stage, Stage::kNotDone);
  EXPECT_EQ(items[2].stage, Stage::kCarried);
  Settlement refused;
  refused.slot = items[1].slot;
  refused.ticket = items[1].ticket;
  refused.fate = DeliveryFate::kRejected;
  refused.attached = true;
  Settle(refused);
  Settle(items[2], DeliveryFate::kRestored);
  After(1'000);
  const auto commits = Acknowledge();
  EXPECT_EQ(commits[0].offset, 0);
  EXPECT_EQ(Decode(commits[0]).not_done, metadata.not_done);
  EXPECT_EQ(Decode(commits[0]).totals, metadata.totals) << "counted already";
}

// The count shows the next owner with a park topic that something is missing there.
TEST_F(CoreAssignment, ACommitCarriesWhatIsOnRecordInAParkTopicAndDoesNotAddToIt) {
  CommitMetadata metadata;
  metadata.totals.parked = 1;
  metadata.optional.on_record = {.from = 0, .refused = 1};
  Give(0, 1, metadata);
  Admit(0, 1, "a");
  Settle(Take()[0], DeliveryFate::kRejected);
  After(1'000);
  const CommitMetadata written = Decode(Acknowledge()[0]);
  EXPECT_EQ(written.optional.on_record, metadata.optional.on_record);
  EXPECT_EQ(written.RecordedFrom(), std::nullopt);
}

TEST_F(CoreAssignment, AnOwnRedeliveryIsASuppressedDeliveryOfAnAppliedOffset) {
  Give(0);
  Admit(0, 0, "a", "x");
  Settlement settlement;
  const auto items = Take();
  settlement.slot = items[0].slot;
  settlement.ticket = items[0].ticket;
  settlement.fate = DeliveryFate::kSuppressed;
  settlement.same_delivery = true;
  Settle(settlement);
  After(1'000);
  EXPECT_EQ(Decode(Acknowledge()[0]).totals, (Totals{.applied = 1}));
  EXPECT_EQ(core_.Counts().suppressed, 1);
  EXPECT_EQ(core_.Counts().own_redelivery, 1);
}

TEST_F(CoreAssignment, TheSessionIsCountedFromTheSendingOfItsCommit) {
  Give(0);
  Admit(0, 0, "a");
  SettleAll(Take());
  After(1'000);
  const BootTime sent = now_;
  now_ += microseconds(20'000);
  Acknowledge();
  EXPECT_EQ(core_.SafeUntil(0), sent + microseconds(100'000 - 10'000));
}

}  // namespace
}  // namespace oncemq
