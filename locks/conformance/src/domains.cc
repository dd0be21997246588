// SPDX-License-Identifier: Apache-2.0
// Leases over the engine, as a service uses them: threads, waits that are given up, losses.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "lock_test.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq::conformance {
namespace {

constexpr milliseconds kLongLease{30'000};

std::unique_ptr<LockDomain> OpenDomain(const std::shared_ptr<LockEngine>& engine,
                                       const LockOptions& options = {}) {
  auto domain = LockDomain::Open(engine, options);
  EXPECT_TRUE(domain.has_value()) << ToString(domain.error());
  return domain ? *std::move(domain) : nullptr;
}

Granted<Lease> Acquired(LockDomain& domain, std::string_view name, const AcquireOptions& how = {}) {
  auto lease = domain.Acquire(name, how);
  EXPECT_TRUE(lease.has_value()) << ToString(lease.error());
  return lease ? *std::move(lease) : kNotGranted;
}

AcquireOptions OneTry() {
  return {.until = BootTime::min()};
}

LOCK_TEST(Always, AReleasedLeaseIsFreeAtOnce) {
  const auto domain = OpenDomain(shared_engine());
  auto lease = Acquired(*domain, "x");
  ASSERT_TRUE(lease);
  EXPECT_TRUE(lease->StillMine());
  EXPECT_EQ(lease->name(), "x");
  EXPECT_EQ(!lease->fence().empty(), can().fence);
  EXPECT_FALSE(Acquired(*domain, "x", OneTry()));
  EXPECT_EQ(lease->Release(), Released::kYes);
  EXPECT_FALSE(lease->StillMine());
  EXPECT_EQ(lease->Release(), Released::kNotHeld);
  EXPECT_TRUE(Acquired(*domain, "x", OneTry()));
}

LOCK_TEST(Always, ADestroyedLeaseIsFreeAtOnce) {
  const auto domain = OpenDomain(shared_engine());
  { ASSERT_TRUE(Acquired(*domain, "x")); }
  EXPECT_TRUE(Acquired(*domain, "x", OneTry()));
}

// Two domains are two processes for the store.
LOCK_TEST(Always, NoUpdateIsLostUnderALease) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 25;
  const auto one = OpenDomain(shared_engine());
  const auto two = OpenDomain(shared_engine());
  int balance = 0;  // read and written under the lease only
  Fence last;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; i++) {
        auto lease = Acquired(t % 2 == 0 ? *one : *two, "account/1");
        ASSERT_TRUE(lease);
        if (can().fence) {
          EXPECT_GT(lease->fence(), last);
        }
        last = lease->fence();
        const int read = balance;
        std::this_thread::yield();
        balance = read + 1;
        EXPECT_EQ(lease->Release(), Released::kYes);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(balance, kThreads * kRounds);
}

LOCK_TEST(Always, WhoWaitsGivesUpInTime) {
  const auto domain = OpenDomain(shared_engine());
  const auto holder = Acquired(*domain, "x");
  const BootTime began = domain->clock().Boot();
  EXPECT_FALSE(Acquired(*domain, "x", {.until = began + milliseconds(50)}));
  EXPECT_GE(domain->clock().Boot() - began, milliseconds(50));
  EXPECT_EQ(Read().parties.size(), 1u) << "its place is taken back";
}

LOCK_TEST(Always, WhoWaitsGivesUpWhenAStopIsRequested) {
  const auto domain = OpenDomain(shared_engine());
  const auto holder = Acquired(*domain, "x");
  std::stop_source stop;
  std::jthread waits([&] { EXPECT_FALSE(Acquired(*domain, "x", {.stop = stop.get_token()})); });
  stop.request_stop();
  waits.join();
  EXPECT_EQ(Read().parties.size(), 1u) << "its place is taken back";
}

LOCK_TEST(IfFenced, AnEvictedHolderIsToldToStop) {
  UntilInTime([&](milliseconds lasts) {
    const auto domain = OpenDomain(shared_engine(), {.lease = lasts});
    auto held = Acquired(*domain, "x");
    EXPECT_TRUE(held);
    if (!held) {
      return true;
    }
    EXPECT_TRUE(engine().Evict("x", held->fence()));
    std::atomic<bool> told{false};
    std::stop_callback on_stop(held->stop(), [&] {
      told = true;
      told.notify_all();
    });
    told.wait(false);  // by the next renewal
    const bool in_time = held->lost() != LeaseLoss::kDeadline;
    EXPECT_TRUE(!in_time || held->lost() == LeaseLoss::kTaken);
    EXPECT_FALSE(held->StillMine());
    EXPECT_EQ(held->Release(), Released::kNotHeld);
    return in_time;
  });
}

LOCK_TEST(IfFenced, AConfirmationTellsAtOnceThatAHoldIsGone) {
  const auto domain = OpenDomain(shared_engine());
  auto lease = Acquired(*domain, "x");
  ASSERT_TRUE(lease);
  auto confirmed = lease->Confirm();
  ASSERT_TRUE(confirmed.has_value()) << ToString(confirmed.error());
  EXPECT_TRUE(*confirmed);
  ASSERT_TRUE(engine().Evict("x", lease->fence()));
  confirmed = lease->Confirm();
  ASSERT_TRUE(confirmed.has_value()) << ToString(confirmed.error());
  EXPECT_FALSE(*confirmed);
  EXPECT_EQ(lease->lost(), LeaseLoss::kTaken);
}

LOCK_TEST(Always, AHolderThatIsAskedBackHearsOfIt) {
  UntilInTime([&](milliseconds lasts) {
    const auto domain = OpenDomain(shared_engine(), {.lease = lasts});
    auto held = Acquired(*domain, "x");
    EXPECT_TRUE(held);
    if (!held) {
      return true;
    }
    EXPECT_TRUE(engine().Recall("x"));
    std::atomic<bool> told{false};
    const auto tell = [&] {
      told = true;
      told.notify_all();
    };
    std::stop_callback on_recall(held->recalled(), tell);
    std::stop_callback on_loss(held->stop(), tell);
    told.wait(false);
    // It is asked, not robbed.
    const bool recalled = held->recalled().stop_requested();
    const BootTime mine_until = held->safe_until();
    const Released released = held->Release();
    const bool in_time = domain->clock().Boot() < mine_until;
    EXPECT_TRUE(!in_time || (recalled && released == Released::kYes));
    return in_time;
  });
}

LOCK_TEST(Always, ALeaseIsRenewedAsLongAsItIsHeld) {
  UntilInTime([&](milliseconds lasts) {
    const auto domain = OpenDomain(shared_engine(), {.lease = lasts});
    auto held = Acquired(*domain, "x");
    EXPECT_TRUE(held);
    if (!held) {
      return true;
    }
    const BootTime first = held->safe_until();
    const BootTime enough = domain->clock().Boot() + lasts * 2;
    while (domain->clock().Boot() < enough && held->StillMine()) {
      std::this_thread::yield();
    }
    const BootTime mine_until = held->safe_until();
    const Released released = held->Release();
    const bool in_time = domain->clock().Boot() < mine_until;
    EXPECT_TRUE(!in_time || (mine_until > first && released == Released::kYes));
    return in_time;
  });
}

LOCK_TEST(Always, AHoldIsLostWhenItsLongestTimeIsOver) {
  const auto domain = OpenDomain(shared_engine());
  auto lease = Acquired(*domain, "x", {.max_hold = milliseconds(100)});
  ASSERT_TRUE(lease);
  std::atomic<bool> told{false};
  std::stop_callback on_stop(lease->stop(), [&] {
    told = true;
    told.notify_all();
  });
  told.wait(false);
  EXPECT_EQ(lease->lost(), LeaseLoss::kTooLong);
  EXPECT_EQ(lease->Release(), Released::kNotHeld);
  EXPECT_TRUE(Acquired(*domain, "x", OneTry())) << "given back, though it was lost before";
}

LOCK_TEST(Always, TheCallbackOfALossMayReleaseTheLease) {
  const auto domain = OpenDomain(shared_engine());
  auto lease = Acquired(*domain, "x", {.max_hold = milliseconds(100)});
  ASSERT_TRUE(lease);
  std::atomic<bool> released{false};
  std::stop_callback on_stop(lease->stop(), [&] {
    lease = kNotGranted;
    released = true;
    released.notify_all();
  });
  released.wait(false);
  EXPECT_TRUE(Acquired(*domain, "x", OneTry()));
}

LOCK_TEST(Always, ADomainThatEndsGivesBackWhatItHolds) {
  auto ending = OpenDomain(shared_engine());
  auto lease = Acquired(*ending, "x");
  ASSERT_TRUE(lease);
  const std::stop_token stop = lease->stop();
  ending.reset();
  EXPECT_TRUE(stop.stop_requested());
  EXPECT_FALSE(lease->StillMine());
  EXPECT_EQ(lease->lost(), LeaseLoss::kClosed);
  EXPECT_EQ(lease->Release(), Released::kNotHeld);
  const auto next = OpenDomain(shared_engine());
  EXPECT_TRUE(Acquired(*next, "x", OneTry()));
}

LOCK_TEST(Always, AllNamesAreTakenOrNone) {
  const auto domain = OpenDomain(shared_engine());
  const std::vector<std::string> names = {"c", "a", "b", "a"};
  auto all = domain->AcquireAll(names);
  ASSERT_TRUE(all.has_value()) << ToString(all.error());
  ASSERT_TRUE(all->has_value());
  EXPECT_EQ((*all)->size(), 3u);
  EXPECT_EQ((**all)[0].name(), "a");
  (*all)->at(1).Release();
  auto some = domain->AcquireAll(names, OneTry());
  ASSERT_TRUE(some.has_value()) << ToString(some.error());
  EXPECT_FALSE(some->has_value());
  EXPECT_TRUE(Acquired(*domain, "b", OneTry())) << "what it had taken is given back";
}

LOCK_TEST(Always, TwoWhoTakeTheSameNamesDoNotWaitForEachOther) {
  const auto domain = OpenDomain(shared_engine());
  const std::vector<std::string> there = {"a", "b"};
  const std::vector<std::string> back = {"b", "a"};
  std::vector<std::jthread> threads;
  for (const auto* names : {&there, &back}) {
    threads.emplace_back([&domain, names] {
      for (int i = 0; i < 50; i++) {
        auto all = domain->AcquireAll(*names, {.until = domain->clock().Boot() + kLongLease});
        ASSERT_TRUE(all.has_value()) << ToString(all.error());
        ASSERT_TRUE(all->has_value());
      }
    });
  }
}

LOCK_TEST(Always, ASpinThatIsOverGivesUpWithoutAPlace) {
  const auto domain = OpenDomain(shared_engine());
  const auto holder = Acquired(*domain, "x");
  AcquireOptions spins;
  spins.wait = {LockWait::How::kSpin, milliseconds(20)};
  const BootTime began = domain->clock().Boot();
  EXPECT_FALSE(Acquired(*domain, "x", spins));
  EXPECT_GE(domain->clock().Boot() - began, milliseconds(20));
  EXPECT_EQ(Read().parties.size(), 1u);
}

LOCK_TEST(Always, ASpinThatIsOverGoesOnAsAWait) {
  const auto domain = OpenDomain(shared_engine());
  auto holder = Acquired(*domain, "x");
  AcquireOptions spins;
  spins.wait = {LockWait::How::kSpinThenBlock, milliseconds(5)};
  std::jthread waits([&] { EXPECT_TRUE(Acquired(*domain, "x", spins)); });
  if (can().fair) {
    while (Read().parties.size() < 2) {
      std::this_thread::yield();
    }
  }
  EXPECT_EQ(holder->Release(), Released::kYes);
}

}  // namespace
}  // namespace oncemq::conformance
