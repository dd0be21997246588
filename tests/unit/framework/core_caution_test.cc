// SPDX-License-Identifier: Apache-2.0
// Rule 12 in the core: after unclean ends a suspect runs with nothing else in the process, and an
// acknowledged commit says so before.
#include <gmock/gmock.h>

#include "core_harness.h"

namespace oncemq {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CoreCaution : public CoreHarness {
 protected:
  static CoreOptions Cautious() {
    CoreOptions options = Small();
    options.refusals = {.parks = true, .deaths = 3};
    options.batch = 4;
    return options;
  }
  CoreCaution() : CoreHarness(Cautious()) {}

  // A partition after as many unclean ends; its last owner stated the bound.
  void GiveAfter(uint32_t ends, PartitionId p, int64_t bound, DeathNotes notes = {}) {
    CommitMetadata metadata;
    static_cast<DeathNotes&>(metadata) = std::move(notes);
    metadata.unclean_ends = ends > 0 ? ends - 1 : 0;
    metadata.cautious_to = ends > 1 ? 1 : 0;
    metadata.owner_epoch = 1'000;
    metadata.clean = ends == 0;
    if (ends > 0) {
      metadata.reserved = bound;
    }
    Give(p, 0, metadata);
  }
  void GiveCautious(PartitionId p, int64_t bound) { GiveAfter(2, p, bound); }
  // Acknowledges one commit of the partition, and returns the message that it names.
  std::optional<int64_t> Named(PartitionId p) {
    const auto commits = Acknowledge();
    EXPECT_EQ(commits.size(), 1u);
    if (commits.size() != 1 || commits[0].partition != p) {
      ADD_FAILURE() << "another commit";
      return std::nullopt;
    }
    return Decode(commits[0]).alone;
  }
  // Tries the message at the head of partition 0: nothing runs before the commit.
  BatchItem Try(int64_t offset) {
    EXPECT_THAT(Take(), IsEmpty());
    EXPECT_EQ(Named(0), offset);
    const auto items = Take();
    EXPECT_THAT(Offsets(items), ElementsAre(offset));
    return items.empty() ? BatchItem() : items[0];
  }
  void Return(const BatchItem& item, DeliveryFate fate = DeliveryFate::kApplied,
              int64_t wait_micros = 0, Stage stage = Stage::kFresh) {
    Settlement settlement;
    settlement.slot = item.slot;
    settlement.ticket = item.ticket;
    settlement.fate = fate;
    settlement.handled = true;
    settlement.redriven = item.redriven;
    settlement.stage = stage;
    settlement.wait = microseconds(wait_micros);
    Settle(settlement);
  }
};

TEST_F(CoreCaution, ADueMessageDoesNotHoldATrialUp) {
  GiveCautious(0, 50);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  Return(Try(0), DeliveryFate::kRetry, 1'000);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(Named(0), std::nullopt);
  EXPECT_THAT(Take(), IsEmpty());
  After(1'000);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(Named(0), 1);
  EXPECT_THAT(Offsets(Take()), ElementsAre(1));
}

TEST_F(CoreCaution, OneUncleanEndStatesANearBoundAndHoldsNothingBack) {
  GiveAfter(1, 0, 50);
  for (int64_t offset = 0; offset < 4; offset++) {
    Admit(0, offset, std::to_string(offset));
  }
  const auto items = Take();
  EXPECT_THAT(Offsets(items), ElementsAre(0, 1, 2, 3));
  Settle(items[1], DeliveryFate::kApplied);
  After(1'000);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  const CommitMetadata stuck = Decode(commits[0]);
  EXPECT_EQ(stuck.unclean_ends, 1u);
  EXPECT_EQ(stuck.reserved, 4 + 64);
  Settle(items[0], DeliveryFate::kApplied);
  After(1'000);
  const auto moved = Acknowledge();
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(Decode(moved[0]).unclean_ends, 0u);
  EXPECT_FALSE(Decode(moved[0]).reserved);
}

TEST_F(CoreCaution, NoHandlerIsCalledBeyondTheBoundAfterAnUncleanEnd) {
  GiveAfter(1, 0, 50);
  Admit(0, 200, "a");  // beyond a hole
  EXPECT_THAT(Take(), IsEmpty());
  Acknowledge();
  EXPECT_THAT(Offsets(Take()), ElementsAre(200));
}

// It left no room for what is said of deaths. Better none of that than a partition that stops.
TEST_F(CoreCaution, TheFullMapOfAnEarlierVersionGoesFirst) {
  CommitMetadata metadata;
  metadata.owner_epoch = 1'000;
  FrontierSnapshot snapshot;
  for (int64_t offset = 1; MapFits(snapshot, metadata); offset += 3) {
    metadata.map = snapshot.map;
    snapshot.map.Append(offset, offset + 1);
  }
  Give(0, 0, metadata);
  Admit(0, 0, "a");
  const auto items = Take();
  EXPECT_THAT(Offsets(items), ElementsAre(0));
  SettleAll(items);
  After(1'000);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_EQ(Decode(commits[0]).map, metadata.map) << "its outcomes are counted";
}

TEST_F(CoreCaution, AFullMapLeavesRoomForADeath) {
  CommitMetadata metadata;
  static_cast<DeathNotes&>(metadata) = {.unclean_ends = 1, .cautious_to = 1};
  metadata.owner_epoch = 1'000;
  metadata.reserved = 1;
  CommitMetadata before;  // of the first owner
  FrontierSnapshot snapshot;
  for (int64_t offset = 1;
       snapshot.map.Encode(0).size() + snapshot.not_done.Encode(0).size() <= MapBudget(before);
       offset += 3) {
    metadata.map = snapshot.map;
    snapshot.map.Append(offset, offset + 1);
  }
  Give(0, 0, metadata);
  Admit(0, 0, "a");
  Try(0);
}

TEST_F(CoreCaution, AFullMapWithoutRoomForANameEndsTheTrial) {
  CommitMetadata metadata;
  static_cast<DeathNotes&>(metadata) = {.unclean_ends = 2, .cautious_to = 64};
  metadata.owner_epoch = 1'000;
  metadata.reserved = 64;
  FrontierSnapshot snapshot;
  for (int64_t offset = 1; MapFits(snapshot, metadata); offset += 3) {
    metadata.map = snapshot.map;
    snapshot.map.Append(offset, offset + 1);
  }
  Give(0, 0, metadata);
  EXPECT_EQ(core_.Status(0).cautious_to, 64);
  Admit(0, 0, "a");
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(Named(0), std::nullopt);
  EXPECT_EQ(core_.Status(0).cautious_to, -1);
  EXPECT_THAT(Offsets(Take()), ElementsAre(0));
}

TEST_F(CoreCaution, ASuspectIsNamedByAnAcknowledgedCommitBeforeItRunsAndIsAloneInTheProcess) {
  GiveCautious(0, 2);
  Give(1);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  Admit(1, 0, "c");
  const BatchItem item = Try(0);
  EXPECT_TRUE(item.alone);
  EXPECT_THAT(Take(), IsEmpty()) << "nothing else while it runs";
  Admit(1, 1, "d");
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(CoreCaution, ATrialWaitsForTheCallsThatRun) {
  GiveCautious(0, 1);
  Give(1);
  Admit(1, 0, "c");
  const auto running = Take();
  ASSERT_THAT(Offsets(running), ElementsAre(0));
  Admit(0, 0, "a");
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_THAT(Acknowledge(), IsEmpty()) << "a death now may be the other one's";
  SettleAll(running);
  Try(0);
}

TEST_F(CoreCaution, ACommitWithoutAnAnswerLetsNothingRun) {
  GiveCautious(0, 1);
  Admit(0, 0, "a");
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(Acknowledge(CommitReply::kUnknown).size(), 1u);
  EXPECT_THAT(Take(), IsEmpty());
  ASSERT_TRUE(core_.NextTimer());
  EXPECT_LE(*core_.NextTimer(), now_ + microseconds(500)) << "the pause after no answer";
  After(500);
  EXPECT_EQ(Named(0), 0);
  EXPECT_THAT(Offsets(Take()), ElementsAre(0));
}

// A long row of suspects must not hold up the process.
TEST_F(CoreCaution, TheNameIsClearedBeforeOthersRunAndOthersGoBetweenTwoTrials) {
  GiveCautious(0, 2);
  Give(1);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  Admit(1, 0, "d");
  Return(Try(0));
  EXPECT_THAT(Take(), IsEmpty()) << "the last commit still names it";
  EXPECT_EQ(Named(0), std::nullopt);
  const auto others = Take();
  ASSERT_THAT(others, ::testing::SizeIs(1));
  EXPECT_EQ(others[0].partition, 1u);
  SettleAll(others);
  Return(Try(1));
}

TEST_F(CoreCaution, OwedCompletionsGoOnDuringATrial) {
  GiveCautious(0, 1);
  Give(1);
  Admit(1, 0, "c", "id");
  const auto running = Take();
  Admit(0, 0, "a");
  EXPECT_THAT(Take(), IsEmpty());
  Return(running[0], DeliveryFate::kPending, 0, Stage::kApplied);
  const auto owed = Take();
  ASSERT_THAT(owed, ::testing::SizeIs(1));
  EXPECT_EQ(owed[0].stage, Stage::kApplied);
  Try(0);
}

TEST_F(CoreCaution, ASuspectWhoseCallReturnedRunsBesideOthers) {
  GiveCautious(0, 1);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  Return(Try(0), DeliveryFate::kRetry, 100);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(Named(0), std::nullopt);
  EXPECT_THAT(Offsets(Take()), ElementsAre(1));
  After(100);
  EXPECT_THAT(Offsets(Take()), ElementsAre(0)) << "without a commit, and next to the other";
}

TEST_F(CoreCaution, ASuspectThatWasNotCalledStaysOne) {
  GiveCautious(0, 1);
  Admit(0, 0, "a");
  Settle(Try(0), DeliveryFate::kWait, 100);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(Named(0), std::nullopt);
  After(100);
  Settle(Try(0), DeliveryFate::kApplied);
}

TEST_F(CoreCaution, ASuspectAfterAWaitingHeadHoldsUpNothing) {
  GiveCautious(0, 2);
  Give(1);
  Admit(0, 0, "a");
  Admit(0, 1, "a");
  Admit(1, 0, "c");
  Return(Try(0), DeliveryFate::kRetry, 10'000);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(Named(0), std::nullopt);
  const auto others = Take();
  EXPECT_THAT(others, ::testing::SizeIs(1));
  EXPECT_EQ(others[0].partition, 1u);
}

TEST_F(CoreCaution, ATrialEndsWithItsPartition) {
  GiveCautious(0, 1);
  Give(1);
  Admit(0, 0, "a");
  Admit(1, 0, "c");
  Try(0);
  EXPECT_THAT(Take(), IsEmpty());
  core_.Lost(0);
  EXPECT_THAT(Take(), ::testing::SizeIs(1)) << "it still runs, and its partition is another's";
}

TEST_F(CoreCaution, ATrialEndsAlsoWithAPartitionThatComesBackAtOnce) {
  GiveCautious(0, 1);
  Give(1);
  Admit(0, 0, "a");
  const BatchItem item = Try(0);
  core_.Lost(0);
  Give(0);
  Return(item);
  Admit(1, 0, "c");
  EXPECT_THAT(Take(), ::testing::SizeIs(1));
}

TEST_F(CoreCaution, ARevokedPartitionGivesItsTrialUp) {
  GiveCautious(0, 1);
  Give(1);
  Admit(0, 0, "a");
  Admit(1, 0, "c");
  const BatchItem item = Try(0);
  core_.Revoke(0, now_ + microseconds(5'000), now_);
  EXPECT_THAT(Take(), ::testing::SizeIs(1));
  Return(item);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_TRUE(Decode(commits[0]).clean);
  EXPECT_FALSE(Decode(commits[0]).alone);
  EXPECT_EQ(Decode(commits[0]).unclean_ends, 0u);
}

TEST_F(CoreCaution, AHaltedPartitionClearsTheNameBeforeOthersRun) {
  GiveCautious(0, 1);
  Give(1);
  Admit(0, 0, "a");
  Admit(1, 0, "c");
  const BatchItem item = Try(0);
  core_.Halt(0, "a policy");
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(Named(0), std::nullopt);
  EXPECT_THAT(Take(), ::testing::SizeIs(1));
  Return(item);
}

TEST_F(CoreCaution, AKillerOnRecordIsNoneAnyMore) {
  GiveAfter(1, 0, 50, {.killers = {{0, 3}}});
  core_.SetParked(0, {.offsets = {0}});
  Admit(0, 0, "a");
  const auto items = Take();
  ASSERT_THAT(Offsets(items), ElementsAre(0));
  EXPECT_EQ(items[0].stage, Stage::kNotDone);
  Settle(items[0], DeliveryFate::kParked);
  After(1'000);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_THAT(Decode(commits[0]).killers, IsEmpty());
}

TEST_F(CoreCaution, AMessageWithEnoughDeathsIsRefusedInPlaceOfACall) {
  GiveAfter(1, 0, 50, {.killers = {{0, 2}}, .alone = 0});
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  const auto items = Take();
  ASSERT_THAT(Offsets(items), ElementsAre(0));
  EXPECT_EQ(items[0].text, "killed its process 3 times");
  EXPECT_EQ(items[0].attempts.made, 3) << "calls of its handler";
  EXPECT_EQ(items[0].stage, Stage::kFresh) << "the window is asked first";
  Settle(items[0], DeliveryFate::kParked);
  EXPECT_THAT(Offsets(Take()), ElementsAre(1)) << "its neighbour runs as ever";
  After(1'000);
  const auto commits = Acknowledge();
  ASSERT_EQ(commits.size(), 1u);
  EXPECT_THAT(Decode(commits[0]).killers, IsEmpty());
}

TEST_F(CoreCaution, AKillerIsTriedAgainAlsoOnceTheFrontierHasMoved) {
  GiveAfter(1, 0, 50, {.alone = 0});
  Admit(0, 0, "a");
  Try(0);
}

class CoreCautionRedriven : public CoreCaution {
 protected:
  void Redrive(bool begun) {
    RedrivenArrival arrival;
    arrival.message = &message_;
    arrival.key_hash = ProcessHash("k");
    arrival.offset = 0;
    arrival.bytes = 10;
    arrival.begun = begun;
    core_.AdmitRedriven(0, {&arrival, 1});
  }

  int message_ = 0;
};

TEST_F(CoreCautionRedriven, TheyRunAloneInACautiousPartition) {
  GiveCautious(0, 1);
  Redrive(false);
  EXPECT_TRUE(Try(0).redriven);
}

// Live messages may have moved the frontier at each of its deaths.
TEST_F(CoreCautionRedriven, OneThatAnEarlierOwnerHadInHandRunsAloneAfterOneDeath) {
  GiveAfter(1, 0, 50);
  Redrive(true);
  Return(Try(0));
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(Named(0), std::nullopt);
}

TEST_F(CoreCautionRedriven, AfterACleanEndNoneRunsAlone) {
  GiveAfter(0, 0, 50);
  Redrive(true);
  EXPECT_THAT(Offsets(Take()), ElementsAre(0));
}

TEST_F(CoreCautionRedriven, ACommandAfterTheDeathIsNoSuspect) {
  GiveAfter(1, 0, 50);
  Redrive(false);
  EXPECT_THAT(Offsets(Take()), ElementsAre(0));
}

}  // namespace
}  // namespace oncemq
