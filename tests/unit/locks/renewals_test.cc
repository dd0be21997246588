// SPDX-License-Identifier: Apache-2.0
// Whom the watchdog renews, and whom no more: elsewhere one went on behind the release
// (redisson/redisson#7272), and a name that nobody held stayed taken for ever.
#include <gtest/gtest.h>

#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "support/eventually.h"
#include "support/shaky_locks.h"

namespace oncemq::testing {
namespace {

class Renewals : public ::testing::Test {
 protected:
  Lease Taken(const std::string& name) { return std::move(**domain_->Acquire(name)); }
  // Held, and a renewal has reached the store. On a slow machine one may be lost before.
  Lease Renewed(const std::string& name) {
    locks_->Renewed(name);
    Lease lease = Taken(name);
    while (!locks_->Renewed(name)) {
      if (!lease.StillMine()) {
        lease = Taken(name);
      }
      std::this_thread::yield();
    }
    return lease;
  }
  // Renewals are made one after the other: those that were under way are over.
  void UntilNoneIsUnderWay() {
    Beat();
    Beat();
  }
  void Beat() { Renewed("another " + std::to_string(++beats_)); }

  const std::shared_ptr<ShakyLocks> locks_ = std::make_shared<ShakyLocks>();
  const std::unique_ptr<LockDomain> domain_ =
      *LockDomain::Open(locks_, {.lease = milliseconds(100)});
  int beats_ = 0;
};

// The store does not hear of the release, so it would go on extending what it is asked to.
TEST_F(Renewals, EndWithTheReleaseOfTheirLease) {
  locks_->on_free = ShakyLocks::Fault::kRefused;
  Renewed("x").Release();
  UntilNoneIsUnderWay();
  locks_->Renewed("x");
  for (int i = 0; i < 4; i++) {
    Beat();
  }
  EXPECT_FALSE(locks_->Renewed("x"));
  while (!locks_->Look("x")->parties.empty()) {
    std::this_thread::yield();
  }
}

// The renewal is on its way when the lease is given back, and comes after it.
TEST_F(Renewals, OneThatComesBehindTheReleaseBringsNothingBack) {
  locks_->on_extend = ShakyLocks::Fault::kHangs;
  Renewed("x").Release();
  locks_->on_extend = ShakyLocks::Fault::kNone;
  locks_->on_extend.notify_all();
  UntilNoneIsUnderWay();
  EXPECT_TRUE(locks_->Look("x")->parties.empty());
}

// Time stands still behind the batch: what is asked then is asked at once, not when each is due.
TEST_F(Renewals, ABatchThatFailsForABadNameIsAskedAgainNameByName) {
  constexpr milliseconds kLease{3'600'000};
  ManualClock clock;
  const auto domain = *LockDomain::Open(locks_, {.lease = kLease}, clock);
  const auto good = domain->Acquire("good");
  const auto bad = domain->Acquire("bad");
  locks_->Spoil("bad");
  const int before = locks_->extends;
  clock.Advance(kLease / 3);
  EXPECT_TRUE(Eventually(std::chrono::seconds(60), [&] { return locks_->extends == before + 3; }));
}

// Both are owed to the store, which fails on one, and does not answer about the other.
TEST_F(Renewals, WhatIsOwedBesideABadNameIsGivenBackInTheEnd) {
  constexpr std::chrono::seconds kSoon{30};
  const auto domain = *LockDomain::Open(locks_, {.lease = milliseconds(3'600'000)});
  auto good = std::move(**domain->Acquire("good"));
  auto bad = std::move(**domain->Acquire("bad"));
  locks_->on_free = ShakyLocks::Fault::kRefused;
  EXPECT_EQ(good.Release(), Released::kUnknown);
  locks_->Spoil("bad");
  EXPECT_EQ(bad.Release(), Released::kUnknown);
  const int before = locks_->frees;
  EXPECT_TRUE(Eventually(kSoon, [&] { return locks_->frees > before + 5; }))
      << "it is told again and again";
  locks_->on_free = ShakyLocks::Fault::kNone;
  EXPECT_TRUE(Eventually(kSoon, [&] { return locks_->Look("good")->parties.empty(); }));
}

}  // namespace
}  // namespace oncemq::testing
