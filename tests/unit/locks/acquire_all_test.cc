// SPDX-License-Identifier: Apache-2.0
// Several names at once: all of them or none.
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "support/shaky_locks.h"

namespace oncemq::testing {
namespace {

class AcquireAllTest : public ::testing::Test {
 protected:
  size_t Parties(std::string_view name) { return locks_->Look(name)->parties.size(); }
  void UntilParties(std::string_view name, size_t count) {
    while (Parties(name) < count) {
      std::this_thread::yield();
    }
  }

  const std::shared_ptr<ShakyLocks> locks_ = std::make_shared<ShakyLocks>();
  const std::unique_ptr<LockDomain> domain_ = *LockDomain::Open(locks_);
  const std::array<std::string, 3> names_{"c", "a", "b"};
};

TEST_F(AcquireAllTest, AFailureAtALaterNameGivesTheEarlierOnesBack) {
  locks_->when_granted = [&] {
    if (locks_->asks == 2) {
      locks_->on_ask = ShakyLocks::Fault::kRefused;
    }
  };
  const auto impatient = *LockDomain::Open(locks_, {.patience = milliseconds(20)});
  const auto all = impatient->AcquireAll(names_);
  ASSERT_FALSE(all.has_value());
  EXPECT_EQ(all.error().code, Code::kUnavailable);
  EXPECT_GE(locks_->asks, 3) << "of the first two and the last";
  EXPECT_EQ(Parties("a") + Parties("b") + Parties("c"), 0u);
}

TEST_F(AcquireAllTest, AStopAtALaterNameGivesTheEarlierOnesBack) {
  const auto other = *domain_->Acquire("c");
  std::stop_source stop;
  std::jthread takes([&] {
    const auto all = domain_->AcquireAll(names_, {.stop = stop.get_token()});
    EXPECT_TRUE(all.has_value() && !all->has_value()) << "it is no failure";
  });
  UntilParties("c", 2);
  EXPECT_EQ(Parties("a") + Parties("b"), 2u);
  stop.request_stop();
  takes.join();
  EXPECT_EQ(Parties("a") + Parties("b"), 0u);
  EXPECT_EQ(Parties("c"), 1u) << "the other one's";
}

// It answers nothing any more when the last one is asked for.
TEST_F(AcquireAllTest, OverAStoreThatHangsTheEarlierOnesAreToldTogetherAndOnlyOnce) {
  std::vector<std::string> names;
  for (int i = 10; i < 40; i++) {
    names.push_back(std::to_string(i));
  }
  locks_->when_granted = [&] {
    if (locks_->asks == 29) {
      locks_->on_ask = ShakyLocks::Fault::kRefused;
      locks_->on_free = ShakyLocks::Fault::kRefused;
    }
  };
  // The store is back as soon as it was told twice: by who gives up, and behind its back.
  locks_->before_free = [&] {
    if (locks_->frees == 2) {
      locks_->on_free = ShakyLocks::Fault::kNone;
    }
  };
  const auto impatient = *LockDomain::Open(locks_, {.patience = milliseconds(20)});
  EXPECT_FALSE(impatient->AcquireAll(names).has_value());
  while (!locks_->Names("", 1)->empty()) {
    std::this_thread::yield();
  }
  EXPECT_LT(locks_->frees, 20) << "not each by itself";
}

// While the second one is waited for, the first one's time is over.
TEST_F(AcquireAllTest, AllNamesAreHeldAtTheMomentTheyAreGivenOut) {
  constexpr milliseconds kLongest{400};
  auto holder = domain_->Acquire("b");
  bool all_held = false;
  std::jthread takes([&] {
    const std::vector<std::string> names = {"a", "b"};
    const auto all = domain_->AcquireAll(names, {.max_hold = kLongest});
    all_held = all && *all && (**all)[0].StillMine() && (**all)[1].StillMine();
  });
  UntilParties("b", 2);
  const BootTime over = domain_->clock().Boot() + kLongest;
  while (domain_->clock().Boot() < over) {
    std::this_thread::yield();
  }
  (*holder)->Release();
  takes.join();
  EXPECT_TRUE(all_held);
}

}  // namespace
}  // namespace oncemq::testing
