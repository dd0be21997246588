// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/lease_semaphore.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <system_error>
#include <thread>

#include "support/calls_of_this_thread.h"
#include "support/log_file.h"
#include "support/shaky_locks.h"

namespace oncemq::testing {
namespace {

class LeaseSemaphoreTest : public ::testing::Test {
 protected:
  LeaseSemaphoreTest() : domain_(*LockDomain::Open(locks_, {.patience = milliseconds(20)})) {}

  size_t Parties() { return locks_->Read("x")->parties.size(); }
  static std::errc Thrown(const std::function<void()>& call) {
    try {
      call();
    } catch (const std::system_error& error) {
      return std::errc(error.code().value());
    }
    return std::errc();
  }

  const std::shared_ptr<ShakyLocks> locks_ = std::make_shared<ShakyLocks>();
  const std::unique_ptr<LockDomain> domain_;
};

TEST_F(LeaseSemaphoreTest, EachPermitIsALeaseOfItsOwn) {
  LeaseSemaphore permits(*domain_, "x", 2);
  permits.acquire();
  const Fence first = permits.lease().fence();
  EXPECT_TRUE(permits.try_acquire());
  EXPECT_GT(permits.lease().fence(), first);
  EXPECT_EQ(permits.lease().mode(), LockMode::kCounted);
  EXPECT_FALSE(permits.try_acquire());
  EXPECT_FALSE(permits.try_acquire_for(milliseconds(5)));
  EXPECT_FALSE(permits.try_acquire_until(std::chrono::steady_clock::time_point{}));
  permits.release();
  EXPECT_EQ(permits.lease().fence(), first) << "the one that was taken last goes first";
  EXPECT_TRUE(permits.try_acquire_for(std::chrono::hours::max()));
  permits.release(2);
  EXPECT_EQ(Parties(), 0u);
}

TEST_F(LeaseSemaphoreTest, AnAcquireThatSpinsComesBackWithThePermit) {
  LeaseSemaphore permits(*domain_, "x", 1, {.wait = {LockWait::How::kSpin, milliseconds(1)}});
  auto holder = domain_->Acquire("x");
  std::atomic<bool> acquired{false};
  std::jthread waits([&] {
    permits.acquire();
    acquired = true;
    EXPECT_EQ(Thrown([&] { EXPECT_TRUE(permits.lease().StillMine()); }), std::errc());
  });
  while (Parties() < 2 && !acquired) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(acquired) << "another one holds it";
  (*holder)->Release();
}

TEST_F(LeaseSemaphoreTest, AnyThreadMayRelease) {
  LeaseSemaphore permits(*domain_, "x", 1);
  permits.acquire();
  std::jthread([&] { permits.release(); }).join();
  EXPECT_EQ(Parties(), 0u);
  EXPECT_TRUE(permits.try_acquire());
}

TEST_F(LeaseSemaphoreTest, AThreadReleasesItsOwnPermitBeforeThoseOfOthers) {
  LeaseSemaphore permits(*domain_, "x", 2);
  permits.acquire();
  const Fence mine = permits.lease().fence();
  std::jthread([&] {
    permits.acquire();
    permits.release();
  }).join();
  EXPECT_EQ(permits.lease().fence(), mine);
  EXPECT_TRUE(*permits.lease().Confirm());
}

TEST_F(LeaseSemaphoreTest, AReleaseOfWhatWasNeverAcquiredTouchesNothing) {
  LeaseSemaphore permits(*domain_, "x", 2);
  LeaseSemaphore others(*domain_, "x", 2);
  others.acquire();
  permits.release();
  permits.release(3);
  EXPECT_EQ(Parties(), 1u);
  EXPECT_TRUE(*others.lease().Confirm());
}

TEST_F(LeaseSemaphoreTest, WhatIsHeldWhenItIsDestroyedIsReleased) {
  {
    LeaseSemaphore permits(*domain_, "x", 2);
    permits.acquire();
    permits.acquire();
    EXPECT_EQ(Parties(), 2u);
  }
  EXPECT_EQ(Parties(), 0u);
}

TEST_F(LeaseSemaphoreTest, OverAStoreThatHangsManyPermitsAreGivenBackInTheTimeOfOne) {
  for (const bool by_the_destructor : {false, true}) {
    std::optional<LeaseSemaphore> permits(std::in_place, *domain_, "x", 30);
    for (int i = 0; i < 30; i++) {
      permits->acquire();
    }
    const auto frees = CallsOfThisThread(locks_->before_free);
    locks_->on_free = ShakyLocks::Fault::kRefused;
    by_the_destructor ? permits.reset() : permits->release(30);
    EXPECT_EQ(*frees, 1) << by_the_destructor;
    locks_->on_free = ShakyLocks::Fault::kNone;
    while (Parties() > 0) {
      std::this_thread::yield();
    }
  }
}

TEST_F(LeaseSemaphoreTest, AReleaseOfManySaysInTheLogWhatWasLostAndWhatWasNeverAcquired) {
  LogFile log;
  LeaseSemaphore permits(*domain_, "x", 3);
  permits.acquire();
  permits.acquire();
  permits.release(2);
  EXPECT_FALSE(log.Has("not held any more") || log.Has("never acquired"));
  permits.acquire();
  permits.acquire();
  ASSERT_TRUE(locks_->Evict("x", permits.lease().fence()));
  ASSERT_FALSE(*permits.lease().Confirm());
  permits.release(3);
  EXPECT_EQ(Parties(), 0u);
  const std::string text = log.End();
  EXPECT_NE(text.find("not held any more"), std::string::npos);
  EXPECT_NE(text.find("never acquired"), std::string::npos);
}

TEST_F(LeaseSemaphoreTest, ALostPermitThrowsWhereThatIsWanted) {
  LeaseSemaphore permits(*domain_, "x", 2, {.on_lost = OnLost::kThrow});
  EXPECT_EQ(Thrown([&] { permits.lease(); }), std::errc::operation_not_permitted);
  permits.acquire();
  ASSERT_TRUE(locks_->Evict("x", permits.lease().fence()));
  ASSERT_FALSE(*permits.lease().Confirm());
  EXPECT_EQ(Thrown([&] { permits.lease(); }), std::errc::owner_dead);
  permits.release();
  EXPECT_TRUE(permits.try_acquire()) << "a permit that was lost is none of the next";
}

using LeaseSemaphoreDeathTest = LeaseSemaphoreTest;

TEST_F(LeaseSemaphoreDeathTest, TheProcessEndsWithALostPermitWhereThatIsWanted) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        const auto locks = std::make_shared<ShakyLocks>();
        const auto domain = *LockDomain::Open(locks);
        LeaseSemaphore permits(*domain, "x", 2, {.on_lost = OnLost::kTerminate});
        permits.acquire();
        static_cast<void>(locks->Evict("x", permits.lease().fence()));
        static_cast<void>(permits.lease().Confirm());
        std::atomic<bool> never{false};
        never.wait(false);
      },
      "the process ends, because a lease was lost");
}

TEST_F(LeaseSemaphoreTest, ALimitThatCannotBeIsRefused) {
  for (const uint32_t limit : {0u, kMostCounted + 1}) {
    LeaseSemaphore permits(*domain_, "x", limit);
    EXPECT_EQ(Thrown([&] { permits.acquire(); }), std::errc::invalid_argument) << limit;
  }
  EXPECT_TRUE(LeaseSemaphore(*domain_, "x", LeaseSemaphore::max()).try_acquire());
  const auto refused = [&](const AcquireOptions& how) {
    const auto lease = domain_->Acquire("x", how);
    return !lease && lease.error().code == Code::kInvalid;
  };
  EXPECT_TRUE(refused({.limit = 2})) << "without the mode it would be a writer";
  EXPECT_TRUE(refused({.mode = LockMode::kShared, .limit = 2}));
  EXPECT_TRUE(refused({.mode = LockMode::kCounted, .fenced = true, .limit = 2}))
      << "nothing checks what several do";
}

TEST_F(LeaseSemaphoreTest, AllOfSomeNamesAreCountedTogether) {
  const std::vector<std::string> names{"x", "y"};
  const AcquireOptions how{.mode = LockMode::kCounted, .until = BootTime::min(), .limit = 2};
  const auto one = domain_->AcquireAll(names, how);
  ASSERT_TRUE(one && *one);
  const auto busy = domain_->Acquire("y", how);
  ASSERT_TRUE(busy && *busy);
  const auto two = domain_->AcquireAll(names, how);
  EXPECT_TRUE(two && !*two);
  EXPECT_EQ(Parties(), 1u) << "none is left of those that were not all";
}

TEST_F(LeaseSemaphoreTest, ItsFenceChecksNothing) {
  const auto counted = domain_->Acquire("x", {.mode = LockMode::kCounted, .limit = 1});
  ASSERT_TRUE(counted && *counted);
  const Status fit = CheckFenceOf(**counted);
  ASSERT_FALSE(fit.has_value());
  EXPECT_EQ(fit.error().code, Code::kInvalid);
  const auto alone = domain_->Acquire("y");
  ASSERT_TRUE(alone && *alone);
  EXPECT_TRUE(CheckFenceOf(**alone));
  EXPECT_EQ(CheckFenceOf(Lease()).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace oncemq::testing
