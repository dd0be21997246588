// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lease_mutex.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <shared_mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "held_lease.h"
#include "support/shaky_locks.h"

namespace oncemq::testing {
namespace {

using Fault = ShakyLocks::Fault;

// A moment by it is as far away as the test says.
struct StandingClock {
  using duration = milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<StandingClock>;
  static constexpr bool is_steady = true;
  static time_point now() { return time_point(milliseconds(1'000)); }
};

class LeaseMutexTest : public ::testing::Test {
 protected:
  LeaseMutexTest() : domain_(*LockDomain::Open(locks_, {.patience = milliseconds(20)})) {}

  size_t Parties(std::string_view name = "x") { return locks_->Read(name)->parties.size(); }
  static std::errc Thrown(const std::function<void()>& call) {
    try {
      call();
    } catch (const std::system_error& error) {
      return std::errc(error.code().value());
    }
    return std::errc();
  }

  // Somebody else has the name for longer than the locker spins.
  void ExpectLockedInTheEnd(LeaseMutex& mutex, const std::function<void()>& lock) {
    auto holder = domain_->Acquire("x");
    std::atomic<bool> locked{false};
    std::jthread waits([&] {
      lock();
      locked = true;
      EXPECT_EQ(Thrown([&] { EXPECT_TRUE(mutex.lease().StillMine()); }), std::errc());
      mutex.unlock();
    });
    while (Parties() < 2 && !locked) {
      std::this_thread::yield();
    }
    EXPECT_FALSE(locked) << "another one holds it";
    (*holder)->Release();
  }

  const std::shared_ptr<ShakyLocks> locks_ = std::make_shared<ShakyLocks>();
  const std::unique_ptr<LockDomain> domain_;
};

TEST_F(LeaseMutexTest, AGuardHoldsTheNameForItsScope) {
  LeaseMutex mutex(*domain_, "x");
  {
    const std::lock_guard guard(mutex);
    EXPECT_EQ(Parties(), 1u);
    EXPECT_TRUE(mutex.lease().StillMine());
    EXPECT_FALSE(mutex.lease().fence().empty());
  }
  EXPECT_EQ(Parties(), 0u);
}

TEST_F(LeaseMutexTest, ThreadsThatShareItExcludeEachOther) {
  LeaseMutex mutex(*domain_, "x");
  int count = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; t++) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; i++) {
          const std::lock_guard guard(mutex);
          count++;
        }
      });
    }
  }
  EXPECT_EQ(count, 400);
}

TEST_F(LeaseMutexTest, TwoAreLockedTogether) {
  LeaseMutex one(*domain_, "one");
  LeaseMutex two(*domain_, "two");
  const std::scoped_lock both(one, two);
  EXPECT_EQ(Parties("one") + Parties("two"), 2u);
}

TEST_F(LeaseMutexTest, ATryGivesUpInTime) {
  LeaseMutex mutex(*domain_, "x");
  const std::lock_guard guard(mutex);
  std::jthread([&] {
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_FALSE(mutex.try_lock_for(milliseconds(20)));
    const std::unique_lock lock(mutex, milliseconds(20));
    EXPECT_FALSE(lock.owns_lock());
  }).join();
}

TEST_F(LeaseMutexTest, ALockThatSpinsComesBackWithTheLease) {
  const LeaseMutexOptions spins{.wait = {LockWait::How::kSpin, milliseconds(1)}};
  LeaseMutex mutex(*domain_, "x", spins);
  ExpectLockedInTheEnd(mutex, [&] { mutex.lock(); });
  ReentrantLeaseMutex reentrant(*domain_, "x", spins);
  ExpectLockedInTheEnd(reentrant, [&] { reentrant.lock(); });
  SharedLeaseMutex shared(*domain_, "x", spins);
  ExpectLockedInTheEnd(shared, [&] { shared.lock(); });
  SharedLeaseMutex reads(*domain_, "x", spins);
  ExpectLockedInTheEnd(reads, [&] { reads.lock_shared(); });
}

TEST_F(LeaseMutexTest, ATryThatHasForEverIsNoTryThatHasNoTime) {
  LeaseMutex mutex(*domain_, "x");
  EXPECT_TRUE(mutex.try_lock_for(std::chrono::hours::max()));
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock_for(milliseconds::max()));
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock_until(std::chrono::system_clock::time_point::max()));
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock_until(std::chrono::steady_clock::time_point{}))
      << "a moment that has passed is one try";
  mutex.unlock();
}

TEST_F(LeaseMutexTest, ATryUntilTheBeginningOfAllTimesIsOneTryAndNoCentury) {
  SharedLeaseMutex mutex(*domain_, "x");
  const std::unique_lock held(mutex);
  std::jthread([&] {
    EXPECT_FALSE(mutex.try_lock_until(std::chrono::system_clock::time_point::min()));
    EXPECT_FALSE(mutex.try_lock_shared_until(std::chrono::steady_clock::time_point::min()));
    EXPECT_FALSE(mutex.try_lock_for(std::chrono::hours::min()));
  }).join();
}

TEST_F(LeaseMutexTest, ReadersShareAndAWriterWaits) {
  SharedLeaseMutex mutex(*domain_, "x");
  const std::shared_lock reads(mutex);
  std::jthread([&] {
    const std::shared_lock reads_too(mutex, std::try_to_lock);
    EXPECT_TRUE(reads_too.owns_lock());
  }).join();
  std::jthread([&] {
    EXPECT_FALSE(mutex.try_lock());
    EXPECT_TRUE(mutex.try_lock_shared_for(milliseconds(20)));
    mutex.unlock_shared();
  }).join();
}

TEST_F(LeaseMutexTest, AReaderTriesUntilAMoment) {
  constexpr auto kNow = StandingClock::time_point(milliseconds(1'000));
  SharedLeaseMutex mutex(*domain_, "x");
  ExpectLockedInTheEnd(
      mutex, [&] { EXPECT_TRUE(mutex.try_lock_shared_until(kNow + std::chrono::hours(1))); });
  mutex.lock_shared();
  std::jthread([&] {
    EXPECT_TRUE(mutex.try_lock_shared_until(kNow - milliseconds(1))) << "one try";
    EXPECT_EQ(Parties(), 2u);
    mutex.unlock_shared();
  }).join();
  mutex.unlock_shared();
  const std::lock_guard writes(mutex);
  std::jthread([&] {
    EXPECT_FALSE(mutex.try_lock_shared_until(kNow));
    EXPECT_FALSE(mutex.try_lock_shared_until(kNow + milliseconds(20)));
  }).join();
}

TEST_F(LeaseMutexTest, TheFenceOfAReaderChecksNothing) {
  SharedLeaseMutex mutex(*domain_, "x");
  const std::shared_lock reads(mutex);
  EXPECT_FALSE(mutex.lease().fence().empty());
  const Status fit = CheckFenceOf(mutex.lease());
  ASSERT_FALSE(fit.has_value());
  EXPECT_EQ(fit.error().code, Code::kInvalid);
  const auto fenced = domain_->Acquire("x", {.mode = LockMode::kShared, .fenced = true});
  ASSERT_FALSE(fenced.has_value());
  EXPECT_EQ(fenced.error().code, Code::kInvalid) << "nothing checks what several do";
}

TEST_F(LeaseMutexTest, WhatItsOptionsSayReachesTheStore) {
  LeaseMutex mutex(*domain_, "x",
                   {.barge = true,
                    .lease = milliseconds(7'000),
                    .max_hold = milliseconds(2'000),
                    .what = "the weekly report"});
  {
    const std::lock_guard guard(mutex);
    const LockView::Party holder = locks_->Read("x")->parties.at(0);
    EXPECT_LE(holder.left, milliseconds(7'000)) << "30 s, unless it is said";
    EXPECT_TRUE(holder.who.ends_with(" the weekly report")) << holder.who;
    EXPECT_LE(mutex.lease().safe_until(), domain_->clock().Boot() + milliseconds(2'000));
  }
  const AcquireRequest waits{.name = "x",
                             .token = {1, 1},
                             .lease = milliseconds(60'000),
                             .queue_lease = milliseconds(60'000)};
  {
    const std::lock_guard guard(mutex);
    EXPECT_EQ(locks_->Request(waits)->kind, LockAnswer::Kind::kQueued);
  }
  EXPECT_TRUE(mutex.try_lock()) << "it may pass the one that waits";
  mutex.unlock();
  EXPECT_FALSE(LeaseMutex(*domain_, "x").try_lock());
}

TEST_F(LeaseMutexTest, AThreadThatHoldsItIsToldInsteadOfWaitingForItself) {
  LeaseMutex mutex(*domain_, "x");
  const std::lock_guard guard(mutex);
  EXPECT_EQ(Thrown([&] { mutex.lock(); }), std::errc::resource_deadlock_would_occur);
}

TEST_F(LeaseMutexTest, AStoreThatIsDownIsThrown) {
  LeaseMutex mutex(*domain_, "x");
  locks_->on_request = Fault::kRefused;
  EXPECT_EQ(Thrown([&] { mutex.lock(); }), std::errc::io_error);
}

class BusyLocks final : public ForwardingLocks {
 public:
  BusyLocks() : ForwardingLocks(MakeMemoryLocks()) {}
  Result<LockAnswer> Request(const AcquireRequest&) override {
    return Error{Code::kBusy, Effect::kNone, "all connections are in use"};
  }
};

TEST_F(LeaseMutexTest, AStoreThatIsBusyIsThrownAsOneToAskAgain) {
  const auto busy =
      *LockDomain::Open(std::make_shared<BusyLocks>(), {.patience = milliseconds(20)});
  LeaseMutex mutex(*busy, "x");
  EXPECT_EQ(Thrown([&] { mutex.lock(); }), std::errc::resource_unavailable_try_again);
}

TEST_F(LeaseMutexTest, WhatIsNotHeldHasNoLease) {
  LeaseMutex mutex(*domain_, "x");
  EXPECT_EQ(Thrown([&] { mutex.lease(); }), std::errc::operation_not_permitted);
  mutex.unlock();  // nothing, as a release of what was never acquired
}

TEST_F(LeaseMutexTest, TheNextEffectThrowsWhereThatIsWanted) {
  LeaseMutex mutex(*domain_, "x", {.on_lost = OnLost::kThrow});
  const std::lock_guard guard(mutex);
  ASSERT_TRUE(locks_->Evict("x", mutex.lease().fence()));
  ASSERT_FALSE(*mutex.lease().Confirm());
  EXPECT_EQ(Thrown([&] { mutex.lease(); }), std::errc::owner_dead);
}

TEST_F(LeaseMutexTest, ALeaseIsToldToStopWhereNothingElseIsWanted) {
  LeaseMutex mutex(*domain_, "x");
  const std::lock_guard guard(mutex);
  ASSERT_TRUE(locks_->Evict("x", mutex.lease().fence()));
  ASSERT_FALSE(*mutex.lease().Confirm());
  EXPECT_EQ(mutex.lease().lost(), LeaseLoss::kTaken);
}

TEST_F(LeaseMutexTest, AReentrantOneIsOneLeaseAndAsManyUnlocksAsLocks) {
  ReentrantLeaseMutex mutex(*domain_, "x");
  mutex.lock();
  const Fence fence = mutex.lease().fence();
  mutex.lock();
  EXPECT_EQ(mutex.lease().fence(), fence) << "an inner effect must not fence off the outer one";
  mutex.unlock();
  EXPECT_EQ(Parties(), 1u);
  EXPECT_TRUE(mutex.lease().StillMine());
  mutex.unlock();
  EXPECT_EQ(Parties(), 0u);
}

TEST_F(LeaseMutexTest, AReentrantOneThatIsLostIsNotEnteredAgain) {
  ReentrantLeaseMutex mutex(*domain_, "x");
  const std::lock_guard guard(mutex);
  ASSERT_TRUE(locks_->Evict("x", mutex.lease().fence()));
  ASSERT_FALSE(*mutex.lease().Confirm());
  EXPECT_EQ(Thrown([&] { mutex.lock(); }), std::errc::owner_dead);
}

using LeaseMutexDeathTest = LeaseMutexTest;

TEST_F(LeaseMutexDeathTest, TheProcessEndsWhereThatIsWanted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const auto locks = std::make_shared<ShakyLocks>();
        const auto domain = *LockDomain::Open(locks);
        LeaseMutex mutex(*domain, "x", {.on_lost = OnLost::kTerminate});
        mutex.lock();
        static_cast<void>(locks->Evict("x", mutex.lease().fence()));
        static_cast<void>(mutex.lease().Confirm());
        std::atomic<bool> never{false};
        never.wait(false);
      },
      "the process ends, because a lease was lost");
}

// They would have to return first, were the end one of them.
TEST_F(LeaseMutexDeathTest, TheProcessEndsThoughCallbacksOfTheLossBlock) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const auto locks = std::make_shared<ShakyLocks>();
        const auto domain = *LockDomain::Open(locks);
        auto lease = *domain->Acquire("x");
        const auto blocks = [] { std::atomic<bool>(false).wait(false); };
        const std::stop_callback earlier(lease->stop(), blocks);
        HeldLease held;
        held.Keep(*std::move(lease), OnLost::kTerminate);
        const std::stop_callback later(held.lease.stop(), blocks);
        static_cast<void>(locks->Evict("x", held.lease.fence()));
        static_cast<void>(held.lease.Confirm());
        std::_Exit(0);  // behind the answer that tells of the loss
      },
      "the process ends, because a lease was lost");
}

TEST_F(LeaseMutexDeathTest, TheProcessEndsWithALeaseThatWasLostBeforeItWasKept) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const auto locks = std::make_shared<ShakyLocks>();
        const auto domain = *LockDomain::Open(locks);
        auto lease = *domain->Acquire("x");
        static_cast<void>(locks->Evict("x", lease->fence()));
        static_cast<void>(lease->Confirm());
        HeldLease held;
        held.Keep(*std::move(lease), OnLost::kTerminate);
        std::_Exit(0);
      },
      "the process ends, because a lease was lost");
}

}  // namespace
}  // namespace oncemq::testing
