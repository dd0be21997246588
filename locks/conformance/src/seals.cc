// SPDX-License-Identifier: Apache-2.0
// The seal of a switch: who did not hear of it is refused by the store.
#include "lock_test.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq::conformance {
namespace {

Requester In(uint32_t epoch, Requester requester) {
  requester.epoch = epoch;
  return requester;
}

uint32_t Sealed(LockEngine& engine, uint32_t epoch) {
  const Result<uint32_t> now = engine.Seal(epoch);
  EXPECT_TRUE(now.has_value()) << ToString(now.error());
  return now.value_or(0u);
}

LOCK_TEST(IfSeals, AStoreThatNobodySealedIsInEpochNought) {
  EXPECT_EQ(Sealed(engine(), 0), 0u);
}

LOCK_TEST(IfSeals, ASealNeverGoesBack) {
  EXPECT_EQ(Sealed(engine(), 7), 7u);
  EXPECT_EQ(Sealed(engine(), 3), 7u);
  EXPECT_EQ(Sealed(engine(), 0), 7u);
}

LOCK_TEST(IfSeals, WhoAsksInAnotherEpochIsRefusedAndLeavesNothing) {
  Sealed(engine(), 7);
  for (const uint32_t epoch : {0u, 6u, 8u}) {
    const LockAnswer answer = Request(In(epoch, New()));
    EXPECT_EQ(answer.kind, Kind::kSealed) << epoch;
    EXPECT_EQ(answer.fence.epoch, 7u) << epoch;
  }
  EXPECT_TRUE(Read().parties.empty());
  EXPECT_EQ(Request(In(7, New())).kind, Kind::kGranted);
}

LOCK_TEST(IfSeals, WhatIsHeldStaysHeldAcrossASeal) {
  const Requester holder = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  Sealed(engine(), 1);
  EXPECT_EQ(Extend(holder), Extended::kYes);
  EXPECT_NE(Request(In(1, New())).kind, Kind::kGranted);
  EXPECT_EQ(Free(holder), Freed::kYes);
}

LOCK_TEST(IfSealsAndFenced, AFenceBeginsWithItsEpochAndKeepsIt) {
  const Requester first = New();
  const LockAnswer before = Request(first);
  Sealed(engine(), 2);
  ASSERT_EQ(Free(first), Freed::kYes);
  const Requester second = In(2, New());
  const LockAnswer after = Request(second);
  ASSERT_EQ(after.kind, Kind::kGranted);
  EXPECT_EQ(after.fence.epoch, 2u);
  EXPECT_GT(after.fence, before.fence);
  EXPECT_EQ(Request(second).fence, after.fence);
  const LockView view = Read();
  ASSERT_EQ(view.parties.size(), 1u);
  EXPECT_EQ(view.parties[0].fence, after.fence);
  const Result<Freed> evicted = engine().Evict("x", after.fence);
  ASSERT_TRUE(evicted.has_value()) << ToString(evicted.error());
  EXPECT_EQ(*evicted, Freed::kYes);
}

LOCK_TEST(IfSealsAndFenced, AFenceOfAnotherEpochEvictsNobody) {
  Sealed(engine(), 2);
  const Requester holder = In(2, New());
  LockAnswer granted = Request(holder);
  granted.fence.epoch = 1;
  const Result<Freed> evicted = engine().Evict("x", granted.fence);
  ASSERT_TRUE(evicted.has_value()) << ToString(evicted.error());
  EXPECT_EQ(*evicted, Freed::kNotHeld);
}

LOCK_TEST(IfSeals, ADomainThatKnowsNoSwitchboardIsToldWhy) {
  Sealed(engine(), 1);
  auto domain = LockDomain::Open(shared_engine());
  ASSERT_TRUE(domain.has_value()) << ToString(domain.error());
  const auto lease = (*domain)->TryAcquire("x");
  ASSERT_FALSE(lease.has_value());
  EXPECT_EQ(lease.error().code, Code::kFenced);
  EXPECT_EQ(lease.error().effect, Effect::kNone);
}

}  // namespace
}  // namespace oncemq::conformance
