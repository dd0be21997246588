// SPDX-License-Identifier: Apache-2.0
// Time: holds and places that end by themselves.
#include "lock_test.h"

namespace oncemq::conformance {
namespace {

LOCK_TEST(Always, AHoldEndsWithItsLease) {
  const Asker holder = New();
  const LockAnswer first = Ask(holder);
  ASSERT_EQ(first.kind, Kind::kGranted);
  Pass(lease() + milliseconds(20));
  const Asker next = New();
  const LockAnswer second = Ask(next);
  EXPECT_EQ(second.kind, Kind::kGranted);
  if (can().fence) {
    EXPECT_GT(second.fence, first.fence);
  }
}

LOCK_TEST(Always, AnExtendedHoldDoesNotEndWithItsFirstLease) {
  const Asker holder = New();
  ASSERT_EQ(Ask(holder).kind, Kind::kGranted);
  for (int i = 0; i < 3; i++) {
    Pass(lease() / 2);
    ASSERT_EQ(Extend(holder), Extended::kYes);
  }
  Asker other = New();
  other.queue = false;
  EXPECT_EQ(Ask(other).kind, Kind::kBusy);
}

LOCK_TEST(Always, ARepeatedAskCountsTheLeaseFromNowOn) {
  const Asker holder = New();
  ASSERT_EQ(Ask(holder).kind, Kind::kGranted);
  Pass(lease() / 2);
  ASSERT_EQ(Ask(holder).kind, Kind::kGranted);
  Pass(lease() * 3 / 4);
  Asker other = New();
  other.queue = false;
  EXPECT_EQ(Ask(other).kind, Kind::kBusy);
}

LOCK_TEST(Always, AHoldThatEndedIsNotRevivedByAnExtension) {
  const Asker holder = New();
  ASSERT_EQ(Ask(holder).kind, Kind::kGranted);
  Pass(lease() + milliseconds(20));
  EXPECT_EQ(Extend(holder), Extended::kGone) << "somebody may have had it in between";
  EXPECT_EQ(Free(holder), Freed::kNotHeld);
  EXPECT_EQ(Ask(New()).kind, Kind::kGranted);
}

LOCK_TEST(Always, AnExtensionByTheFormerHolderDoesNotTouchTheNext) {
  const Asker former = New();
  ASSERT_EQ(Ask(former).kind, Kind::kGranted);
  Pass(lease() + milliseconds(20));
  const Asker next = New();
  ASSERT_EQ(Ask(next).kind, Kind::kGranted);
  EXPECT_EQ(Extend(former), Extended::kGone);
  EXPECT_EQ(Free(former), Freed::kNotHeld);
  EXPECT_EQ(Extend(next), Extended::kYes);
}

LOCK_TEST(IfFair, AWaiterThatDiedIsPassed) {
  const Asker holder = New();
  const Asker dead = New();
  const Asker next = New();
  ASSERT_EQ(Ask(holder).kind, Kind::kGranted);
  ASSERT_EQ(Ask(dead).kind, Kind::kQueued);
  Pass(lease() * 3 / 4);
  ASSERT_EQ(Extend(holder), Extended::kYes);
  ASSERT_EQ(Ask(next).kind, Kind::kQueued);
  Pass(lease() / 2);
  ASSERT_EQ(Free(holder), Freed::kYes);
  EXPECT_EQ(Ask(next).kind, Kind::kGranted);
}

LOCK_TEST(IfFair, AQueuedAskIsToldWhenWhatIsAheadEndsByItself) {
  const Asker holder = New();
  const Asker waiter = New();
  ASSERT_EQ(Ask(holder).kind, Kind::kGranted);
  const LockAnswer answer = Ask(waiter);
  ASSERT_EQ(answer.kind, Kind::kQueued);
  EXPECT_GT(answer.again, milliseconds(0));
  EXPECT_LE(answer.again, lease());
  Pass(lease() / 2);
  ASSERT_EQ(Ask(waiter).kind, Kind::kQueued) << "keeps the place";
  Pass(lease() / 2 + milliseconds(20));
  EXPECT_EQ(Ask(waiter).kind, Kind::kGranted);
}

}  // namespace
}  // namespace oncemq::conformance
