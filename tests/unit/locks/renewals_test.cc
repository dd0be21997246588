// SPDX-License-Identifier: Apache-2.0
// Whom the watchdog renews, and whom no more: elsewhere one went on behind the release
// (redisson/redisson#7272), and a name that nobody held stayed taken for ever.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <thread>
#include <vector>

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
  while (!locks_->Read("x")->parties.empty()) {
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
  EXPECT_TRUE(locks_->Read("x")->parties.empty());
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

// What it answers to calls for several names, and to those for one. Writes down how many came.
class BadInCompany final : public ForwardingLocks {
 public:
  BadInCompany() : ForwardingLocks(MakeMemoryLocks()) {}

  Status Extend(std::span<const LockClaim> claims, std::span<Extended>) override {
    {
      MutexLock lock(mutex_);
      sizes_.push_back(claims.size());
    }
    if (claims.size() == 1) {
      begun = true;
      begun.notify_all();
      may_end.wait();
    }
    const Code code = claims.size() > 1 ? Code::kCorrupt : of_one.load();
    return Error{code, Effect::kUnknown, "cannot get at it"};
  }
  void Listen(HoldListener& listener) override { listeners.Listen(listener); }
  void Unlisten(HoldListener& listener) override { listeners.Unlisten(listener); }
  // Calls for one name, before there were two for several, or up to now.
  size_t Alone() const {
    MutexLock lock(mutex_);
    size_t together = 0;
    size_t alone = 0;
    for (const size_t size : sizes_) {
      together += size > 1 ? 1 : 0;
      alone += size == 1 && together < 2 ? 1 : 0;
    }
    return alone;
  }
  size_t Together() const {
    MutexLock lock(mutex_);
    return sizes_.size() - static_cast<size_t>(std::count(sizes_.begin(), sizes_.end(), 1));
  }

  HoldListeners listeners;
  std::atomic<Code> of_one{Code::kCorrupt};
  std::atomic<bool> begun{false};
  std::latch may_end{1};

 private:
  mutable Mutex mutex_;
  std::vector<size_t> sizes_ GUARDED_BY(mutex_);
};

class RenewalsOfMany : public ::testing::Test {
 protected:
  static constexpr milliseconds kLong{3'600'000};

  RenewalsOfMany() {
    for (int i = 0; i < 20; i++) {
      leases_.push_back(std::move(**domain_->Acquire("name " + std::to_string(i))));
    }
  }

  ManualClock clock_;
  const std::shared_ptr<BadInCompany> locks_ = std::make_shared<BadInCompany>();
  std::unique_ptr<LockDomain> domain_ = *LockDomain::Open(locks_, {.lease = kLong}, clock_);
  std::vector<Lease> leases_;
};

// Each would take as long as a call may, and nothing else is renewed meanwhile.
TEST_F(RenewalsOfMany, AnOutageBehindABadNameIsMetByOneOfItsBatch) {
  locks_->of_one = Code::kTimeout;
  locks_->may_end.count_down();
  clock_.Advance(kLong / 3);
  locks_->begun.wait(false);
  const auto again = [&] {
    locks_->listeners.HoldsMayBeLost();
    return locks_->Together() > 1 || locks_->Alone() > 3;
  };
  EXPECT_TRUE(Eventually(std::chrono::seconds(60), again));
  EXPECT_LE(locks_->Alone(), 3u);
}

TEST_F(RenewalsOfMany, TheEndOfTheDomainIsTheEndOfABatchThatIsAskedForNameByName) {
  clock_.Advance(kLong / 3);
  locks_->begun.wait(false);
  std::jthread ends([this] { domain_.reset(); });
  EXPECT_TRUE(Eventually(std::chrono::seconds(60), [&] { return !leases_[0].StillMine(); }));
  locks_->may_end.count_down();
  ends.join();
  EXPECT_EQ(locks_->Alone(), 1u);
}

// Swallows the answer to the first renewal, which takes as long as its claim lets it.
class OneAnswerLost final : public ForwardingLocks {
 public:
  explicit OneAnswerLost(ManualClock& clock)
      : ForwardingLocks(MakeMemoryLocks({}, clock)), clock_(clock) {}

  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    if (extends++ > 0) {
      return ForwardingLocks::Extend(claims, answers);
    }
    static_cast<void>(ForwardingLocks::Extend(claims, answers));
    clock_.Advance(std::min(claims[0].answer_within, kCall));
    return Error{Code::kTimeout, Effect::kUnknown, "no answer"};
  }

  std::atomic<int> extends{0};

 private:
  static constexpr milliseconds kCall{2'000};  // as of the engines over stores
  ManualClock& clock_;
};

// A third of the lease passes before it is renewed, and a tenth is left for its holder to stop.
TEST(RenewalsOfShortLeases, OneAnswerThatIsLostEndsNoLease) {
  constexpr milliseconds kShort{1'200};
  ManualClock clock;
  const auto locks = std::make_shared<OneAnswerLost>(clock);
  const auto domain = *LockDomain::Open(locks, {.lease = kShort}, clock);
  const auto lease = std::move(**domain->Acquire("x"));
  clock.Advance(kShort / 3);
  constexpr std::chrono::seconds kSoon{60};
  EXPECT_TRUE(Eventually(kSoon, [&] { return locks->extends == 1; }));
  const auto again = [&] {
    clock.Advance(milliseconds(1));
    return locks->extends > 1 || !lease.StillMine();
  };
  EXPECT_TRUE(Eventually(kSoon, again));
  EXPECT_TRUE(lease.StillMine());
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
  EXPECT_TRUE(Eventually(kSoon, [&] { return locks_->Read("good")->parties.empty(); }));
}

}  // namespace
}  // namespace oncemq::testing
