// SPDX-License-Identifier: Apache-2.0
// What calls a planned switch off by itself: a target that answers nothing, and nothing else.
#include "switched_locks_fixture.h"

namespace oncemq::testing {
namespace {

class SwitchedTargetTest : public SwitchedLocksTest {
 protected:
  static constexpr milliseconds kLong{10'000};  // longer than a target may be silent

  // For a name that nobody has.
  void ExpectFailure(Process& process) {
    const std::string name = "name " + std::to_string(++names_);
    EXPECT_FALSE(process.locks->Ask(New(name)).has_value());
  }
  void FailOnce(Process& process) {
    process.stores["b"]->cut = true;
    ExpectFailure(process);
    process.stores["b"]->cut = false;
  }

  int names_ = 0;
};

TEST_F(SwitchedTargetTest, OneThatAnswersBetweenItsFailuresIsKept) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchEngine("b", "").has_value());
  FailOnce(p);
  Pass(kTurn, {&p});
  ASSERT_EQ(Ask(p, New("y")), Kind::kGranted);
  Pass(kLong, {&p});
  FailOnce(p);
  EXPECT_EQ(p.locks->Progress().phase, SwitchMode::kBoth);
}

TEST_F(SwitchedTargetTest, WhatFailedInAnEarlierSwitchCountsInNoOther) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchEngine("b", "").has_value());
  FailOnce(p);
  ASSERT_TRUE(p.locks->CallOff("").has_value());
  Pass(kLong, {&p});
  ASSERT_TRUE(p.locks->SwitchEngine("b", "").has_value());
  FailOnce(p);
  EXPECT_EQ(p.locks->Progress().phase, SwitchMode::kBoth);
}

TEST_F(SwitchedTargetTest, OneThatRefusesHasAnswered) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchEngine("b", "").has_value());
  ASSERT_TRUE(stores_.at("b")->Seal(9).has_value());
  ExpectFailure(p);
  Pass(kLong, {&p});
  ExpectFailure(p);
  EXPECT_EQ(p.locks->Progress().phase, SwitchMode::kBoth);
}

TEST_F(SwitchedTargetTest, WhoSleptThroughItsEndCallsNoOtherSwitchOff) {
  Process p = Open();
  Process q = Open();
  const LockAsk held = New();
  ASSERT_EQ(Ask(p, held), Kind::kGranted);
  ASSERT_TRUE(p.locks->SwitchEngine("b", "").has_value());
  q.view->Turn();
  ASSERT_TRUE(q.locks->CallOff("").has_value());
  ASSERT_TRUE(q.locks->SwitchEngine("b", "").has_value());
  p.stores["b"]->cut = true;
  EXPECT_EQ(Extend(p, held), Extended::kLater);
  clock_.Advance(milliseconds(6'000));
  EXPECT_EQ(Extend(p, held), Extended::kLater);
  q.view->Turn();
  EXPECT_EQ(q.locks->Progress().phase, SwitchMode::kBoth);
}

TEST_F(SwitchedTargetTest, WhoWantsNoDrainIsRefusedWhereNoPlannedSwitchIsPossible) {
  Process p = Open();
  p.stores["a"]->cut = true;
  const auto refused = p.locks->SwitchEngine("b", "", UnlessPlanned::kRefuse);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_FALSE(p.locks->SwitchEngine("", UnlessPlanned::kRefuse).has_value()) << "the next one";
  EXPECT_EQ(p.locks->Progress().epoch, 1u) << "nothing was changed";
  p.stores["a"]->cut = false;
  EXPECT_EQ(p.locks->SwitchEngine("b", "", UnlessPlanned::kRefuse)->phase, SwitchMode::kBoth);
}

TEST_F(SwitchedTargetTest, WhatCannotBeSealedTakesADrain) {
  LockCapabilities can = MemoryLockCapabilities();
  can.seals = false;
  Process p = Open(can);
  const auto refused = p.locks->SwitchEngine("b", "", UnlessPlanned::kRefuse);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kInvalid);
}

}  // namespace
}  // namespace oncemq::testing
