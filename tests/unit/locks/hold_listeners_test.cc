// SPDX-License-Identifier: Apache-2.0
// A domain whose engine says that holds may have ended.
#include "oncemq/locks/hold_listeners.h"

#include <gtest/gtest.h>

#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "support/shaky_locks.h"
#include "support/stop_requested_within.h"

namespace oncemq::testing {
namespace {

using Fault = ShakyLocks::Fault;

// A lease that is not renewed within any test, and how long is waited for what comes at once.
constexpr milliseconds kLong{600'000};
constexpr milliseconds kSoon{20'000};

class HoldListenersTest : public ::testing::Test {
 protected:
  const std::shared_ptr<ShakyLocks> locks_ = std::make_shared<ShakyLocks>();
  std::unique_ptr<LockDomain> domain_ = *LockDomain::Open(locks_, {.lease = kLong});
};

TEST_F(HoldListenersTest, WhatTheEngineDoubtsIsLookedAtLongBeforeItsRenewal) {
  const auto gone = domain_->Acquire("gone");
  const auto stays = domain_->Acquire("stays");
  ASSERT_EQ(*locks_->Evict("gone", (*gone)->fence()), Freed::kYes);
  locks_->listeners.HoldsMayBeLost();
  EXPECT_TRUE(StopRequestedWithin((*gone)->stop(), kSoon));
  EXPECT_EQ((*gone)->lost(), LeaseLoss::kTaken);
  EXPECT_TRUE((*stays)->StillMine()) << "a doubt by itself ends nothing";
}

// The engine learns of the end before the asker learns of the grant.
TEST_F(HoldListenersTest, AGrantThatIsInDoubtBeforeItIsHeardOfIsLookedAt) {
  locks_->when_granted = [&] {
    EXPECT_EQ(*locks_->Evict("x", locks_->Read("x")->parties.at(0).fence), Freed::kYes);
    locks_->listeners.HoldsMayBeLost();
  };
  const auto lease = domain_->Acquire("x");
  ASSERT_TRUE(lease && *lease);
  EXPECT_TRUE(StopRequestedWithin((*lease)->stop(), kSoon));
}

// The answer that is on its way was given before.
TEST_F(HoldListenersTest, ADoubtDuringARenewalIsLookedAtBehindIt) {
  const auto lease = domain_->Acquire("x");
  ASSERT_TRUE(lease && *lease);
  locks_->on_extend = Fault::kHangs;
  locks_->listeners.HoldsMayBeLost();
  while (locks_->extends < 1) {
    std::this_thread::yield();
  }
  locks_->listeners.HoldsMayBeLost();
  locks_->on_extend = Fault::kNone;
  locks_->on_extend.notify_all();
  while (locks_->extends < 2) {
    std::this_thread::yield();
  }
  EXPECT_TRUE((*lease)->StillMine());
}

TEST_F(HoldListenersTest, ADomainThatEndedIsToldNothing) {
  domain_.reset();
  locks_->listeners.HoldsMayBeLost();
  EXPECT_EQ(locks_->extends, 0);
}

}  // namespace
}  // namespace oncemq::testing
