// SPDX-License-Identifier: Apache-2.0
// Holds that end at a moment. Who asks for one that ends before it begins hears so, and asks no
// more.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "oncemq/locks/lock_domain.h"
#include "support/shaky_locks.h"
#include "support/stop_requested_within.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kGrantTakes{1'000};

class AcquireEnd : public ::testing::Test {
 protected:
  AcquireEnd() {
    locks_->when_granted = [this] { clock_.Advance(kGrantTakes); };
    domain_ = *LockDomain::Open(locks_, {.patience = milliseconds(5'000)}, clock_);
  }
  size_t Parties() { return locks_->Read("a")->parties.size() + locks_->Read("b")->parties.size(); }

  ManualClock clock_;
  const std::shared_ptr<ShakyLocks> locks_ = std::make_shared<ShakyLocks>();
  const std::vector<std::string> names_ = {"a", "b"};
  std::unique_ptr<LockDomain> domain_;
};

TEST_F(AcquireEnd, BehindTheMomentThatEndsItNothingIsAskedFor) {
  const AcquireOptions over{.ends = clock_.Boot()};
  const auto one = domain_->Acquire("a", over);
  EXPECT_TRUE(one && !*one);
  const auto all = domain_->AcquireAll(names_, over);
  EXPECT_TRUE(all && !*all);
  EXPECT_EQ(locks_->requests, 0);
}

TEST_F(AcquireEnd, AHoldThatEndsOnItsWayIsTakenBack) {
  const auto one = domain_->Acquire("a", {.ends = clock_.Boot() + kGrantTakes});
  EXPECT_TRUE(one && !*one);
  EXPECT_EQ(Parties(), 0u);
}

TEST_F(AcquireEnd, AHoldThatIsOverWhenItIsHeardOfIsAFailureInTheEnd) {
  const auto one = domain_->Acquire("a", {.max_hold = kGrantTakes});
  ASSERT_FALSE(one.has_value());
  EXPECT_EQ(one.error().code, Code::kTimeout);
  EXPECT_EQ(Parties(), 0u);
}

TEST_F(AcquireEnd, NamesThatCannotBeHeldTogetherAreAFailureInTheEnd) {
  const auto all = domain_->AcquireAll(names_, {.max_hold = kGrantTakes * 3 / 2});
  ASSERT_FALSE(all.has_value());
  EXPECT_EQ(all.error().code, Code::kTimeout);
  EXPECT_EQ(Parties(), 0u);
}

TEST_F(AcquireEnd, AHoldWhoseEndIsMovedLastsUntilThenAndNoLonger) {
  auto one = *domain_->Acquire("a");
  ASSERT_TRUE(one);
  one->EndAt(clock_.Boot() + milliseconds(2'000));
  one->EndAt(clock_.Boot() + milliseconds(5'000));
  clock_.Advance(milliseconds(3'000));
  EXPECT_TRUE(one->StillMine());
  one->EndAt(clock_.Boot());
  EXPECT_FALSE(one->StillMine());
  EXPECT_EQ(one->lost(), LeaseLoss::kTooLong);
  one->EndAt(clock_.Boot() + milliseconds(5'000));
  EXPECT_FALSE(one->StillMine());
  EXPECT_TRUE(StopRequestedWithin(one->stop(), std::chrono::seconds(20)));
  Lease().EndAt(clock_.Boot());  // of nothing: nothing
}

}  // namespace
}  // namespace oncemq::testing
