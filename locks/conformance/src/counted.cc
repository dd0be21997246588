// SPDX-License-Identifier: Apache-2.0
// Holds that are counted: several of a name at a time, and no more than a request allows.
#include <atomic>
#include <thread>
#include <vector>

#include "lock_test.h"

namespace oncemq::conformance {
namespace {

// Longer than any test takes: what ends such a wait is a wake.
constexpr milliseconds kLongWait{10'000};

LOCK_TEST(IfNotCounted, ACountedAskIsRefusedWhereNobodyCounts) {
  const Result<LockAnswer> answer = engine().Request(RequestOf(NewCounted(2)));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kInvalid);
  EXPECT_EQ(answer.error().effect, Effect::kNone);
}

LOCK_TEST(IfCounted, AsManyHoldANameAsTheLimitSays) {
  Fence last;
  for (int i = 0; i < 3; i++) {
    const LockAnswer answer = Request(NewCounted(3));
    ASSERT_EQ(answer.kind, Kind::kGranted) << i;
    EXPECT_GT(answer.fence, last) << "each has a fence of its own";
    last = answer.fence;
  }
  Requester busy = NewCounted(3);
  busy.queue = false;
  EXPECT_EQ(Request(busy).kind, Kind::kBusy);
  EXPECT_EQ(Request(NewCounted(3)).kind, Kind::kQueued);
  const LockView view = Read();
  ASSERT_EQ(view.parties.size(), 4u);
  for (size_t i = 0; i < 4; i++) {
    EXPECT_EQ(view.parties[i].holds, i < 3);
    EXPECT_EQ(view.parties[i].mode, LockMode::kCounted);
  }
}

LOCK_TEST(IfCounted, ALimitOfOneExcludesLikeAWriter) {
  const Requester holder = NewCounted(1);
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  const Requester next = NewCounted(1);
  EXPECT_EQ(Request(next).kind, Kind::kQueued);
  ASSERT_EQ(Free(holder), Freed::kYes);
  EXPECT_EQ(Request(next).kind, Kind::kGranted);
}

LOCK_TEST(IfCounted, ACountedHoldAndAWriterExcludeEachOther) {
  const Requester one = NewCounted(3);
  const Requester writer = New();
  const Requester late = NewCounted(3);
  ASSERT_EQ(Request(one).kind, Kind::kGranted);
  ASSERT_EQ(Request(writer).kind, Kind::kQueued);
  EXPECT_EQ(Request(late).kind, Kind::kQueued) << "those who keep coming would starve the writer";
  ASSERT_EQ(Free(one), Freed::kYes);
  ASSERT_EQ(Request(writer).kind, Kind::kGranted);
  EXPECT_EQ(Request(late).kind, Kind::kQueued);
  ASSERT_EQ(Free(writer), Freed::kYes);
  EXPECT_EQ(Request(late).kind, Kind::kGranted);
}

LOCK_TEST(IfCountedAndShared, ACountedHoldAndAReaderExcludeEachOther) {
  const Requester counted = NewCounted(3);
  const Requester reader = NewReader();
  const Requester late = NewCounted(3);
  ASSERT_EQ(Request(counted).kind, Kind::kGranted);
  ASSERT_EQ(Request(reader).kind, Kind::kQueued);
  EXPECT_EQ(Request(late).kind, Kind::kQueued);
  ASSERT_EQ(Free(counted), Freed::kYes);
  ASSERT_EQ(Request(reader).kind, Kind::kGranted);
  EXPECT_EQ(Request(late).kind, Kind::kQueued);
  EXPECT_EQ(Request(NewReader()).kind, Kind::kQueued) << "a reader does not pass one that waits";
}

LOCK_TEST(IfCounted, AFreedPlaceIsForTheFirstWhoWaits) {
  const Requester one = NewCounted(2);
  const Requester two = NewCounted(2);
  const Requester first = NewCounted(2);
  const Requester second = NewCounted(2);
  ASSERT_EQ(Request(one).kind, Kind::kGranted);
  ASSERT_EQ(Request(two).kind, Kind::kGranted);
  ASSERT_EQ(Request(first).kind, Kind::kQueued);
  ASSERT_EQ(Request(second).kind, Kind::kQueued);
  ASSERT_EQ(Free(one), Freed::kYes);
  EXPECT_EQ(Request(second).kind, Kind::kQueued);
  EXPECT_EQ(Request(NewCounted(2)).kind, Kind::kQueued) << "nor is it for a newcomer";
  EXPECT_EQ(Request(first).kind, Kind::kGranted);
  EXPECT_EQ(Request(second).kind, Kind::kQueued);
}

LOCK_TEST(IfCounted, EachOfThoseWhoseTurnItIsMayAskFirst) {
  const Requester one = NewCounted(2);
  const Requester two = NewCounted(2);
  const Requester first = NewCounted(2);
  const Requester second = NewCounted(2);
  for (const Requester& requester : {one, two}) {
    ASSERT_EQ(Request(requester).kind, Kind::kGranted);
  }
  ASSERT_EQ(Request(first).kind, Kind::kQueued);
  ASSERT_EQ(Request(second).kind, Kind::kQueued);
  ASSERT_EQ(Free(one), Freed::kYes);
  ASSERT_EQ(Free(two), Freed::kYes);
  EXPECT_EQ(Request(second).kind, Kind::kGranted);
  EXPECT_EQ(Request(first).kind, Kind::kGranted) << "its place was kept";
}

LOCK_TEST(IfCounted, EachHoldIsExtendedAndEndsByItself) {
  UntilInTime([&](milliseconds lasts) {
    Requester one = NewCounted(2);
    Requester two = NewCounted(2);
    const Requester three = NewCounted(2);
    const Requester four = NewCounted(2);
    one.lasts = two.lasts = lasts;
    EXPECT_EQ(Request(one).kind, Kind::kGranted);
    BootTime since = BootNow();
    bool in_time = true;
    // What was answered within a lease is sure; the next one counts from `at`.
    const auto judge = [&](BootTime at, bool right, const char* what) {
      in_time = in_time && BootNow() - since < lasts;
      EXPECT_TRUE(!in_time || right) << what;
      since = at;
    };
    const Fence fence = Request(two).fence;
    Pass(lasts / 2);
    BootTime asked = BootNow();
    judge(asked, Extend(two) == Extended::kYes, "the first time");
    Pass(lasts * 3 / 4);
    EXPECT_EQ(Extend(one), Extended::kGone);
    asked = BootNow();
    judge(asked, Extend(two) == Extended::kYes, "the second time");
    asked = BootNow();
    judge(asked, Request(two).fence == fence, "a repeated ask finds its own hold");
    EXPECT_EQ(Request(three).kind, Kind::kGranted);
    judge(since, Request(four).kind != Kind::kGranted, "a third one");
    for (const Requester& requester : {one, two, three, four}) {
      Free(requester);
    }
    return in_time;
  });
}

LOCK_TEST(IfCounted, AnEvictionAndAnAskBackMeanTheRightHolds) {
  const Requester one = NewCounted(2);
  const Requester two = NewCounted(2);
  const Fence fence = Request(one).fence;
  ASSERT_EQ(Request(two).kind, Kind::kGranted);
  EXPECT_EQ(*engine().Recall("x"), 2u);
  EXPECT_EQ(Extend(two), Extended::kRecalled);
  EXPECT_EQ(*engine().Evict("x", fence), Freed::kYes);
  EXPECT_EQ(Extend(one), Extended::kGone);
  EXPECT_EQ(Extend(two), Extended::kRecalled);
}

// Nothing is kept of a limit but with those who wait.
LOCK_TEST(IfCounted, EachAskIsJudgedByItsOwnLimit) {
  ASSERT_EQ(Request(NewCounted(1)).kind, Kind::kGranted);
  const Requester three = NewCounted(3);
  ASSERT_EQ(Request(three).kind, Kind::kGranted);
  Requester two = NewCounted(2);
  two.queue = false;
  EXPECT_EQ(Request(two).kind, Kind::kBusy);
  EXPECT_EQ(Request(NewCounted(3)).kind, Kind::kGranted);
  EXPECT_EQ(Request(NewCounted(3)).kind, Kind::kQueued);
}

LOCK_TEST(IfCounted, WhoWaitsWithALowLimitIsNotPassedByHigherOnes) {
  const Requester one = NewCounted(4);
  const Requester two = NewCounted(4);
  const Requester low = NewCounted(1);
  const Requester high = NewCounted(4);
  ASSERT_EQ(Request(one).kind, Kind::kGranted);
  ASSERT_EQ(Request(two).kind, Kind::kGranted);
  ASSERT_EQ(Request(low).kind, Kind::kQueued);
  ASSERT_EQ(Request(high).kind, Kind::kQueued)
      << "there is room for it, and it would starve the other";
  ASSERT_EQ(Free(one), Freed::kYes);
  EXPECT_EQ(Request(high).kind, Kind::kQueued);
  ASSERT_EQ(Free(two), Freed::kYes);
  EXPECT_EQ(Request(high).kind, Kind::kQueued) << "with it there would be no place for the first";
  EXPECT_EQ(Request(low).kind, Kind::kGranted);
  EXPECT_EQ(Request(high).kind, Kind::kGranted) << "it is judged by its own limit now";
}

LOCK_TEST(IfCountedAndUnfair, ABargingOnePassesThoseOfItsModeOnly) {
  const Requester one = NewCounted(2);
  const Requester two = NewCounted(2);
  ASSERT_EQ(Request(one).kind, Kind::kGranted);
  ASSERT_EQ(Request(two).kind, Kind::kGranted);
  ASSERT_EQ(Request(NewCounted(2)).kind, Kind::kQueued);
  Requester barging = NewCounted(2);
  barging.barge = true;
  barging.queue = false;
  EXPECT_EQ(Request(barging).kind, Kind::kBusy);
  ASSERT_EQ(Free(one), Freed::kYes);
  EXPECT_EQ(Request(barging).kind, Kind::kGranted);
  ASSERT_EQ(Free(barging), Freed::kYes);
  ASSERT_EQ(Request(New()).kind, Kind::kQueued);
  barging = NewCounted(2);
  barging.barge = true;
  barging.queue = false;
  EXPECT_EQ(Request(barging).kind, Kind::kBusy) << "a writer waits";
}

// More than once: an engine that begins to listen for its first waiter wakes it to be sure.
LOCK_TEST(IfCountedAndWakes, AFreedPlaceWakesTheFirstWhoWaits) {
  for (int round = 0; round < 3; round++) {
    const Requester one = NewCounted(2);
    const Requester two = NewCounted(2);
    const Requester waiter = NewCounted(2);
    ASSERT_EQ(Request(one).kind, Kind::kGranted);
    ASSERT_EQ(Request(two).kind, Kind::kGranted);
    ASSERT_EQ(Request(waiter).kind, Kind::kQueued);
    ASSERT_EQ(Free(one), Freed::kYes);
    const BootTime began = BootNow();
    Await(waiter, kLongWait);
    ASSERT_LT(BootNow() - began, kLongWait / 2) << round;
    ASSERT_EQ(Request(waiter).kind, Kind::kGranted);
    ASSERT_EQ(Free(waiter), Freed::kYes);
    ASSERT_EQ(Free(two), Freed::kYes);
  }
}

LOCK_TEST(IfCountedAndWakes, WhenALowLimitWaitsNoLongerThoseBehindAreWoken) {
  for (int round = 0; round < 3; round++) {
    const Requester holder = NewCounted(4);
    const Requester low = NewCounted(1);
    const Requester high = NewCounted(4);
    ASSERT_EQ(Request(holder).kind, Kind::kGranted);
    ASSERT_EQ(Request(low).kind, Kind::kQueued);
    ASSERT_EQ(Request(high).kind, Kind::kQueued);
    ASSERT_EQ(Free(holder), Freed::kYes);
    ASSERT_EQ(Request(low).kind, Kind::kGranted);
    const BootTime began = BootNow();
    Await(high, kLongWait);
    ASSERT_LT(BootNow() - began, kLongWait / 2) << round;
    ASSERT_EQ(Request(high).kind, Kind::kGranted);
    ASSERT_EQ(Free(high), Freed::kYes);
    ASSERT_EQ(Free(low), Freed::kYes);
  }
}

// A herd of n would be woken n * n / 2 times.
LOCK_TEST(IfCountedAndWakes, AFreedPlaceWakesOneAndNotAll) {
  constexpr size_t kWaiters = 12;
  const Requester holders[] = {NewCounted(3), NewCounted(3), NewCounted(3)};
  for (const Requester& holder : holders) {
    ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  }
  std::vector<Requester> waiters;
  for (size_t i = 0; i < kWaiters; i++) {
    waiters.push_back(NewCounted(3));
    ASSERT_EQ(Request(waiters.back()).kind, Kind::kQueued);
  }
  std::atomic<size_t> wakes{0};
  std::vector<std::jthread> threads;
  for (const Requester& waiter : waiters) {
    threads.emplace_back([&, waiter] {
      do {
        Await(waiter, kLongWait);
        wakes++;
      } while (Request(waiter).kind != Kind::kGranted && !HasFailure());
      EXPECT_EQ(Free(waiter), Freed::kYes);
    });
  }
  for (const Requester& holder : holders) {
    ASSERT_EQ(Free(holder), Freed::kYes);
  }
  threads.clear();
  EXPECT_LE(wakes.load(), kWaiters * 3) << "each was woken in its turn";
}

}  // namespace
}  // namespace oncemq::conformance
