// SPDX-License-Identifier: Apache-2.0
// What a run puts on record: results, and a window that does not take a batch.
#include "batch_machine_harness.h"

namespace oncemq {
namespace {

const Error kInvalidBatch{Code::kInvalid, Effect::kNone, "one of them is wrong"};

using BatchMachineRecord = BatchMachineTest;

TEST_F(BatchMachineRecord, AResultThatTheWindowDoesNotKeepIsDroppedAndTheMessageIsDone) {
  BatchPolicy policy{.level = Level::kGuarded};
  policy.max_result_bytes = 4;
  Use(policy);
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  ASSERT_NE(machine_->Next(BootTime{}), nullptr);
  EXPECT_FALSE(machine_->Handled(Done{"12345"})) << "the shell has to say it";
  ASSERT_NE(machine_->Next(BootTime{}), nullptr);
  EXPECT_TRUE(machine_->Handled(Done{"1234"}));
  ASSERT_EQ(machine_->Next(BootTime{}), nullptr);
  EXPECT_EQ(machine_->completions()[0].result, "");
  EXPECT_EQ(machine_->completions()[1].result, "1234");
  Complete();
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
  EXPECT_TRUE(machine_->settlements()[0].result_dropped);
  EXPECT_FALSE(machine_->settlements()[1].result_dropped);
}

TEST_F(BatchMachineRecord, ACompletionThatTheWindowFindsInvalidDoesNotInfectItsNeighbours) {
  Add(1, "x");
  Add(2, "y");
  Add(3, "z");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  Handle({{"x", Done{"a"}}, {"y", Done{"too much for this window"}}});
  ASSERT_EQ(machine_->completions().size(), 3u);
  machine_->Completed(kInvalidBatch);
  std::vector<std::string> asked;
  while (machine_->step() == BatchStep::kComplete) {
    ASSERT_EQ(machine_->completions().size(), 1u);
    const CompleteRequest& request = machine_->completions()[0];
    asked.push_back(std::string(request.id) + ":" + std::string(request.result));
    machine_->changes()[0] = MarkerChange::kMade;
    machine_->Completed(request.result.size() > 4 ? Status(kInvalidBatch) : Status());
  }
  EXPECT_EQ(asked, (std::vector<std::string>{"x:a", "y:too much for this window", "y:", "z:"}));
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(FateOf(i), DeliveryFate::kApplied);
    EXPECT_EQ(machine_->settlements()[i].result_dropped, i == 1);
  }
}

TEST_F(BatchMachineRecord, ACompletionThatIsWrongInItselfWaitsAloneAndIsNotHandledAgain) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  Handle();
  machine_->Completed(kInvalidBatch);
  machine_->Completed(kInvalidBatch);
  machine_->changes()[0] = MarkerChange::kMade;
  machine_->Completed({});
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  EXPECT_EQ(machine_->settlements()[0].stage, Stage::kApplied);
  EXPECT_EQ(FateOf(1), DeliveryFate::kApplied);
}

TEST_F(BatchMachineRecord, ABatchWithoutAnswerIsRepeatedAsABatch) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted, ClaimVerdict::kGranted});
  Handle();
  machine_->Completed(kLostReply);
  EXPECT_EQ(FateOf(0), DeliveryFate::kPending);
  EXPECT_EQ(FateOf(1), DeliveryFate::kPending);
}

TEST_F(BatchMachineRecord, AWaitBeyondAllBoundsIsTakenForTheLongest) {
  BatchPolicy policy{.level = Level::kGuarded};
  policy.window = false;
  policy.retry.first = policy.retry.most = milliseconds::max();
  Use(policy);
  for (uint32_t i = 0; i < 3; i++) {
    Add(i, "");
    batch_.items.back().attempts.failed = 30;
  }
  Start();
  for (const std::optional<milliseconds> after :
       {std::optional(milliseconds::max()), std::optional(milliseconds::min()),
        std::optional<milliseconds>()}) {
    ASSERT_NE(machine_->Next(BootTime{}), nullptr);
    machine_->Handled(Retry{.after = after});
  }
  ASSERT_EQ(machine_->Next(BootTime{}), nullptr);
  EXPECT_EQ(machine_->settlements()[0].wait, kLongestRetry);
  EXPECT_EQ(machine_->settlements()[1].wait, microseconds(1)) << "never none: a worker would spin";
  EXPECT_EQ(machine_->settlements()[2].wait, kLongestRetry);
}

TEST_F(BatchMachineRecord, ADroppedResultIsCountedAlsoWhenItsCompletionIsRepeated) {
  Add(1, "x", Stage::kApplied, false, 55);
  batch_.items[0].result_dropped = true;
  Start();
  EXPECT_TRUE(Handle().empty());
  Complete();
  EXPECT_EQ(FateOf(0), DeliveryFate::kApplied);
  EXPECT_TRUE(machine_->settlements()[0].result_dropped);
}

class BatchMachineRefusal : public BatchMachineTest {
 protected:
  BatchMachineRefusal() {
    BatchPolicy policy{.level = Level::kGuarded};
    policy.reject = RejectPolicy::kJournal;
    Use(policy);
  }
  // As the core does with a delivery that waits: the next run gets it as the last one left it.
  void ComeAgain() {
    const Settlement left = machine_->settlements()[0];
    Add(1, "x", left.stage, false, left.token.attempt).entry = left.entry;
    Start();
  }
};

TEST_F(BatchMachineRefusal, IsAppendedOnceHoweverLongTheWindowIsDown) {
  Add(1, "x");
  Start();
  const Token token = machine_->claims()[0].token;
  Claim({ClaimVerdict::kGranted});
  Handle({{"x", Reject{"no payment"}}});
  int appended = 0;
  for (int i = 0; i < 100; i++) {
    if (machine_->step() == BatchStep::kJournal) {
      machine_->Journaled({}, 17 + static_cast<uint64_t>(appended++));
    }
    ASSERT_EQ(machine_->step(), BatchStep::kPark);
    ASSERT_EQ(machine_->parks().size(), 1u);
    EXPECT_EQ(machine_->parks()[0].entry, 17u);
    EXPECT_EQ(machine_->parks()[0].token, token);
    machine_->Parked(kLostReply);
    ASSERT_EQ(FateOf(0), DeliveryFate::kPending);
    ComeAgain();
    EXPECT_TRUE(Handle().empty());
  }
  EXPECT_EQ(appended, 1);
  ASSERT_EQ(machine_->step(), BatchStep::kPark);
  machine_->changes()[0] = MarkerChange::kMade;
  machine_->Parked({});
  EXPECT_EQ(FateOf(0), DeliveryFate::kRejected);
}

TEST_F(BatchMachineRefusal, OfTheCoreIsClaimedAndParkedWithoutACall) {
  Add(1, "x").text = "waited longest";
  Start();
  Claim({ClaimVerdict::kGranted});
  EXPECT_TRUE(Handle().empty());
  ASSERT_EQ(machine_->step(), BatchStep::kJournal);
  EXPECT_EQ(machine_->journal_entries()[0].why, "waited longest");
  machine_->Journaled({}, 17);
  ASSERT_EQ(machine_->step(), BatchStep::kPark);
  machine_->changes()[0] = MarkerChange::kMade;
  machine_->Parked({});
  EXPECT_EQ(FateOf(0), DeliveryFate::kRejected);
  EXPECT_FALSE(machine_->settlements()[0].handled);
}

TEST_F(BatchMachineRefusal, OfTheCoreNeedsNoWindow) {
  Use({.level = Level::kGuarded, .window = false, .reject = RejectPolicy::kPark});
  Add(1, "x").text = "waited longest";
  Start();
  EXPECT_TRUE(Handle().empty());
  ASSERT_EQ(machine_->step(), BatchStep::kJournal);
  machine_->Journaled({}, 17);
  EXPECT_EQ(FateOf(0), DeliveryFate::kParked);
}

TEST_F(BatchMachineRefusal, ThatWaitsForItsMarkerStaysOnRecordWhereAnotherHandlerHangs) {
  Add(1, "x", Stage::kRecorded, false, 55).entry = 17;
  Add(2, "y");
  Start();
  Claim({ClaimVerdict::kGranted});
  ASSERT_NE(machine_->Next(BootTime{}), nullptr);
  std::vector<Settlement> others;
  machine_->SettleOthers(others);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].fate, DeliveryFate::kPending);
  EXPECT_EQ(others[0].stage, Stage::kRecorded);
  EXPECT_EQ(others[0].token.attempt, 55u);
  EXPECT_EQ(others[0].entry, 17u);
  EXPECT_EQ(others[0].wait, microseconds(0)) << "nothing has failed";
}

}  // namespace
}  // namespace oncemq
