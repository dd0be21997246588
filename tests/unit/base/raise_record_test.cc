// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/raise_record.h"

#include <limits>

#include "switchboard_fixture.h"

namespace oncemq::testing {
namespace {

class RaiseRecordTest : public SwitchboardTest {
 protected:
  static RaiseOptions Least(uint32_t epoch) {
    return {.epoch = epoch, .longest = {}, .from = "a", .why = "the record was lost"};
  }
  Result<RaisedRecord> Raise(const RaiseOptions& least) {
    SwitchStoreView view(shared_);
    return RaiseRecord(view, least);
  }
  SwitchRecord There() {
    MutexLock lock(shared_->mutex);
    return *ParseSwitchRecord(shared_->text.text);
  }
};

TEST_F(RaiseRecordTest, WhereThereIsNoneOneIsBegun) {
  RaiseOptions least = Least(8);
  least.longest = milliseconds(120'000);
  const auto begun = Raise(least);
  ASSERT_TRUE(begun.has_value()) << ToString(begun.error());
  EXPECT_FALSE(begun->before);
  EXPECT_EQ(There(), begun->now);
  EXPECT_EQ(There(), (SwitchRecord{.epoch = 8,
                                   .from = "a",
                                   .longest = milliseconds(120'000),
                                   .why = "the record was lost"}));
}

// Whoever restarts behind a loss begins a record of epoch 1: that is what there is to be raised.
TEST_F(RaiseRecordTest, TheRecordOfWhoRestartedFirstIsRaisedForAllWhoRun) {
  Process before = Open();
  ASSERT_TRUE(before.board->Begin("b", SwitchMode::kBoth, "").has_value());
  Pass(2 * kWait, {&before});
  ASSERT_EQ(before.board->InForce()->epoch, 3u);
  {
    MutexLock lock(shared_->mutex);
    shared_->text.text.clear();
  }
  Process after = Open();
  Pass(kWait, {&before, &after});
  ASSERT_EQ(after.board->InForce()->epoch, 1u);
  ASSERT_FALSE(before.board->InForce().has_value());
  const auto raised = Raise(Least(8));
  ASSERT_TRUE(raised.has_value()) << ToString(raised.error());
  EXPECT_EQ(raised->before->epoch, 1u);
  EXPECT_EQ(raised->now.epoch, 8u);
  Pass(milliseconds(4'000), {&before, &after});
  for (const Process* process : {&before, &after}) {
    const auto record = process->board->InForce();
    ASSERT_TRUE(record.has_value()) << ToString(record.error());
    EXPECT_EQ(record->epoch, 8u);
    EXPECT_EQ(record->from, "a");
  }
}

TEST_F(RaiseRecordTest, NothingIsEverLowered) {
  RaiseOptions there = Least(9);
  there.longest = milliseconds(60'000);
  there.from = "b";
  const auto written = Raise(there);
  ASSERT_TRUE(written.has_value());
  RaiseOptions less = Least(8);
  less.longest = milliseconds(1'000);
  const auto same = Raise(less);
  ASSERT_TRUE(same.has_value()) << ToString(same.error());
  EXPECT_EQ(same->before, same->now);
  EXPECT_EQ(There(), written->now);
  const auto higher = Raise(Least(12));
  ASSERT_TRUE(higher.has_value());
  EXPECT_EQ(There().epoch, 12u);
  EXPECT_EQ(There().longest, milliseconds(60'000));
  EXPECT_EQ(There().from, "b") << "which store is in force, another command says";
}

TEST_F(RaiseRecordTest, ALongerLeaseIsANewEpochToo) {
  ASSERT_TRUE(Raise(Least(9)).has_value());
  RaiseOptions longer = Least(1);
  longer.longest = milliseconds(60'000);
  ASSERT_TRUE(Raise(longer).has_value());
  EXPECT_EQ(There().epoch, 10u);
  EXPECT_EQ(There().longest, milliseconds(60'000));
}

TEST_F(RaiseRecordTest, ASwitchThatIsUnderWayGoesOnInTheRaisedEpoch) {
  Process p = Open();
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kDrain, "").has_value());
  ASSERT_TRUE(Raise(Least(8)).has_value());
  EXPECT_EQ(There().mode, SwitchMode::kDrain);
  Pass(kWait - milliseconds(2'000), {&p});
  EXPECT_EQ(p.board->InForce()->mode, SwitchMode::kDrain) << "its wait begins again";
  Pass(milliseconds(6'000), {&p});
  EXPECT_EQ(p.board->InForce()->from, "b");
  EXPECT_EQ(p.board->InForce()->epoch, 9u);
}

// Its asks meet only those of their own epoch: whoever holds a name there would be met by nobody.
TEST_F(RaiseRecordTest, WhereAStoreInForceCannotBeSealedNothingIsRaised) {
  Process p = Open();
  RaiseOptions least = Least(8);
  least.longest = milliseconds(60'000);
  least.seals = [](std::string_view store) { return store != "a"; };
  EXPECT_EQ(Raise(least).error().code, Code::kInvalid);
  EXPECT_EQ(There().epoch, 1u);
  ASSERT_TRUE(p.board->Begin("b", SwitchMode::kDrain, "").has_value());
  ASSERT_TRUE(Raise(least).has_value()) << "nothing is asked for there any more";
  EXPECT_EQ(There().epoch, 8u);
}

TEST_F(RaiseRecordTest, WhatCannotBeDoneIsAFailure) {
  EXPECT_EQ(Raise(Least(0)).error().code, Code::kInvalid);
  RaiseOptions nobody = Least(1);
  nobody.from = "";
  EXPECT_EQ(Raise(nobody).error().code, Code::kInvalid);
  EXPECT_EQ(Raise(Least(kHighestRaise + 1)).error().code, Code::kInvalid) << "no room for switches";
  ASSERT_TRUE(Raise(Least(kHighestRaise)).has_value());
  {
    SwitchRecord last = There();
    last.epoch = std::numeric_limits<uint32_t>::max();
    MutexLock lock(shared_->mutex);
    shared_->text.text = Format(last);
  }
  RaiseOptions longer = Least(1);
  longer.longest = milliseconds(60'000);
  EXPECT_EQ(Raise(longer).error().code, Code::kInvalid) << "there is no later epoch";
  SwitchStoreView cut(shared_);
  cut.Cut(true);
  EXPECT_EQ(RaiseRecord(cut, Least(8)).error().code, Code::kUnavailable);
}

TEST_F(RaiseRecordTest, WhatIsNotOursIsNotWrittenOver) {
  {
    MutexLock lock(shared_->mutex);
    shared_->text.text = "what";
  }
  EXPECT_EQ(Raise(Least(8)).error().code, Code::kCorrupt);
  MutexLock lock(shared_->mutex);
  EXPECT_EQ(shared_->text.text, "what");
}

}  // namespace
}  // namespace oncemq::testing
