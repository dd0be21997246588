// SPDX-License-Identifier: Apache-2.0
// A domain over a store that fails.
#include "oncemq/locks/lock_domain.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "oncemq/locks/memory_locks.h"
#include "support/no_more_threads.h"
#include "support/shaky_locks.h"
#include "support/stop_requested_within.h"

namespace oncemq::testing {
namespace {

using Fault = ShakyLocks::Fault;

class LockDomainTest : public ::testing::Test {
 protected:
  void Open(const LockOptions& options) {
    auto domain = LockDomain::Open(locks_, options);
    ASSERT_TRUE(domain.has_value()) << ToString(domain.error());
    domain_ = *std::move(domain);
  }
  Granted<Lease> Acquired(const AcquireOptions& how = {}) {
    auto lease = domain_->Acquire("x", how);
    EXPECT_TRUE(lease.has_value()) << ToString(lease.error());
    return lease ? *std::move(lease) : kNotGranted;
  }
  size_t Parties() { return locks_->Read("x")->parties.size(); }
  // Of our own threads: ends when the watchdog has done it.
  void UntilNoParties() {
    while (Parties() > 0) {
      std::this_thread::yield();
    }
  }
  static void AwaitStop(const std::stop_token& stop) {
    std::atomic<bool> told{false};
    const std::stop_callback callback(stop, [&] {
      told = true;
      told.notify_all();
    });
    told.wait(false);
  }

  const std::shared_ptr<ShakyLocks> locks_ = std::make_shared<ShakyLocks>();
  std::unique_ptr<LockDomain> domain_;
};

TEST_F(LockDomainTest, WhatTheEngineCannotDoIsRefusedAtTheStart) {
  const auto domain = LockDomain::Open(locks_, {.needs = {.processes = true}});
  ASSERT_FALSE(domain.has_value());
  EXPECT_EQ(domain.error().code, Code::kInvalid);
  EXPECT_EQ(domain.error().message, "the engine memory does not exclude other processes");
}

TEST_F(LockDomainTest, BadNamesAndTimesAreRefused) {
  Open({});
  for (const std::string& name : {std::string(), std::string(kLongestLockName + 1, 'n')}) {
    const auto lease = domain_->Acquire(name);
    ASSERT_FALSE(lease.has_value());
    EXPECT_EQ(lease.error().code, Code::kInvalid);
  }
  for (const AcquireOptions& how :
       {AcquireOptions{.lease = milliseconds(19)},
        AcquireOptions{.lease = milliseconds(90'000'000)},
        AcquireOptions{.max_hold = milliseconds(-1)},
        AcquireOptions{.wait = {LockWait::How::kSpin, milliseconds(-1)}}}) {
    EXPECT_FALSE(domain_->Acquire("x", how).has_value());
  }
  EXPECT_FALSE(LockDomain::Open(locks_, {.lease = milliseconds(100), .margin = milliseconds(60)}));
  EXPECT_FALSE(LockDomain::Open(locks_, {.queue_lease = milliseconds(1)}));
  EXPECT_EQ(locks_->requests, 0) << "the store is not asked for what is wrong";
}

TEST_F(LockDomainTest, WithoutThreadsItDoesNotOpen) {
  const NoMoreThreads none;
  const auto domain = LockDomain::Open(locks_);
  ASSERT_FALSE(domain.has_value());
  EXPECT_EQ(domain.error().code, Code::kUnavailable);
}

TEST_F(LockDomainTest, AGrantWhoseReplyWasLostIsAskedForAgainAndIsOneHold) {
  Open({});
  locks_->on_request = Fault::kLostReply;
  Granted<Lease> lease;
  std::jthread acquires([&] { lease = Acquired(); });
  while (locks_->requests < 2) {
    std::this_thread::yield();
  }
  locks_->on_request = Fault::kNone;
  acquires.join();
  ASSERT_TRUE(lease);
  EXPECT_EQ(Parties(), 1u);
  EXPECT_EQ(lease->Release(), Released::kYes);
}

TEST_F(LockDomainTest, WhatWasReleasedIsNotToldAsLost) {
  Open({});
  Granted<Lease> lease = Acquired();
  ASSERT_TRUE(lease);
  const std::stop_token stop = lease->stop();
  EXPECT_EQ(lease->Release(), Released::kYes);
  domain_.reset();
  EXPECT_FALSE(stop.stop_requested());
}

TEST_F(LockDomainTest, ATryWhoseReplyWasLostLeavesNothingBehind) {
  Open({});
  locks_->on_request = Fault::kLostReply;
  const auto lease = domain_->TryAcquire("x");
  ASSERT_FALSE(lease.has_value());
  EXPECT_EQ(lease.error().effect, Effect::kUnknown);
  EXPECT_EQ(Parties(), 0u);
}

TEST_F(LockDomainTest, WhatCannotBeTakenBackNowIsTakenBackWhenTheStoreAnswers) {
  Open({});
  locks_->on_request = Fault::kLostReply;
  locks_->on_free = Fault::kRefused;
  ASSERT_FALSE(domain_->TryAcquire("x").has_value());
  EXPECT_EQ(Parties(), 1u);
  locks_->on_free = Fault::kNone;
  UntilNoParties();
}

TEST_F(LockDomainTest, AReleaseThatTheStoreDoesNotAnswerIsUnknownAndRepeated) {
  Open({});
  auto lease = Acquired();
  ASSERT_TRUE(lease);
  locks_->on_free = Fault::kRefused;
  EXPECT_EQ(lease->Release(), Released::kUnknown);
  EXPECT_EQ(lease->Release(), Released::kNotHeld);
  locks_->on_free = Fault::kNone;
  UntilNoParties();
}

TEST_F(LockDomainTest, AReleaseWhoseReplyWasLostIsUnknown) {
  Open({});
  auto lease = Acquired();
  ASSERT_TRUE(lease);
  locks_->on_free = Fault::kLostReply;
  EXPECT_EQ(lease->Release(), Released::kUnknown);
  EXPECT_EQ(Parties(), 0u);
}

// As in a process that was stopped for a while: its watchdog has not run yet.
TEST_F(LockDomainTest, AHolderThatWasPausedBelievesNothingBeforeItsWatchdogRuns) {
  ManualClock clock;
  const auto domain = *LockDomain::Open(locks_, {.lease = milliseconds(30'000)}, clock);
  const auto lease = domain->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  EXPECT_TRUE((*lease)->StillMine());
  clock.Advance(milliseconds(30'000));
  EXPECT_FALSE((*lease)->StillMine());
}

TEST_F(LockDomainTest, AHolderIsToldToStopBeforeTheStoreGrantsToOthers) {
  // Much of the lease is left when it is told, and some renewals have failed before.
  Open({.lease = milliseconds(6'000), .margin = milliseconds(2'400)});
  auto lease = Acquired();
  ASSERT_TRUE(lease);
  locks_->on_extend = Fault::kRefused;
  AwaitStop(lease->stop());
  EXPECT_EQ(lease->lost(), LeaseLoss::kDeadline);
  EXPECT_FALSE(lease->StillMine());
  EXPECT_EQ(Parties(), 1u) << "the store still keeps it";
  EXPECT_GE(locks_->extends, 2) << "a renewal that failed is sent again";
  EXPECT_EQ(lease->Release(), Released::kNotHeld);
  EXPECT_EQ(Parties(), 0u) << "given back, so that nobody waits for the rest of its lease";
}

TEST_F(LockDomainTest, AHolderIsToldToStopThoughTheStoreHangs) {
  Open({.lease = milliseconds(200)});
  auto lease = Acquired();
  ASSERT_TRUE(lease);
  locks_->on_extend = Fault::kHangs;
  AwaitStop(lease->stop());
  EXPECT_EQ(lease->lost(), LeaseLoss::kDeadline);
  locks_->on_extend = Fault::kNone;
  locks_->on_extend.notify_all();
}

TEST_F(LockDomainTest, ACallbackThatBlocksDelaysNoOtherLoss) {
  Open({.lease = milliseconds(2'000)});
  auto one = domain_->Acquire("one");
  auto two = domain_->Acquire("two");
  ASSERT_TRUE(one.has_value() && one->has_value() && two.has_value() && two->has_value());
  std::atomic<bool> go_on{false};
  const std::stop_callback blocks((*one)->stop(), [&] { go_on.wait(false); });
  locks_->on_extend = Fault::kRefused;
  AwaitStop((*two)->stop());
  go_on = true;
  go_on.notify_all();
}

TEST_F(LockDomainTest, AWaiterIsGrantedInTimeThoughNobodyCanWakeIt) {
  Open({.queue_lease = milliseconds(150)});
  auto holder = Acquired();
  ASSERT_TRUE(holder);
  locks_->on_await = Fault::kRefused;
  std::jthread waits([&] { EXPECT_TRUE(Acquired()); });
  while (Parties() < 2) {
    std::this_thread::yield();
  }
  EXPECT_EQ(holder->Release(), Released::kYes);
}

TEST_F(LockDomainTest, AStoreThatIsDownIsAskedForAsLongAsPatienceLasts) {
  Open({.patience = milliseconds(50)});
  locks_->on_request = Fault::kRefused;
  const auto lease = domain_->Acquire("x");
  ASSERT_FALSE(lease.has_value());
  EXPECT_EQ(lease.error().message, "down");
  EXPECT_GE(locks_->requests, 2);
  EXPECT_EQ(locks_->frees, 0) << "nothing was done there";
}

TEST_F(LockDomainTest, ADestructorAsksAStoreThatIsDownOnceAndGoesOn) {
  Open({});
  {
    const auto lease = Acquired();
    ASSERT_TRUE(lease);
    locks_->on_free = Fault::kRefused;
  }
  EXPECT_GE(locks_->frees, 1);
  auto other = domain_->Acquire("other");
  domain_.reset();
  EXPECT_EQ((*other)->lost(), LeaseLoss::kClosed);
}

TEST_F(LockDomainTest, ADomainThatEndedKeepsNothingAlive) {
  Open({.lease = milliseconds(1'500)});
  std::weak_ptr<LockEngine> engine = locks_;
  {
    auto one = domain_->Acquire("one");
    auto two = domain_->Acquire("two");
    locks_->on_extend = Fault::kHangs;
    // A machine that stood still may have lost both before their first renewal.
    while (locks_->extends < 1 && (*one)->StillMine()) {
      std::this_thread::yield();
    }
    AwaitStop((*two)->stop());
    std::jthread goes_on([&] {
      locks_->on_extend = Fault::kNone;
      locks_->on_extend.notify_all();
    });
    domain_.reset();
  }
  EXPECT_EQ(engine.use_count(), 1) << "the test's own";
}

// The store keeps the first renewal waiting, so the two behind it travel together from then on.
TEST_F(LockDomainTest, ABadNameInABatchLosesNoOther) {
  constexpr milliseconds kLease{3'000};
  Open({.lease = kLease});
  auto first = domain_->Acquire("first");
  auto good = domain_->Acquire("good");
  auto bad = domain_->Acquire("bad");
  locks_->on_extend = Fault::kHangs;
  EXPECT_FALSE(StopRequestedWithin((*good)->stop(), kLease / 2)) << "both are due";
  locks_->Spoil("bad");
  locks_->on_extend = Fault::kNone;
  locks_->on_extend.notify_all();
  AwaitStop((*bad)->stop());
  EXPECT_EQ((*bad)->lost(), LeaseLoss::kDeadline);
  EXPECT_FALSE(StopRequestedWithin((*good)->stop(), kLease));
  EXPECT_TRUE((*good)->StillMine());
}

// A store that cannot get at one name, as if that were down, fails each call with that name in it.
TEST_F(LockDomainTest, ANameThatKeepsTheStoreBusyLosesFewOthers) {
  constexpr milliseconds kLease{3'000};
  constexpr size_t kNames = 64;
  Open({.lease = kLease});
  std::vector<Lease> leases;
  for (size_t i = 0; i < kNames; i++) {
    leases.push_back(std::move(**domain_->Acquire("name " + std::to_string(i))));
  }
  locks_->Spoil("name 40", Code::kTimeout);
  AwaitStop(leases[40].stop());
  const BootTime enough = domain_->clock().Boot() + kLease;
  while (domain_->clock().Boot() < enough) {
    std::this_thread::yield();
  }
  EXPECT_GE(std::count_if(leases.begin(), leases.end(),
                          [](const Lease& lease) { return lease.StillMine(); }),
            static_cast<std::ptrdiff_t>(kNames - 1));
}

TEST_F(LockDomainTest, EffectsThatCheckFencesNeedAnEngineThatHasSome) {
  LockCapabilities can = locks_->capabilities();
  can.fence = false;
  locks_->Claim(can);
  Open({});
  AcquireOptions how;
  how.fenced = true;
  EXPECT_EQ(domain_->Acquire("x", how).error().code, Code::kInvalid);
  how.fence = Fence{0, 7};  // from elsewhere
  EXPECT_TRUE(Acquired(how));
}

TEST_F(LockDomainTest, AHoldIsNotSafeBeyondTheMomentThatEndsItHoweverLongItWasWaitedFor) {
  Open({});
  AcquireOptions how;
  how.ends = domain_->clock().Boot() + milliseconds(2'000);
  auto holder = Acquired();
  Granted<Lease> waited;
  std::jthread waits([&] { waited = Acquired(how); });
  while (Parties() < 2) {
    std::this_thread::yield();
  }
  holder->Release();
  waits.join();
  ASSERT_TRUE(waited);
  EXPECT_LE(waited->safe_until(), *how.ends);
}

TEST_F(LockDomainTest, WhatIsForEverDoesNotOverflow) {
  EXPECT_FALSE(LockDomain::Open(locks_, {.patience = milliseconds::max()}));
  Open({});
  EXPECT_FALSE(domain_->Acquire("x", {.max_hold = milliseconds::max()}));
  EXPECT_FALSE(domain_->Acquire("x", {.wait = {LockWait::How::kSpin, milliseconds::max()}}));
  EXPECT_TRUE(Acquired({.until = BootTime::max()}));
}

TEST_F(LockDomainTest, ALeaseThatIsAskedForIsTheStoresToo) {
  Open({.lease = milliseconds(30'000)});
  const auto lease = Acquired({.lease = milliseconds(7'000)});
  ASSERT_TRUE(lease);
  for (const bool renewed : {false, true}) {
    const milliseconds left = locks_->Read("x")->parties.at(0).left;
    EXPECT_LE(left, milliseconds(7'000)) << renewed;
    EXPECT_LE(lease->safe_until(), domain_->clock().Boot() + milliseconds(7'000)) << renewed;
    EXPECT_TRUE(*lease->Confirm());
  }
}

TEST_F(LockDomainTest, AHoldIsNotSafeBeyondItsLongestTime) {
  Open({});
  const BootTime began = domain_->clock().Boot();
  const auto lease = Acquired({.max_hold = milliseconds(1'000)});
  EXPECT_LE(lease->safe_until(), began + milliseconds(2'000));
}

TEST_F(LockDomainTest, ALeaseMayOutliveItsDomain) {
  Open({});
  auto lease = Acquired();
  ASSERT_TRUE(lease);
  domain_.reset();
  EXPECT_FALSE(lease->StillMine());
  EXPECT_EQ(Parties(), 0u);
}

TEST_F(LockDomainTest, WhoHoldsCanBeSeen) {
  std::array<char, 256> host{};
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  const std::string here = std::string(host.data()) + "/" + std::to_string(getpid());
  const auto seen = [&](const std::string& who, std::string_view what) {
    Open({.who = who});
    const auto lease = Acquired({.what = what});
    return locks_->Read("x")->parties.at(0).who;
  };
  EXPECT_EQ(seen("", ""), here);
  EXPECT_EQ(seen("", "settlement 7/42"), here + " settlement 7/42");
  EXPECT_EQ(seen("payments", ""), here + " payments");
  EXPECT_EQ(seen("payments", "settlement 7/42"), here + " payments settlement 7/42");
  EXPECT_TRUE(seen(std::string(1'000, 'x'), "").starts_with(here + " xxx"));
}

TEST_F(LockDomainTest, AMovedLeaseIsHeldOnce) {
  Open({});
  auto lease = Acquired();
  ASSERT_TRUE(lease);
  Lease other = std::move(*lease);
  EXPECT_FALSE(lease->StillMine());
  EXPECT_TRUE(other.StillMine());
  other = Lease();
  EXPECT_EQ(Parties(), 0u) << "what it held is released";
}

}  // namespace
}  // namespace oncemq::testing
