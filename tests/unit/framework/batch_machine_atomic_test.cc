// SPDX-License-Identifier: Apache-2.0
// Level atomic: the run's effects and markers are there together, or none of them is.
#include "batch_machine_harness.h"

namespace oncemq {
namespace {

class BatchMachineAtomic : public BatchMachineTest {
 protected:
  BatchMachineAtomic() { Use({.level = Level::kAtomic, .reject = RejectPolicy::kJournal}); }

  // Its effect is gone: it goes the whole way again, and first lets go of its claim.
  void ExpectLost(size_t i) {
    const Settlement& settlement = machine_->settlements()[i];
    EXPECT_TRUE(settlement.fate == DeliveryFate::kWithdrawn ||
                settlement.fate == DeliveryFate::kPending)
        << i;
    EXPECT_EQ(settlement.stage, Stage::kReleasing) << i;
    EXPECT_FALSE(settlement.token.empty()) << i;
  }
  // The second message is refused for what the first one wrote, and that is lost.
  void ExpectNoRefusalOnLostEffects() {
    Add(1, "x");
    Add(1, "y");
    Start();
    Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
    Handle({{"y", Reject{"the balance does not suffice"}}});
    Complete(MarkerChange::kFenced);
    EXPECT_EQ(FateOf(1), DeliveryFate::kWithdrawn);
    ExpectLost(1);
  }
};

TEST_F(BatchMachineAtomic, ARunIsAppliedAsAWhole) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  Handle();
  ASSERT_EQ(machine_->completions().size(), 2u);
  Complete();
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
  EXPECT_EQ(FateOf(1), DeliveryFate::kApplied);
}

// At the other levels a handler that is through is never called again: here it must be.
TEST_F(BatchMachineAtomic, WithoutAnAnswerEverythingGoesTheWholeWayAgain) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  Handle();
  machine_->Completed(kLostReply);
  for (size_t i = 0; i < 2; i++) {
    EXPECT_EQ(FateOf(i), DeliveryFate::kPending);
    ExpectLost(i);
  }
}

TEST_F(BatchMachineAtomic, ARefusedBatchIsLostForAllAndAskedAgainAtOnce) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  Handle();
  Complete(MarkerChange::kFenced);
  for (size_t i = 0; i < 2; i++) {
    EXPECT_EQ(FateOf(i), DeliveryFate::kWithdrawn);
    EXPECT_EQ(machine_->settlements()[i].fenced, FencePlace::kComplete);
    ExpectLost(i);
  }
}

TEST_F(BatchMachineAtomic, ARefusalThatStoodOnLostEffectsIsNotPutOnRecord) {
  ExpectNoRefusalOnLostEffects();
}

TEST_F(BatchMachineAtomic, AStopThatStoodOnLostEffectsIsNone) {
  Use({.level = Level::kAtomic, .reject = RejectPolicy::kStop});
  ExpectNoRefusalOnLostEffects();
}

// A batch may be one that cannot be written for what another run has written meanwhile.
TEST_F(BatchMachineAtomic, WhatCannotBeWrittenGoesAgainAloneBeforeItStopsThePartition) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  Handle();
  machine_->Completed(Error{Code::kInvalid, Effect::kNone, "the sum is too large"});
  for (size_t i = 0; i < 2; i++) {
    ExpectLost(i);
    EXPECT_TRUE(machine_->settlements()[i].alone);
    EXPECT_TRUE(machine_->settlements()[i].text.empty());
  }
}

TEST_F(BatchMachineAtomic, ABatchThatCannotBeWrittenStopsThePartition) {
  Add(1, "x").alone = true;
  Start();
  Claim({ClaimVerdict::kGranted});
  Handle();
  machine_->Completed(Error{Code::kInvalid, Effect::kNone, "the sum is too large"});
  EXPECT_EQ(Release(), std::vector<std::string>{"x"});
  EXPECT_EQ(FateOf(0), DeliveryFate::kStop);
  EXPECT_EQ(machine_->settlements()[0].text, "the sum is too large");
}

// What is settled beside a slow handler has effects in the batch that it writes into.
TEST_F(BatchMachineAtomic, ASlowMessageWhoseRunWasTakenApartGoesAgainAndAlone) {
  Add(1, "x");
  Add(2, "y");
  Add(3, "z");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  machine_->Next(BootTime{});
  machine_->Handled(Done{});
  machine_->Next(BootTime{});
  std::vector<Settlement> others;
  machine_->SettleOthers(others);
  ASSERT_EQ(others.size(), 2u);
  EXPECT_EQ(others[0].stage, Stage::kReleasing) << "its effect was in the run's batch";
  EXPECT_EQ(others[1].stage, Stage::kReleasing) << "it holds a claim";
  machine_->Handled(Done{});
  EXPECT_EQ(machine_->Next(BootTime{}), nullptr);
  ASSERT_EQ(machine_->settlements().size(), 1u);
  EXPECT_EQ(FateOf(0), DeliveryFate::kWithdrawn);
  ExpectLost(0);
  EXPECT_TRUE(machine_->settlements()[0].alone);
}

TEST_F(BatchMachineAtomic, ASlowMessageThatWasFirstKeepsItsEffect) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  machine_->Next(BootTime{});
  std::vector<Settlement> others;
  machine_->SettleOthers(others);
  machine_->Handled(Done{});
  EXPECT_EQ(machine_->Next(BootTime{}), nullptr);
  ASSERT_EQ(machine_->completions().size(), 1u);
  Complete();
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
}

}  // namespace
}  // namespace oncemq
