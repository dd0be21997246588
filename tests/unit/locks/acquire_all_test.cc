// SPDX-License-Identifier: Apache-2.0
// Several names at once: all of them or none.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "support/shaky_locks.h"

namespace oncemq::testing {
namespace {

// Moves on by a millisecond with each look at it.
class MovingClock final : public Clock {
 public:
  BootTime Boot() const override { return BootTime(milliseconds(++reads_)); }
  WallTime Wall() const override { return {}; }

 private:
  mutable std::atomic<int64_t> reads_{0};
};

class AcquireAllTest : public ::testing::Test {
 protected:
  size_t Parties(std::string_view name) { return locks_->Read(name)->parties.size(); }
  void UntilParties(std::string_view name, size_t count) {
    while (Parties(name) < count) {
      std::this_thread::yield();
    }
  }

  ManualClock clock_;
  const std::shared_ptr<ShakyLocks> locks_ = std::make_shared<ShakyLocks>();
  const std::unique_ptr<LockDomain> domain_ = *LockDomain::Open(locks_);
  const std::array<std::string, 3> names_{"c", "a", "b"};
};

TEST_F(AcquireAllTest, AFailureAtALaterNameGivesTheEarlierOnesBack) {
  locks_->when_granted = [&] {
    if (locks_->requests == 2) {
      locks_->on_request = ShakyLocks::Fault::kRefused;
    }
  };
  const auto impatient = *LockDomain::Open(locks_, {.patience = milliseconds(20)});
  const auto all = impatient->AcquireAll(names_);
  ASSERT_FALSE(all.has_value());
  EXPECT_EQ(all.error().code, Code::kUnavailable);
  EXPECT_GE(locks_->requests, 3) << "of the first two and the last";
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

TEST_F(AcquireAllTest, ATimeThatEndsAtTheLastNameGivesTheEarlierOnesBack) {
  const auto other = *domain_->Acquire("c");
  const auto timed = *LockDomain::Open(locks_, {}, clock_);
  const BootTime until = clock_.Boot() + milliseconds(10);
  locks_->before_request = [&](std::string_view name) {
    if (name == "c") {
      EXPECT_EQ(Parties("a") + Parties("b"), 2u);
      clock_.Advance(milliseconds(10));
    }
  };
  const auto all = timed->AcquireAll(names_, {.until = until});
  EXPECT_TRUE(all.has_value() && !all->has_value()) << "it is no failure";
  EXPECT_EQ(Parties("a") + Parties("b"), 0u);
  EXPECT_EQ(Parties("c"), 1u) << "the other one's";
}

// Each name is free when it is asked for again, and so would be had by who spins for it alone.
TEST_F(AcquireAllTest, WhoSpinsForManyNamesDoesSoNoLongerThanForOne) {
  std::map<std::string, std::pair<Lease, int>, std::less<>> others;
  for (const std::string& name : names_) {
    others[name].first = std::move(**domain_->Acquire(name));
  }
  locks_->before_request = [&](std::string_view name) {
    auto& [lease, asked] = others.find(name)->second;
    if (++asked == 2) {
      lease.Release();
    }
  };
  const MovingClock clock;
  const auto spins = *LockDomain::Open(locks_, {}, clock);
  const auto all = spins->AcquireAll(names_, {.wait = {LockWait::How::kSpin, milliseconds(10)}});
  EXPECT_TRUE(all.has_value() && !all->has_value()) << "it is no failure";
  EXPECT_EQ(Parties("a"), 0u);
}

TEST_F(AcquireAllTest, BehindTheTimeToSpinTheRestIsTriedOnceEach) {
  const auto other = *domain_->Acquire("c");
  const auto spins = *LockDomain::Open(locks_, {}, clock_);
  locks_->before_request = [&](std::string_view) { clock_.Advance(milliseconds(5)); };
  const AcquireOptions how{.wait = {LockWait::How::kSpin, milliseconds(5)}};
  const int before = locks_->requests;
  const auto busy = spins->AcquireAll(names_, how);
  EXPECT_TRUE(busy.has_value() && !busy->has_value());
  EXPECT_EQ(locks_->requests, before + 3);
  EXPECT_EQ(Parties("a") + Parties("b") + Parties("c"), 1u);
  const auto free = spins->AcquireAll(std::array<std::string, 2>{"a", "b"}, how);
  EXPECT_TRUE(free.has_value() && free->has_value()) << "what is free is had all the same";
}

// Each time the first of them is over when the last one is had.
TEST_F(AcquireAllTest, WhoSpinsTakesNamesThatWereLostAgainForNoLonger) {
  const auto spins = *LockDomain::Open(locks_, {}, clock_);
  locks_->when_granted = [&] { clock_.Advance(milliseconds(1'000)); };
  const AcquireOptions how{.wait = {LockWait::How::kSpin, milliseconds(5'000)},
                           .max_hold = milliseconds(1'500)};
  const auto all = spins->AcquireAll(names_, how);
  EXPECT_TRUE(all.has_value() && !all->has_value()) << "it is no failure";
  EXPECT_EQ(locks_->requests, 6) << "two rounds of three names";
  EXPECT_EQ(Parties("a") + Parties("b") + Parties("c"), 0u);
}

// It answers nothing any more when the last one is asked for.
TEST_F(AcquireAllTest, OverAStoreThatHangsTheEarlierOnesAreToldTogetherAndOnlyOnce) {
  std::vector<std::string> names;
  for (int i = 10; i < 40; i++) {
    names.push_back(std::to_string(i));
  }
  locks_->when_granted = [&] {
    if (locks_->requests == 29) {
      locks_->on_request = ShakyLocks::Fault::kRefused;
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
