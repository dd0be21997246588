// SPDX-License-Identifier: Apache-2.0
// Rule 11 in the core: messages that an earlier owner may have begun are told, no handler is called
// beyond the reserve of a commit, and each commit says which offsets the next owner has to suspect.
#include <algorithm>

#include "core_harness.h"

namespace oncemq {
namespace {

class CoreSuspects : public CoreHarness {
 protected:
  static CoreOptions Naming() {
    CoreOptions options = Small();
    options.in_flight = options.partition_credit = 512;
    options.span = 4'096;
    options.batch = options.lane_batch = 512;
    options.suspects = true;
    return options;
  }
  CoreSuspects() : CoreHarness(Naming()) {}

  // Assigned and confirmed; returns the metadata of the confirming commit.
  CommitMetadata Begin(AssignFacts facts) {
    core_.Assign(0, facts, now_);
    Actions();
    core_.OwnerEpochRaised(0, core_.Status(0).epoch, OwnerEpoch{++owner_epoch_}, now_);
    const auto commits = Acknowledge();
    EXPECT_EQ(commits.size(), 1u);
    return commits.empty() ? CommitMetadata{} : Decode(commits[0]);
  }
  static AssignFacts From(int64_t start, int64_t suspect_from = 0, int64_t suspect_to = 0) {
    AssignFacts facts;
    facts.start = start;
    if (suspect_from < suspect_to) {
      facts.suspects.Append(suspect_from, suspect_to);
    }
    return facts;
  }
  void AdmitAll(int64_t from, int64_t to) {
    for (int64_t offset = from; offset < to; offset++) {
      Admit(0, offset, "k" + std::to_string(offset), "id" + std::to_string(offset));
    }
  }
  // The settlement of a handler that fails: it may have had its effect.
  void Fail(const BatchItem& item, int64_t wait_micros) {
    Settlement settlement;
    settlement.slot = item.slot;
    settlement.ticket = item.ticket;
    settlement.fate = DeliveryFate::kRetry;
    settlement.handled = settlement.touched = true;
    settlement.wait = microseconds(wait_micros);
    Settle(settlement);
  }
  CommitMetadata GiveBack() {
    core_.Revoke(0, now_ + microseconds(5'000), now_);
    const auto commits = Acknowledge();
    EXPECT_EQ(commits.size(), 1u);
    EXPECT_EQ(Only<GiveBackAction>().size(), 1u);
    return commits.empty() ? CommitMetadata{} : Decode(commits[0]);
  }
};

TEST_F(CoreSuspects, WhatAnEarlierOwnerMayHaveBegunIsTold) {
  Begin(From(10, 11, 13));
  EXPECT_EQ(core_.Status(0).suspect_to, 13);
  AdmitAll(10, 14);
  const auto items = Take();
  ASSERT_EQ(items.size(), 4u);
  for (const BatchItem& item : items) {
    const bool suspect = item.at.offset == 11 || item.at.offset == 12;
    EXPECT_EQ(item.touched, suspect) << item.at.offset;
    EXPECT_EQ(item.attempts.made, suspect ? 1 : 0) << item.at.offset;
  }
  SettleAll(items);
  EXPECT_EQ(core_.Status(0).suspect_to, -1) << "all of it is settled";
}

TEST_F(CoreSuspects, CommitsCountUncertainMessagesOverAllOwners) {
  AssignFacts facts = From(10, 10, 12);
  facts.metadata.uncertain = 5;  // of owners that are gone
  EXPECT_EQ(Begin(facts).uncertain, 5);
  AdmitAll(10, 13);
  for (const BatchItem& item : Take()) {
    Settlement settlement;
    settlement.slot = item.slot;
    settlement.ticket = item.ticket;
    settlement.fate = DeliveryFate::kApplied;
    settlement.uncertain = item.touched;
    Settle(settlement);
  }
  EXPECT_EQ(GiveBack().uncertain, 7);
  EXPECT_EQ(core_.Status(0).uncertain, 7);
}

TEST_F(CoreSuspects, WhatTheWindowKnowsIsNotToldBesides) {
  AssignFacts facts = From(10, 10, 20);
  facts.reported_below = 12;
  Begin(facts);
  AdmitAll(10, 14);
  for (const BatchItem& item : Take()) {
    EXPECT_EQ(item.touched, item.at.offset < 12) << item.at.offset;
  }
}

TEST_F(CoreSuspects, AMessageWithoutAnIdIsToldAlsoWhereTheWindowKnowsTheOthers) {
  AssignFacts facts = From(10, 10, 20);
  facts.reported_below = 0;
  Begin(facts);
  Admit(0, 10, "a", "id");
  Admit(0, 11, "b");
  Admit(0, 20, "c");
  const auto items = Take();
  ASSERT_EQ(items.size(), 3u);
  for (const BatchItem& item : items) {
    EXPECT_EQ(item.touched, item.at.offset == 11) << item.at.offset;
  }
  Settle(items[0], DeliveryFate::kApplied);
  Settle(items[1], DeliveryFate::kWithdrawn);
  Settle(items[2], DeliveryFate::kApplied);
  const CommitMetadata last = GiveBack();
  EXPECT_TRUE(last.clean);
  EXPECT_NE(std::find(last.abandoned.begin(), last.abandoned.end(), 11), last.abandoned.end())
      << "the next owner is told too";
}

TEST_F(CoreSuspects, WithoutTheOptionNothingIsToldAndNothingIsStated) {
  CoreOptions options = Naming();
  options.suspects = false;
  Core core(options);
  core.Assign(0, From(10, 10, 20), now_);
  core.OwnerEpochRaised(0, 1, OwnerEpoch{1}, now_);
  std::vector<Action> actions;
  core.TakeActions(actions);
  const auto* commit = std::get_if<CommitAction>(&actions.back());
  ASSERT_NE(commit, nullptr);
  EXPECT_FALSE(Decode(*commit).reserved);
  core.CommitAnswered(0, commit->number, CommitReply::kAcknowledged, now_);
  EXPECT_EQ(core.Status(0).suspect_to, -1);
}

TEST_F(CoreSuspects, NoHandlerIsCalledBeyondWhatAnAcknowledgedCommitReserves) {
  const auto reserved = Begin(From(100)).reserved;
  ASSERT_TRUE(reserved);
  ASSERT_LT(*reserved, 400);
  AdmitAll(100, 400);
  const auto first = Take();
  EXPECT_EQ(static_cast<int64_t>(first.size()), *reserved - 100);
  const auto commits = Only<CommitAction>();
  ASSERT_EQ(commits.size(), 1u) << "before its interval is over";
  EXPECT_TRUE(Take().empty()) << "it is not acknowledged";
  const auto next = Decode(commits[0]).reserved;
  ASSERT_TRUE(next);
  EXPECT_GT(*next, *reserved);
  core_.CommitAnswered(0, commits[0].number, CommitReply::kAcknowledged, now_);
  EXPECT_EQ(static_cast<int64_t>(Take().size()), std::min<int64_t>(*next, 400) - *reserved);
}

TEST_F(CoreSuspects, AfterACommitWithoutAnAnswerTheNextOneRaisesTheBound) {
  Begin(From(0));
  AdmitAll(0, 300);
  Take();
  Acknowledge(CommitReply::kUnknown);
  EXPECT_TRUE(Take().empty());
  After(1'000);
  EXPECT_EQ(Acknowledge().size(), 1u);
  EXPECT_FALSE(Take().empty());
}

TEST_F(CoreSuspects, AMarkerThatIsOwedNeedsNoReserve) {
  Begin(From(0));
  Admit(0, 0, "a", "x");
  const auto items = Take();
  ASSERT_EQ(items.size(), 1u);
  Settlement owed;
  owed.slot = items[0].slot;
  owed.ticket = items[0].ticket;
  owed.fate = DeliveryFate::kPending;
  owed.stage = Stage::kApplied;
  owed.handled = true;
  owed.wait = microseconds(10);
  Settle(owed);
  core_.Lost(0);
  core_.Assign(0, From(0), now_);
  After(10);
  EXPECT_EQ(Offsets(Take()), (std::vector<int64_t>{0})) << "of the assignment before";
}

TEST_F(CoreSuspects, ACleanEndNamesWhatItsHandlersMayHaveDone) {
  Begin(From(0));
  AdmitAll(0, 6);
  const auto items = Take();
  ASSERT_EQ(items.size(), 6u);
  Fail(items[1], 1'000'000);
  Fail(items[4], 1'000'000);
  for (const size_t i : {0u, 2u, 3u, 5u}) {
    Settle(items[i], DeliveryFate::kApplied);
  }
  const CommitMetadata metadata = GiveBack();
  EXPECT_TRUE(metadata.clean);
  EXPECT_EQ(metadata.abandoned, (std::vector<int64_t>{1, 4}));
}

TEST_F(CoreSuspects, ACleanEndNamesWhatFailsWhileItDrains) {
  Begin(From(0));
  AdmitAll(0, 3);
  const auto items = Take();
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  Settle(items[0], DeliveryFate::kApplied);
  Settle(items[1], DeliveryFate::kWithdrawn);
  Fail(items[2], 1'000);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_TRUE(Decode(commits[0]).clean);
  EXPECT_EQ(Decode(commits[0]).abandoned, (std::vector<int64_t>{2}));
}

TEST_F(CoreSuspects, ACleanHandOverOfQueuedWorkNamesNothing) {
  Begin(From(0));
  AdmitAll(0, 200);
  SettleAll(Take());
  Acknowledge();
  const CommitMetadata metadata = GiveBack();
  EXPECT_TRUE(metadata.clean);
  EXPECT_TRUE(metadata.abandoned.empty());
}

// The copy comes first to the next owner, whose window does not know the id.
TEST_F(CoreSuspects, AnEarlierCopyOfWhatMayHaveBeenDoneIsNamedToo) {
  Begin(From(0));
  Admit(0, 0, "a", "other");
  Admit(0, 1, "a", "x");
  Admit(0, 2, "b", "x");
  auto items = Take();
  ASSERT_EQ(Offsets(items), (std::vector<int64_t>{0, 1}));
  Fail(items[0], 1'000'000);
  Settle(items[1], DeliveryFate::kWithdrawn);
  items = Take();
  ASSERT_EQ(Offsets(items), (std::vector<int64_t>{2}));
  Fail(items[0], 1'000'000);
  EXPECT_EQ(GiveBack().abandoned, (std::vector<int64_t>{0, 1, 2}));
}

TEST_F(CoreSuspects, WhatAnEarlierOwnerLeftInDoubtGoesOnUntilItIsSettled) {
  const CommitMetadata first = Begin(From(10, 10, 30));
  EXPECT_FALSE(first.clean);
  EXPECT_EQ(first.inherited, 30);
  EXPECT_GE(first.reserved.value_or(0), 30);
  AdmitAll(10, 20);
  SettleAll(Take());
  const CommitMetadata last = GiveBack();
  EXPECT_TRUE(last.clean);
  ASSERT_EQ(last.abandoned.size(), 10u);
  EXPECT_EQ(last.abandoned.front(), 20);
}

TEST_F(CoreSuspects, MoreThanAListHoldsIsNoCleanEndAndItsBoundIsTight) {
  Begin(From(0, 0, 1'000));
  AdmitAll(0, 100);
  SettleAll(Take());
  Acknowledge();
  const CommitMetadata last = GiveBack();
  EXPECT_FALSE(last.clean);
  EXPECT_TRUE(last.abandoned.empty());
  EXPECT_EQ(last.reserved, 1'000);
  EXPECT_EQ(last.inherited, 1'000);
}

TEST_F(CoreSuspects, ASettledInheritanceIsNotHandedOn) {
  Begin(From(10, 10, 12));
  AdmitAll(10, 12);
  SettleAll(Take());
  After(1'000);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(Decode(commits[0]).inherited, 0);
}

TEST_F(CoreSuspects, OnlyACommitOfAConfirmedOwnershipOfOursIsOurOwn) {
  const CommitMetadata ours = Begin(From(0));
  EXPECT_TRUE(core_.Made(0, ours));
  EXPECT_FALSE(core_.Made(1, ours));
  CommitMetadata other = ours;
  other.owner_epoch++;
  EXPECT_FALSE(core_.Made(0, other));
  core_.Lost(0);
  core_.Assign(0, From(0), now_);
  core_.OwnerEpochRaised(0, core_.Status(0).epoch, OwnerEpoch{99}, now_);
  other.owner_epoch = 99;
  EXPECT_FALSE(core_.Made(0, other)) << "not confirmed";
  EXPECT_TRUE(core_.Made(0, ours));
}

}  // namespace
}  // namespace oncemq
