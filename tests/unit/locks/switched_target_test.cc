// SPDX-License-Identifier: Apache-2.0
// What calls a planned switch off by itself: a target that takes nothing.
#include "support/forwarding_locks.h"
#include "switched_locks_fixture.h"

namespace oncemq::testing {
namespace {

// A store that answers questions and refuses whatever it would have to write.
class FullStore final : public ForwardingLocks {
 public:
  using ForwardingLocks::ForwardingLocks;

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    requests++;
    return reads_only ? Error{Code::kInternal, Effect::kNone, "the disk is full"}
                      : ForwardingLocks::Request(request);
  }

  bool reads_only = false;
  int requests = 0;
};

class SwitchedTargetTest : public SwitchedLocksTest {
 protected:
  SwitchedTargetTest() { stores_["b"] = b_; }

  static constexpr milliseconds kLong{10'000};  // longer than a target may be silent

  // For a name that nobody has.
  void ExpectFailure(Process& process) {
    const std::string name = "name " + std::to_string(++names_);
    EXPECT_FALSE(process.locks->Request(New(name)).has_value());
  }
  void FailOnce(Process& process) {
    process.stores["b"]->cut = true;
    ExpectFailure(process);
    process.stores["b"]->cut = false;
  }

  const std::shared_ptr<FullStore> b_ = std::make_shared<FullStore>(MakeMemoryLocks({}, clock_));
  int names_ = 0;
};

TEST_F(SwitchedTargetTest, OneThatAnswersBetweenItsFailuresIsKept) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  FailOnce(p);
  Pass(kTurn, {&p});
  ASSERT_EQ(Request(p, New("y")), Kind::kGranted);
  Pass(kLong, {&p});
  FailOnce(p);
  EXPECT_EQ(p.locks->Progress().phase, SwitchMode::kBoth);
}

TEST_F(SwitchedTargetTest, WhatFailedInAnEarlierSwitchCountsInNoOther) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  FailOnce(p);
  ASSERT_TRUE(p.locks->CallOff("").has_value());
  Pass(kLong, {&p});
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  FailOnce(p);
  EXPECT_EQ(p.locks->Progress().phase, SwitchMode::kBoth);
}

// It was sealed in a later epoch.
TEST_F(SwitchedTargetTest, OneThatRefusesAllAsksCostsTheSwitch) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  ASSERT_TRUE(stores_.at("b")->Seal(9).has_value());
  ExpectFailure(p);
  EXPECT_EQ(p.locks->Progress().phase, SwitchMode::kBoth);
  Pass(kLong, {&p});
  ExpectFailure(p);
  EXPECT_EQ(p.locks->Progress().phase, SwitchMode::kSingle);
  EXPECT_NE(p.locks->Progress().why.find("later switch"), std::string::npos) << "it says why";
}

TEST_F(SwitchedTargetTest, OneThatReadsAndDoesNotWriteCostsTheSwitchAndNoHold) {
  Process p = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  b_->reads_only = true;
  EXPECT_EQ(Extend(p, held), Extended::kLater);
  Pass(milliseconds(6'000), {&p});
  EXPECT_EQ(Extend(p, held), Extended::kLater);
  clock_.Advance(kTurn);
  EXPECT_EQ(Extend(p, held), Extended::kLater);
  EXPECT_EQ(p.locks->Progress().phase, SwitchMode::kSingle);
  EXPECT_EQ(p.locks->Progress().in_force, "a");
  EXPECT_EQ(Extend(p, held), Extended::kYes);
}

// Nobody holds anything, so only the process that ends the switch asks it for anything.
TEST_F(SwitchedTargetTest, OneThatReadsAndDoesNotWriteDoesNotComeIntoForce) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  b_->reads_only = true;
  Pass(milliseconds(46'000), {&p});
  EXPECT_EQ(p.locks->Progress().phase, SwitchMode::kBoth) << "it may get well";
  Pass(milliseconds(8'000), {&p});
  EXPECT_EQ(p.locks->Progress().phase, SwitchMode::kSingle);
  EXPECT_EQ(p.locks->Progress().in_force, "a");
  EXPECT_FALSE(p.locks->SwitchTo("b", "").has_value()) << "nor does it begin";
}

TEST_F(SwitchedTargetTest, WhetherItTakesAnythingIsAskedWithoutATrace) {
  Process p = Open();
  ASSERT_TRUE(stores_.at("b")->Seal(1).has_value());
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  Pass(milliseconds(42'000), {&p});
  EXPECT_EQ(p.locks->Progress().in_force, "b");
  EXPECT_GE(b_->requests, 2);
  for (const auto& [name, store] : stores_) {
    EXPECT_TRUE(store->Names("", 10)->empty());
  }
}

TEST_F(SwitchedTargetTest, WhoSleptThroughItsEndCallsNoOtherSwitchOff) {
  Process p = Open();
  Process q = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  q.view->Turn();
  ASSERT_TRUE(q.locks->CallOff("").has_value());
  ASSERT_TRUE(q.locks->SwitchTo("b", "").has_value());
  p.stores["b"]->cut = true;
  EXPECT_FALSE(TryToExtend(p, held).has_value());
  clock_.Advance(milliseconds(8'000));
  EXPECT_FALSE(TryToExtend(p, held).has_value());
  q.view->Turn();
  EXPECT_EQ(q.locks->Progress().phase, SwitchMode::kBoth);
}

TEST_F(SwitchedTargetTest, WhoWantsNoDrainIsRefusedWhereNoPlannedSwitchIsPossible) {
  Process p = Open();
  p.stores["a"]->cut = true;
  const auto refused = p.locks->SwitchTo("b", "", UnlessPlanned::kRefuse);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_FALSE(p.locks->SwitchToNext("", UnlessPlanned::kRefuse).has_value()) << "the next one";
  EXPECT_EQ(p.locks->Progress().epoch, 1u) << "nothing was changed";
  p.stores["a"]->cut = false;
  EXPECT_EQ(p.locks->SwitchTo("b", "", UnlessPlanned::kRefuse)->phase, SwitchMode::kBoth);
}

TEST_F(SwitchedTargetTest, WhatCannotBeSealedTakesADrain) {
  LockCapabilities can = MemoryLockCapabilities();
  can.seals = false;
  Process p = Open(can);
  const auto refused = p.locks->SwitchTo("b", "", UnlessPlanned::kRefuse);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kInvalid);
}

}  // namespace
}  // namespace oncemq::testing
