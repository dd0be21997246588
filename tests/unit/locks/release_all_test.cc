// SPDX-License-Identifier: Apache-2.0
// Many leases that are given back together.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "oncemq/locks/lock_domain.h"
#include "support/calls_of_this_thread.h"
#include "support/shaky_locks.h"
#include "support/stop_requested_within.h"

namespace oncemq::testing {
namespace {

class ReleaseAllTest : public ::testing::Test {
 protected:
  static std::vector<Lease> Taken(LockDomain& domain, size_t count) {
    std::vector<Lease> leases;
    for (size_t i = 0; i < count; i++) {
      leases.push_back(std::move(**domain.Acquire("name " + std::to_string(i))));
    }
    return leases;
  }
  void UntilNothingIsHeld() {
    while (!locks_->Names("", 1)->empty()) {
      std::this_thread::yield();
    }
  }

  const std::shared_ptr<ShakyLocks> locks_ = std::make_shared<ShakyLocks>();
  const std::unique_ptr<LockDomain> domain_ = *LockDomain::Open(locks_);
};

TEST_F(ReleaseAllTest, OverAStoreThatHangsManyTakeAsLongAsOne) {
  auto leases = Taken(*domain_, 250);
  const auto frees = CallsOfThisThread(locks_->before_free);
  locks_->on_free = ShakyLocks::Fault::kRefused;
  ReleaseAll(std::move(leases));
  EXPECT_EQ(*frees, 1);
  locks_->on_free = ShakyLocks::Fault::kNone;
  UntilNothingIsHeld();
}

TEST_F(ReleaseAllTest, ThoseOfSeveralDomainsAreGivenBackEachToItsStore) {
  const auto others = std::make_shared<ShakyLocks>();
  const auto another = *LockDomain::Open(others);
  auto leases = Taken(*domain_, 3);
  for (Lease& lease : Taken(*another, 3)) {
    leases.insert(leases.begin() + 1, std::move(lease));
  }
  leases.emplace_back();  // of nothing
  ReleaseAll(std::move(leases));
  EXPECT_TRUE(locks_->Names("", 1)->empty() && others->Names("", 1)->empty());
  EXPECT_EQ(locks_->frees + others->frees, 2);
  ReleaseAll({});
}

TEST_F(ReleaseAllTest, OneThatWasLostIsGivenBackWithTheOthers) {
  ManualClock clock;
  const auto domain = *LockDomain::Open(locks_, {}, clock);
  auto leases = Taken(*domain, 2);
  leases[0].EndAt(clock.Boot());
  ASSERT_EQ(leases[0].lost(), LeaseLoss::kTooLong);
  const std::stop_token other = leases[1].stop();
  ReleaseAll(std::move(leases));
  EXPECT_TRUE(locks_->Names("", 1)->empty()) << "nobody waits for the rest of its lease";
  EXPECT_FALSE(other.stop_requested()) << "what is released is not told as lost";
}

TEST_F(ReleaseAllTest, LeasesMayOutliveTheirDomain) {
  auto domain = *LockDomain::Open(locks_);
  auto leases = Taken(*domain, 2);
  domain.reset();
  ReleaseAll(std::move(leases));
  EXPECT_TRUE(locks_->Names("", 1)->empty());
}

TEST_F(ReleaseAllTest, TheyMayBeGivenBackByTheCallbackOfOneThatIsLost) {
  auto leases = Taken(*domain_, 3);
  leases.push_back(std::move(**domain_->Acquire("short", {.max_hold = milliseconds(50)})));
  const std::stop_token lost = leases.back().stop();
  std::stop_source done;
  const std::stop_callback gives_back(lost, [&] {
    ReleaseAll(std::move(leases));
    done.request_stop();
  });
  EXPECT_TRUE(StopRequestedWithin(done.get_token(), std::chrono::seconds(20)));
  EXPECT_TRUE(locks_->Names("", 1)->empty());
}

}  // namespace
}  // namespace oncemq::testing
