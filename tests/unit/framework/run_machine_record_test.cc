// SPDX-License-Identifier: Apache-2.0
// What a run puts on record: results, and a window that does not take a batch.
#include "run_machine_harness.h"

namespace oncemq {
namespace {

const Error kInvalidBatch{Code::kInvalid, Effect::kNone, "one of them is wrong"};

using RunMachineRecord = RunMachineTest;

TEST_F(RunMachineRecord, AResultThatTheWindowDoesNotKeepIsDroppedAndTheMessageIsDone) {
  RunPolicy policy{.level = Level::kGuarded};
  policy.max_result_bytes = 4;
  Use(policy);
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({Answer::kGranted, Answer::kGranted});
  ASSERT_NE(machine_->Next(BootTime{}), nullptr);
  EXPECT_FALSE(machine_->Handled(Done{"12345"})) << "the shell has to say it";
  ASSERT_NE(machine_->Next(BootTime{}), nullptr);
  EXPECT_TRUE(machine_->Handled(Done{"1234"}));
  ASSERT_EQ(machine_->Next(BootTime{}), nullptr);
  EXPECT_EQ(machine_->completions()[0].result, "");
  EXPECT_EQ(machine_->completions()[1].result, "1234");
  Complete();
  EXPECT_EQ(FateOf(0), Fate::kApplied);
  EXPECT_TRUE(machine_->settlements()[0].result_dropped);
  EXPECT_FALSE(machine_->settlements()[1].result_dropped);
}

TEST_F(RunMachineRecord, ACompletionThatTheWindowFindsInvalidDoesNotInfectItsNeighbours) {
  Add(1, "x");
  Add(2, "y");
  Add(3, "z");
  Start();
  Claim({Answer::kGranted, Answer::kGranted, Answer::kGranted});
  Handle({{"x", Done{"a"}}, {"y", Done{"too much for this window"}}});
  ASSERT_EQ(machine_->completions().size(), 3u);
  machine_->Completed(kInvalidBatch);
  std::vector<std::string> asked;
  while (machine_->step() == RunStep::kComplete) {
    ASSERT_EQ(machine_->completions().size(), 1u);
    const CompleteRequest& request = machine_->completions()[0];
    asked.push_back(std::string(request.id) + ":" + std::string(request.result));
    machine_->changes()[0] = Change::kMade;
    machine_->Completed(request.result.size() > 4 ? Status(kInvalidBatch) : Status());
  }
  EXPECT_EQ(asked, (std::vector<std::string>{"x:a", "y:too much for this window", "y:", "z:"}));
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(FateOf(i), Fate::kApplied);
    EXPECT_EQ(machine_->settlements()[i].result_dropped, i == 1);
  }
}

TEST_F(RunMachineRecord, ACompletionThatIsWrongInItselfWaitsAloneAndIsNotHandledAgain) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({Answer::kGranted, Answer::kGranted});
  Handle();
  machine_->Completed(kInvalidBatch);
  machine_->Completed(kInvalidBatch);
  machine_->changes()[0] = Change::kMade;
  machine_->Completed({});
  EXPECT_EQ(FateOf(0), Fate::kPending);
  EXPECT_EQ(machine_->settlements()[0].stage, Stage::kApplied);
  EXPECT_EQ(FateOf(1), Fate::kApplied);
}

TEST_F(RunMachineRecord, ABatchWithoutAnswerIsRepeatedAsABatch) {
  Add(1, "x");
  Add(2, "y");
  Start();
  Claim({Answer::kGranted, Answer::kGranted});
  Handle();
  machine_->Completed(kLostReply);
  EXPECT_EQ(FateOf(0), Fate::kPending);
  EXPECT_EQ(FateOf(1), Fate::kPending);
}

TEST_F(RunMachineRecord, AWaitBeyondAllBoundsIsTakenForTheLongest) {
  RunPolicy policy{.level = Level::kGuarded};
  policy.window = false;
  policy.backoff_first = policy.backoff_most = milliseconds::max();
  Use(policy);
  for (uint32_t i = 0; i < 3; i++) {
    Add(i, "");
    run_.items.back().attempt = 30;
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

TEST_F(RunMachineRecord, ADroppedResultIsCountedAlsoWhenItsCompletionIsRepeated) {
  Add(1, "x", Stage::kApplied, false, 55);
  run_.items[0].result_dropped = true;
  Start();
  EXPECT_TRUE(Handle().empty());
  Complete();
  EXPECT_EQ(FateOf(0), Fate::kApplied);
  EXPECT_TRUE(machine_->settlements()[0].result_dropped);
}

}  // namespace
}  // namespace oncemq
