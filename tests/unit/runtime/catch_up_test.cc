// SPDX-License-Identifier: Apache-2.0
#include "catch_up.h"

#include <gmock/gmock.h>

#include <latch>

#include "poll_loop_fixture.h"
#include "support/log_file.h"

namespace oncemq::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr PartitionId kPartition = 0;

BootTime At(int64_t ms) {
  return BootTime(milliseconds(ms));
}

// A partition whose offsets 0 to 2 are finished, read in one batch with the two behind them.
class CatchUpTest : public PollLoopTest {
 protected:
  CatchUpTest() {
    owner_epoch_ = *window_.RaiseOwnerEpoch(0, 0, 0);
    AssignFacts facts;
    facts.start = 3;
    facts.read_from = 0;
    catch_up_.Begin(kPartition, facts);
    for (int i = 0; i < 5; i++) {
      Arrival arrival;
      arrival.message = &ids_[i];
      arrival.id = ids_[i];
      arrival.offset = i;
      arrivals_.push_back(arrival);
    }
  }
  std::vector<int64_t> Offsets() const {
    std::vector<int64_t> offsets;
    for (const Arrival& arrival : arrivals_) {
      offsets.push_back(arrival.offset);
    }
    return offsets;
  }
  bool IsDone(std::string_view id) {
    MarkerView view;
    EXPECT_TRUE(window_.Peek({&id, 1}, {&view, 1}));
    return view.state == MarkerState::kDone;
  }

  std::string ids_[5] = {"a", "b", "c", "d", "e"};
  StoreErrors errors_;
  CatchUp catch_up_{&window_, errors_};
  OwnerEpoch owner_epoch_ = 0;
  std::vector<Arrival> arrivals_;
  std::vector<void*> released_;
};

TEST_F(CatchUpTest, WhatLiesBehindTheStartIsLeftToBeAdmitted) {
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(1), released_);
  EXPECT_THAT(Offsets(), ElementsAre(3, 4));
  EXPECT_THAT(released_, ElementsAre(&ids_[0], &ids_[1], &ids_[2]));
  EXPECT_FALSE(catch_up_.Busy(kPartition));
  EXPECT_EQ(catch_up_.restored(), 3);
  EXPECT_TRUE(IsDone("c"));
}

// Else a redrive, or a corrected copy, would be suppressed for ever (rule 4).
TEST_F(CatchUpTest, TheIdOfARefusedMessageIsNotDone) {
  catch_up_.PassRefused(kPartition, {0, 2, 9});
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(1), released_);
  EXPECT_THAT(released_, ElementsAre(&ids_[0], &ids_[2], &ids_[1]));
  EXPECT_TRUE(!IsDone("a") && IsDone("b") && !IsDone("c"));
  EXPECT_EQ(catch_up_.restored(), 1);
  EXPECT_EQ(catch_up_.KnownUpTo(kPartition, 9), 9);
}

TEST_F(CatchUpTest, ACopyOfARefusedMessageThatWasDoneIsDone) {
  ids_[2] = "a";
  arrivals_[2].id = ids_[2];
  catch_up_.PassRefused(kPartition, {0});
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(1), released_);
  EXPECT_TRUE(IsDone("a"));
}

TEST_F(CatchUpTest, TheNextAssignmentHasRefusedMessagesOfItsOwn) {
  catch_up_.PassRefused(kPartition, {1});
  catch_up_.End(kPartition, released_);
  AssignFacts facts;
  facts.start = 3;
  facts.metadata.skipped.Append(2, 3);  // by an operator: nobody has handled it (rule 5)
  catch_up_.Begin(kPartition, facts);
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(1), released_);
  EXPECT_TRUE(IsDone("a") && IsDone("b") && !IsDone("c"));
}

TEST_F(CatchUpTest, AnIdIsRestoredWithThePayloadOfItsMessage) {
  arrivals_[0].fingerprint = 1;
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(1), released_);
  const ClaimRequest other{.id = "a", .token = {1, 1}, .at = {0, 0, 7}, .fingerprint = 2};
  ClaimAnswer answer;
  ASSERT_TRUE(window_.Claim({&other, 1}, {&answer, 1}));
  EXPECT_EQ(answer.answer, ClaimVerdict::kConflict);
}

// No more than the commit tells: nobody knows which messages a former owner began above it (rule
// 11).
TEST_F(CatchUpTest, ItsEndPromisesNoMoreThanTheCommitTells) {
  LogFile log;
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(1), released_);
  const std::string text = log.End();
  EXPECT_NE(text.find("the window knows all that the commit calls finished"), std::string::npos);
  EXPECT_EQ(text.find("the window is complete"), std::string::npos);
}

TEST_F(CatchUpTest, WhileTheWindowFailsWhatLiesBehindTheStartIsKeptBackToo) {
  window_.down = true;
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(1), released_);
  EXPECT_THAT(arrivals_, IsEmpty()) << "a copy of what is not restored yet would run again";
  EXPECT_THAT(released_, IsEmpty());
  EXPECT_TRUE(catch_up_.Waits(kPartition, owner_epoch_, At(200), released_));
  window_.down = false;
  EXPECT_TRUE(catch_up_.Waits(kPartition, owner_epoch_, At(250), released_)) << "not asked yet";
  EXPECT_FALSE(catch_up_.Waits(kPartition, owner_epoch_, At(400), released_));
  EXPECT_TRUE(catch_up_.Busy(kPartition)) << "nothing may be read before what is kept back";
  catch_up_.GiveBehind(kPartition, 1, arrivals_);
  EXPECT_THAT(Offsets(), ElementsAre(3)) << "as much as there is credit";
  EXPECT_TRUE(catch_up_.Busy(kPartition));
  catch_up_.GiveBehind(kPartition, 9, arrivals_);
  EXPECT_THAT(Offsets(), ElementsAre(3, 4));
  EXPECT_FALSE(catch_up_.Busy(kPartition));
  EXPECT_EQ(errors_.window(), 2);
  EXPECT_EQ(catch_up_.KnownUpTo(kPartition, 9), 9);
}

TEST_F(CatchUpTest, AnIdThatTheWindowLeavesAloneIsAskedForAgain) {
  // A copy of b, at an offset of its own, is still run by a handler of an earlier assignment.
  const ClaimRequest claim{"b", {1, 1}, {0, 0, 7}, owner_epoch_};
  ClaimAnswer answer;
  ASSERT_TRUE(window_.Claim({&claim, 1}, {&answer, 1}));
  ASSERT_EQ(answer.answer, ClaimVerdict::kGranted);
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(1), released_);
  EXPECT_THAT(arrivals_, IsEmpty());
  EXPECT_THAT(released_, ElementsAre(&ids_[0], &ids_[2]));
  EXPECT_EQ(catch_up_.restored(), 2);
  EXPECT_TRUE(catch_up_.Waits(kPartition, owner_epoch_, At(200), released_));
  EXPECT_EQ(catch_up_.KnownUpTo(kPartition, 9), 0) << "not complete";
  const CompleteRequest complete{"b", {1, 1}, {0, 0, 7}};
  MarkerChange change = MarkerChange::kFenced;
  ASSERT_TRUE(window_.Complete({&complete, 1}, {&change, 1}));
  EXPECT_FALSE(catch_up_.Waits(kPartition, owner_epoch_, At(400), released_));
  EXPECT_EQ(catch_up_.restored(), 3);
  catch_up_.GiveBehind(kPartition, 9, arrivals_);
  EXPECT_THAT(Offsets(), ElementsAre(3, 4));
}

TEST_F(CatchUpTest, AnAssignmentThatEndsReleasesAllThatWasKeptBack) {
  window_.down = true;
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(1), released_);
  catch_up_.End(kPartition, released_);
  EXPECT_EQ(released_.size(), 5U);
  EXPECT_FALSE(catch_up_.Busy(kPartition));
}

TEST_F(CatchUpTest, AStartBehindAHoleAwaitsNoMessageOnceAllBelowItIsRead) {
  arrivals_.resize(2);  // offset 2 is the marker of a transaction
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(1), released_);
  catch_up_.ReadTo(kPartition, 2, At(2));
  EXPECT_TRUE(catch_up_.Busy(kPartition)) << "more may come";
  catch_up_.ReadTo(kPartition, 3, At(3));
  EXPECT_FALSE(catch_up_.Busy(kPartition));
  EXPECT_EQ(catch_up_.restored(), 2);
  EXPECT_EQ(catch_up_.KnownUpTo(kPartition, 9), 9);
}

TEST_F(CatchUpTest, WhatIsGoneFromTheLogIsAGapAndWhatIsLeftCompletesTheRest) {
  std::vector<Arrival> first(arrivals_.begin(), arrivals_.begin() + 1);
  catch_up_.Take(kPartition, owner_epoch_, first, At(1), released_);
  catch_up_.Gap(kPartition, 1, 2, At(2));
  EXPECT_TRUE(catch_up_.Busy(kPartition)) << "c is still there";
  arrivals_.erase(arrivals_.begin(), arrivals_.begin() + 2);
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(3), released_);
  EXPECT_THAT(Offsets(), ElementsAre(3, 4));
  EXPECT_FALSE(catch_up_.Busy(kPartition));
  EXPECT_TRUE(IsDone("a") && !IsDone("b") && IsDone("c"));
  EXPECT_EQ(catch_up_.KnownUpTo(kPartition, 9), 0) << "b is not known";
}

TEST_F(CatchUpTest, AGapUpToTheStartEndsItOnceTheWindowHasWhatWasRead) {
  window_.down = true;
  std::vector<Arrival> first(arrivals_.begin(), arrivals_.begin() + 1);
  catch_up_.Take(kPartition, owner_epoch_, first, At(1), released_);
  catch_up_.Gap(kPartition, 1, 3, At(2));
  EXPECT_TRUE(catch_up_.Busy(kPartition));
  window_.down = false;
  EXPECT_FALSE(catch_up_.Waits(kPartition, owner_epoch_, At(400), released_));
  EXPECT_FALSE(catch_up_.Busy(kPartition)) << "there may never be a next record to end it";
  EXPECT_TRUE(IsDone("a"));
  EXPECT_EQ(catch_up_.KnownUpTo(kPartition, 9), 0);
}

TEST_F(CatchUpTest, WhatTakesTooLongIsPassedOverAndNotTakenForKnown) {
  std::vector<Arrival> first(arrivals_.begin(), arrivals_.begin() + 1);
  catch_up_.Take(kPartition, owner_epoch_, first, At(1), released_);
  EXPECT_FALSE(catch_up_.Overdue(kPartition, At(51), milliseconds(50)));
  EXPECT_FALSE(catch_up_.Overdue(kPartition, At(52), milliseconds(0))) << "without a limit";
  ASSERT_TRUE(catch_up_.Overdue(kPartition, At(52), milliseconds(50)));
  EXPECT_EQ(catch_up_.PassOver(kPartition), std::make_pair(int64_t{1}, int64_t{3}));
  EXPECT_FALSE(catch_up_.Overdue(kPartition, At(53), milliseconds(50))) << "said once";
  arrivals_.erase(arrivals_.begin());
  catch_up_.Take(kPartition, owner_epoch_, arrivals_, At(52), released_);
  EXPECT_THAT(Offsets(), ElementsAre(3, 4));
  EXPECT_EQ(released_.size(), 3U);
  EXPECT_FALSE(catch_up_.Busy(kPartition));
  EXPECT_TRUE(IsDone("a"));
  EXPECT_FALSE(IsDone("b"));
  EXPECT_EQ(catch_up_.KnownUpTo(kPartition, 9), 0);
}

TEST_F(CatchUpTest, APartitionWhoseCatchUpTakesTooLongStopsWherePolicySaysSo) {
  RuntimeOptions options = Options();
  options.catch_up_time = milliseconds(1);
  options.incomplete = IncompletePolicy::kStop;
  RunningLoop loop(options, &window_, Count());
  loop.script().Assign(1, /*start=*/3, /*read_from=*/0);
  ASSERT_TRUE(Holds([&] { return loop.Now().stops.size() == 1; })) << "nothing comes to be read";
  for (const char* id : {"x", "y", "z", "u"}) {
    loop.script().Append(1, id, "k");
  }
  EXPECT_NE(loop.Stop().stops[0].find("catch_up_time"), std::string::npos);
  EXPECT_EQ(calls_, 0);
  EXPECT_FALSE(IsDone("x"));
}

TEST_F(CatchUpTest, NothingIsHandledBeforeAFailingWindowHasTakenWhatWasFinished) {
  RunningLoop loop(Options(), &window_, Count());
  window_.restore_down = true;
  for (const char* id : {"x", "y", "x", "z"}) {
    loop.script().Append(1, id, "k");
  }
  loop.script().Assign(1, /*start=*/2, /*read_from=*/0);
  EXPECT_TRUE(Holds([&] { return loop.Now().window_errors >= 2; }));
  EXPECT_EQ(calls_, 0);
  EXPECT_EQ(loop.Now().counts.deliveries, 0);
  window_.restore_down = false;
  EXPECT_TRUE(
      Holds([&] { return loop.Now().counts.deliveries == 2 && loop.Now().counts.open == 0; }));
  EXPECT_EQ(loop.Now().counts.suppressed, 1) << "the copy of x";
  EXPECT_EQ(calls_, 1);
  const RunReport& report = loop.Stop();
  EXPECT_TRUE(report.clean);
  EXPECT_EQ(report.caught_up, 2);
  EXPECT_EQ(loop.script().seen().held, 0U);
}

}  // namespace
}  // namespace oncemq::testing
