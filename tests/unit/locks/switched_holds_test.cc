// SPDX-License-Identifier: Apache-2.0
// What becomes of holds, and of what is left of them, through switches.
#include <algorithm>

#include "switched_locks_fixture.h"

namespace oncemq::testing {
namespace {

// Longer than it is believed after its last renewal, and in so many others' company that whatever
// is not renewed is forgotten.
TEST_F(SwitchedLocksTest, AFencedHoldThatIsExtendedOutlivesADrain) {
  Process p = Open();
  p.stores["a"]->cut = true;
  ASSERT_EQ(p.locks->SwitchTo("b", "")->phase, SwitchMode::kDrain);
  AcquireRequest held = New();
  held.fenced = true;
  held.lease = held.queue_lease = milliseconds(6'000);
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  Pass(milliseconds(20'000), {&p}, [&] { EXPECT_EQ(Extend(p, held), Extended::kYes); });
  for (int i = 0; i < 1'100; i++) {
    const std::string name = "another " + std::to_string(i);
    AcquireRequest other = New(name);
    other.fenced = true;
    ASSERT_EQ(Request(p, other), Kind::kGranted);
  }
  ASSERT_EQ(p.locks->Progress().phase, SwitchMode::kDrain);
  EXPECT_EQ(Extend(p, held), Extended::kYes);
}

TEST_F(SwitchedLocksTest, WhatIsGivenBackWhileItMovesIsLeftInNoStore) {
  Process p = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_EQ(p.locks->SwitchTo("b", "")->phase, SwitchMode::kBoth);
  int calls = 0;
  p.stores["b"]->on_its_way = [&] {
    // The call that extends goes there and back, then the one that asks is on its way.
    if (++calls == 3) {
      EXPECT_EQ(Free(p, held), Freed::kYes);
    }
  };
  Extend(p, held);
  ASSERT_GT(calls, 3);
  EXPECT_FALSE(Held("a"));
  EXPECT_FALSE(Held("b"));
}

TEST_F(SwitchedLocksTest, WhatWasGivenBackDoesNotBeginToMove) {
  Process p = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_EQ(p.locks->SwitchTo("b", "")->phase, SwitchMode::kBoth);
  int calls = 0;
  p.stores["b"]->on_its_way = [&] {
    if (++calls == 2) {
      EXPECT_EQ(Free(p, held), Freed::kYes);
    }
  };
  EXPECT_EQ(Extend(p, held), Extended::kLater);
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(Held("b"));
}

TEST_F(SwitchedLocksTest, WhatASwitchThatWasCalledOffHasLeftIsGivenBackToo) {
  Process p = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_EQ(p.locks->SwitchTo("b", "")->phase, SwitchMode::kBoth);
  ASSERT_EQ(Extend(p, held), Extended::kYes);
  ASSERT_TRUE(Held("b"));
  ASSERT_EQ(p.locks->CallOff("")->phase, SwitchMode::kSingle);
  EXPECT_EQ(Free(p, held), Freed::kYes);
  EXPECT_FALSE(Held("b"));
  ASSERT_EQ(p.locks->SwitchTo("b", "")->phase, SwitchMode::kBoth);
  EXPECT_EQ(Request(p, New()), Kind::kGranted);
}

TEST_F(SwitchedLocksTest, AStoreThatIsNotInForceKeepsNobodyFromGivingBack) {
  Process p = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  ASSERT_EQ(Extend(p, held), Extended::kYes);
  ASSERT_TRUE(p.locks->CallOff("").has_value());
  p.stores["b"]->cut = true;
  EXPECT_EQ(Free(p, held), Freed::kYes);
}

TEST_F(SwitchedLocksTest, WhatIsEvictedWhileItMovesIsInNobodysWayInEitherStore) {
  Process p = Open();
  Process q = Open();
  const AcquireRequest held = New();
  const auto granted = p.locks->Request(held);
  ASSERT_TRUE(granted.has_value());
  ASSERT_TRUE(q.locks->SwitchTo("b", "").has_value());
  p.view->Turn();
  ASSERT_EQ(Extend(p, held), Extended::kYes);
  ASSERT_TRUE(Held("b"));
  EXPECT_EQ(q.locks->Evict("x", {1, 999'999}).value_or(Freed::kYes), Freed::kNotHeld);
  EXPECT_TRUE(Held("b"));
  EXPECT_EQ(q.locks->Evict("x", granted->fence).value_or(Freed::kNotHeld), Freed::kYes);
  EXPECT_EQ(Request(q, New()), Kind::kGranted);
  EXPECT_EQ(Extend(p, held), Extended::kGone);
}

TEST_F(SwitchedLocksTest, WhatIsAskedBackJustBeforeASwitchEndsIsHeardBehindIt) {
  Process p = Open();
  Process q = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_TRUE(q.locks->SwitchTo("b", "").has_value());
  Pass(milliseconds(34'000), {&p, &q}, [&] { EXPECT_EQ(Extend(p, held), Extended::kYes); });
  EXPECT_EQ(q.locks->Recall("x").value_or(0), 1u);
  Pass(milliseconds(8'000), {&p, &q});
  ASSERT_EQ(p.locks->Progress().in_force, "b");
  EXPECT_EQ(Extend(p, held), Extended::kRecalled);
}

TEST_F(SwitchedLocksTest, WhoAsksForAHoldThatMovesAndReachesOneStoreIsNotAnswered) {
  Process p = Open();
  ASSERT_EQ(Request(p, New()), Kind::kGranted);
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  p.stores["b"]->cut = true;
  const auto asked = p.locks->Recall("x");
  ASSERT_FALSE(asked.has_value());
  EXPECT_EQ(asked.error().effect, Effect::kUnknown);
}

TEST_F(SwitchedLocksTest, HoldsThatMoveKeepThoseThatHaveMovedFromNoRenewal) {
  Process p = Open();
  std::vector<std::string> names;
  std::vector<LockClaim> claims;
  for (int i = 0; i < 50; i++) {
    names.push_back("name " + std::to_string(i));
  }
  for (const std::string& name : names) {
    const AcquireRequest request = New(name);
    ASSERT_EQ(Request(p, request), Kind::kGranted);
    claims.push_back({request.name, request.token, request.lease});
  }
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  p.stores["b"]->on_its_way = [this] { clock_.Advance(milliseconds(50)); };
  std::vector<Extended> answers(claims.size());
  size_t moved = 0;
  for (int round = 0; round < 20 && moved < claims.size(); round++) {
    const BootTime before = clock_.Boot();
    ASSERT_TRUE(p.locks->Extend(claims, answers).has_value());
    EXPECT_LT(clock_.Boot() - before, milliseconds(1'000));
    const auto now = std::count(answers.begin(), answers.end(), Extended::kYes);
    EXPECT_GT(static_cast<size_t>(now), moved) << "and more have";
    moved = static_cast<size_t>(now);
  }
  EXPECT_EQ(moved, claims.size());
}

// A record may name stores that this process was not told of.
TEST_F(SwitchedLocksTest, WhoKnowsOtherStoresThanTheRecordSaysSoAndTouchesNone) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  const auto view = std::make_shared<SwitchStoreView>(shared_);
  std::vector<NamedLocks> named{{"c", MemoryLockCapabilities(), [this] {
                                   return Result<std::shared_ptr<LockEngine>>(stores_.at("a"));
                                 }}};
  const auto stranger =
      SwitchedLocks::Open(named, view, {.breaker = {.failures = 1'000}, .aside = AtOnce}, clock_);
  ASSERT_TRUE(stranger.has_value()) << ToString(stranger.error());
  EXPECT_EQ((*stranger)->Request(New()).error().code, Code::kUnavailable);
  EXPECT_EQ((*stranger)->Progress().holds_left, std::nullopt);
  EXPECT_EQ((*stranger)->Progress().target, "b");
  const LockClaim claim{"x", {1, 1}};
  Freed answer{};
  EXPECT_TRUE((*stranger)->Free({&claim, 1}, {&answer, 1}));
  EXPECT_EQ(answer, Freed::kNotHeld);
}

}  // namespace
}  // namespace oncemq::testing
