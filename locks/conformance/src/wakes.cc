// SPDX-License-Identifier: Apache-2.0
// Waiting for a turn.
#include <atomic>
#include <thread>
#include <vector>

#include "lock_test.h"

namespace oncemq::conformance {
namespace {

// Longer than any test takes: what ends such a wait is a wake.
constexpr milliseconds kLong{10'000};

// Many times, so that some of the waiters sleep when their turn comes.
LOCK_TEST(IfWakes, AReleaseWakesTheNextOne) {
  for (int round = 0; round < 20; round++) {
    const Requester holder = New();
    const Requester waiter = New();
    ASSERT_EQ(Request(holder).kind, Kind::kGranted);
    ASSERT_EQ(Request(waiter).kind, Kind::kQueued);
    std::atomic<bool> waiting{false};
    BootTime woken;
    std::jthread waits([&] {
      waiting = true;
      Await(waiter, kLong);
      woken = BootNow();
    });
    while (!waiting) {
      std::this_thread::yield();
    }
    for (int i = 0; i < 500; i++) {
      std::this_thread::yield();
    }
    const BootTime freed = BootNow();
    ASSERT_EQ(Free(holder), Freed::kYes);
    waits.join();
    ASSERT_LT(woken - freed, kLong / 2) << "round " << round;
    ASSERT_EQ(Request(waiter).kind, Kind::kGranted);
    ASSERT_EQ(Free(waiter), Freed::kYes);
  }
}

LOCK_TEST(IfWakes, ATurnThatCameBeforeTheWaitIsNotMissed) {
  const Requester holder = New();
  const Requester waiter = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  ASSERT_EQ(Request(waiter).kind, Kind::kQueued);
  ASSERT_EQ(Free(holder), Freed::kYes);
  const BootTime began = BootNow();
  Await(waiter, kLong);
  EXPECT_LT(BootNow() - began, kLong / 2);
}

LOCK_TEST(IfWakes, OneWhoGivesUpWakesTheNextOne) {
  const Requester holder = New();
  const Requester first = New();
  const Requester second = New();
  ASSERT_EQ(Request(holder).kind, Kind::kGranted);
  ASSERT_EQ(Request(first).kind, Kind::kQueued);
  ASSERT_EQ(Request(second).kind, Kind::kQueued);
  ASSERT_EQ(Free(holder), Freed::kYes);
  const BootTime began = BootNow();
  std::jthread waits([&] { Await(second, kLong); });
  EXPECT_EQ(Free(first), Freed::kNotHeld) << "it was its turn, and it does not want it";
  waits.join();
  EXPECT_LT(BootNow() - began, kLong / 2);
  EXPECT_EQ(Request(second).kind, Kind::kGranted);
}

// It may end early, as a wake is a hint; not again and again.
LOCK_TEST(IfFair, AWaitEndsWhenItIsToEnd) {
  ASSERT_EQ(Request(New()).kind, Kind::kGranted);
  const Requester waiter = New();
  const BootTime until = BootNow() + milliseconds(50);
  int waits = 0;
  for (; BootNow() < until; waits++) {
    ASSERT_EQ(Request(waiter).kind, Kind::kQueued);
    Await(waiter, std::chrono::ceil<milliseconds>(until - BootNow()));
  }
  EXPECT_LT(BootNow(), until + kLong / 2);
  EXPECT_LE(waits, 3);
}

LOCK_TEST(IfFair, AWaitEndsWhenAStopIsRequested) {
  ASSERT_EQ(Request(New()).kind, Kind::kGranted);
  const Requester waiter = New();
  ASSERT_EQ(Request(waiter).kind, Kind::kQueued);
  std::stop_source stop;
  const BootTime began = BootNow();
  std::jthread waits([&] { Await(waiter, kLong, stop.get_token()); });
  stop.request_stop();
  waits.join();
  EXPECT_LT(BootNow() - began, kLong / 2);
}

// A herd of n would be woken n * n / 2 times; fewer where some wakes come together, as on a slow
// machine. So more than one round.
LOCK_TEST(IfWakes, AHandOverWakesOneAndNotAll) {
  constexpr size_t kWaiters = 12;
  for (int round = 0; round < 4 && !HasFailure(); round++) {
    const Requester holder = New();
    ASSERT_EQ(Request(holder).kind, Kind::kGranted);
    std::vector<Requester> waiters;
    for (size_t i = 0; i < kWaiters; i++) {
      waiters.push_back(New());
      ASSERT_EQ(Request(waiters.back()).kind, Kind::kQueued);
    }
    std::atomic<size_t> wakes{0};
    std::vector<std::jthread> threads;
    for (const Requester& waiter : waiters) {
      threads.emplace_back([&, waiter] {
        do {
          Await(waiter, kLong);
          wakes++;
        } while (Request(waiter).kind != Kind::kGranted && !HasFailure());
        EXPECT_EQ(Free(waiter), Freed::kYes);
      });
    }
    ASSERT_EQ(Free(holder), Freed::kYes);
    threads.clear();
    EXPECT_LE(wakes.load(), kWaiters * 3) << "each was woken in its turn";
  }
}

}  // namespace
}  // namespace oncemq::conformance
