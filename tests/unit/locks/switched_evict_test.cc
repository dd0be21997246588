// SPDX-License-Identifier: Apache-2.0
// One of several that hold a name is evicted in the middle of a planned switch.
#include "switched_locks_fixture.h"

namespace oncemq::testing {
namespace {

class SwitchedEvictTest : public SwitchedLocksTest {
 protected:
  // Both hold the name in both stores, under fences of each.
  void ShareAndMove(LockMode mode, std::string_view who_p, std::string_view who_q) {
    first_ = Sharing(mode, who_p);
    second_ = Sharing(mode, who_q);
    const auto granted = p_.locks->Request(first_);
    ASSERT_TRUE(granted.has_value()) << ToString(granted.error());
    fence_ = granted->fence;
    ASSERT_EQ(Request(q_, second_), Kind::kGranted);
    ASSERT_EQ(q_.locks->SwitchTo("b", "")->phase, SwitchMode::kBoth);
    p_.view->Turn();
    // In the other order: their fences tell nothing.
    EXPECT_EQ(Extend(q_, second_), Extended::kYes);
    EXPECT_EQ(Extend(p_, first_), Extended::kYes);
    ASSERT_EQ(Holders("b"), 2u);
  }
  // The second one alone is renewed until the other store is in force.
  void EndTheSwitch() {
    Pass(milliseconds(42'000), {&p_, &q_}, [&] { EXPECT_EQ(Extend(q_, second_), Extended::kYes); });
    ASSERT_EQ(p_.locks->Progress().in_force, "b");
  }
  size_t Holders(const std::string& store) const {
    return stores_.at(store)->Read("x")->parties.size();
  }
  AcquireRequest Sharing(LockMode mode, std::string_view who) {
    AcquireRequest request = New();
    request.mode = mode;
    request.who = who;
    request.limit = mode == LockMode::kCounted ? 2 : 0;
    return request;
  }

  Process p_ = Open();
  Process q_ = Open();
  AcquireRequest first_;
  AcquireRequest second_;
  Fence fence_;
};

TEST_F(SwitchedEvictTest, OneOfTwoReadersIsEvictedInBothStores) {
  ShareAndMove(LockMode::kShared, "p", "q");
  EXPECT_EQ(q_.locks->Evict("x", fence_).value_or(Freed::kNotHeld), Freed::kYes);
  EXPECT_EQ(Holders("a"), 1u);
  EXPECT_EQ(Holders("b"), 1u);
  EXPECT_EQ(Extend(q_, second_), Extended::kYes) << "it was not this one";
  EXPECT_EQ(Extend(p_, first_), Extended::kGone);
  EndTheSwitch();
}

TEST_F(SwitchedEvictTest, OneOfTwoThatAreCountedIsEvictedInBothStores) {
  ShareAndMove(LockMode::kCounted, "p", "q");
  EXPECT_EQ(q_.locks->Evict("x", fence_).value_or(Freed::kNotHeld), Freed::kYes);
  EXPECT_EQ(Request(q_, Sharing(LockMode::kCounted, "r")), Kind::kGranted) << "there is a place";
  EXPECT_EQ(Extend(p_, first_), Extended::kGone);
}

// Whoever believes must not lose what he holds there: then two would.
TEST_F(SwitchedEvictTest, OfThoseWhoSayTheSameOfThemselvesNobodyElseIsEvicted) {
  ShareAndMove(LockMode::kShared, "one process", "one process");
  EXPECT_EQ(q_.locks->Evict("x", fence_).value_or(Freed::kNotHeld), Freed::kYes);
  EXPECT_EQ(Holders("a"), 1u);
  EXPECT_EQ(Holders("b"), 2u) << "one of them until its lease ends";
  EndTheSwitch();
  EXPECT_EQ(Holders("b"), 1u);
}

// His copy of the record is still good, and tells nothing of it.
TEST_F(SwitchedEvictTest, WhatWasGrantedSinceTheSwitchEndedIsNotEvictedByWhoDoesNotKnowThat) {
  first_ = Sharing(LockMode::kExclusive, "one process");
  const auto granted = q_.locks->Request(first_);
  ASSERT_TRUE(granted.has_value()) << ToString(granted.error());
  ASSERT_EQ(q_.locks->SwitchTo("b", "")->phase, SwitchMode::kBoth);
  Pass(milliseconds(38'000), {&p_, &q_}, [&] { EXPECT_EQ(Extend(q_, first_), Extended::kYes); });
  Pass(milliseconds(4'000), {&q_});
  ASSERT_EQ(q_.locks->Progress().phase, SwitchMode::kSingle);
  q_.stores["a"]->cut = true;  // what is left there stays
  ASSERT_EQ(Free(q_, first_), Freed::kYes);
  second_ = Sharing(LockMode::kExclusive, "one process");
  ASSERT_EQ(Request(q_, second_), Kind::kGranted);
  EXPECT_EQ(p_.locks->Evict("x", granted->fence).value_or(Freed::kNotHeld), Freed::kYes);
  EXPECT_EQ(Extend(q_, second_), Extended::kYes);
}

}  // namespace
}  // namespace oncemq::testing
