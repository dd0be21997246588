// SPDX-License-Identifier: Apache-2.0
// Time: holds and places that end by themselves.
#include "lock_test.h"

namespace oncemq::conformance {
namespace {

LOCK_TEST(Always, AHoldEndsWithItsLease) {
  const LockAnswer first = Request(NewBrief(lease()));
  ASSERT_EQ(first.kind, Kind::kGranted);
  Pass(lease() + milliseconds(20));
  const LockAnswer second = RequestUntilGranted(New());
  EXPECT_EQ(second.kind, Kind::kGranted);
  if (can().fence) {
    EXPECT_GT(second.fence, first.fence);
  }
}

LOCK_TEST(Always, AnExtendedHoldDoesNotEndWithItsFirstLease) {
  UntilInTime([&](milliseconds lasts) {
    const Requester holder = NewBrief(lasts);
    Requester other = New();
    other.queue = false;
    BootTime since = BootNow();
    bool in_time = RequestUntilGranted(holder).kind == Kind::kGranted;
    EXPECT_TRUE(in_time);
    for (int i = 0; i < 3; i++) {
      Pass(lasts / 2);
      const BootTime asked = BootNow();
      const Extended extended = Extend(holder);
      in_time = in_time && BootNow() - since < lasts;
      EXPECT_TRUE(!in_time || extended == Extended::kYes);
      since = asked;
    }
    const Kind kind = Request(other).kind;
    in_time = in_time && BootNow() - since < lasts;
    EXPECT_TRUE(!in_time || kind == Kind::kBusy);
    Free(holder);
    Free(other);
    return in_time;
  });
}

LOCK_TEST(Always, ARepeatedAskCountsTheLeaseFromNowOn) {
  UntilInTime([&](milliseconds lasts) {
    const Requester holder = NewBrief(lasts);
    Requester other = New();
    other.queue = false;
    EXPECT_EQ(RequestUntilGranted(holder).kind, Kind::kGranted);
    Pass(lasts / 2);
    const BootTime since = BootNow();
    EXPECT_EQ(RequestUntilGranted(holder).kind, Kind::kGranted);
    Pass(lasts * 3 / 4);
    const Kind kind = Request(other).kind;
    const bool in_time = BootNow() - since < lasts;
    EXPECT_TRUE(!in_time || kind == Kind::kBusy);
    Free(holder);
    Free(other);
    return in_time;
  });
}

LOCK_TEST(Always, AHoldThatEndedIsNotRevivedByAnExtension) {
  const Requester holder = NewBrief(lease());
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  Pass(lease() + milliseconds(20));
  EXPECT_EQ(Extend(holder), Extended::kGone) << "somebody may have had it in between";
  EXPECT_EQ(Free(holder), Freed::kNotHeld);
  EXPECT_EQ(RequestUntilGranted(New()).kind, Kind::kGranted);
}

LOCK_TEST(Always, AnExtensionByTheFormerHolderDoesNotTouchTheNext) {
  const Requester former = NewBrief(lease());
  ASSERT_EQ(Request(former).kind, Kind::kGranted);
  Pass(lease() + milliseconds(20));
  const Requester next = New();
  ASSERT_EQ(RequestUntilGranted(next).kind, Kind::kGranted);
  EXPECT_EQ(Extend(former), Extended::kGone);
  EXPECT_EQ(Free(former), Freed::kNotHeld);
  EXPECT_EQ(Extend(next), Extended::kYes);
}

LOCK_TEST(IfFair, AWaiterThatDiedIsPassed) {
  const Requester holder = New();
  const Requester next = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  ASSERT_EQ(Request(NewBrief(lease())).kind, Kind::kQueued);
  Pass(lease() * 3 / 4);
  ASSERT_EQ(Extend(holder), Extended::kYes);
  ASSERT_EQ(Request(next).kind, Kind::kQueued);
  Pass(lease() / 2);
  ASSERT_EQ(Free(holder), Freed::kYes);
  EXPECT_EQ(Request(next).kind, Kind::kGranted);
}

LOCK_TEST(IfFair, AQueuedAskIsToldWhenWhatIsAheadEndsByItself) {
  UntilInTime([&](milliseconds lasts) {
    const Requester holder = NewBrief(lasts);
    const Requester waiter = NewBrief(lasts);
    const BootTime since = BootNow();
    EXPECT_EQ(Request(holder).kind, Kind::kGranted);
    const LockAnswer answer = Request(waiter);
    bool in_time = BootNow() - since < lasts;
    if (in_time) {
      EXPECT_EQ(answer.kind, Kind::kQueued);
      EXPECT_GT(answer.again, milliseconds(0));
      EXPECT_LE(answer.again, lasts);
    }
    Pass(lasts / 2);
    const Kind kept = Request(waiter).kind;
    in_time = in_time && BootNow() - since < lasts;
    EXPECT_TRUE(!in_time || kept == Kind::kQueued) << "keeps the place";
    Pass(lasts / 2 + milliseconds(20));
    EXPECT_EQ(RequestUntilGranted(waiter).kind, Kind::kGranted);
    Free(waiter);
    Free(holder);
    return in_time;
  });
}

}  // namespace
}  // namespace oncemq::conformance
