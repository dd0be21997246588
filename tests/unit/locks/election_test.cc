// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/election.h"

#include <gtest/gtest.h>

#include <array>
#include <latch>
#include <thread>

#include "oncemq/locks/memory_locks.h"
#include "support/shaky_locks.h"

namespace oncemq::testing {
namespace {

void UntilStopped(const std::stop_token& stop) {
  Mutex mutex;
  ConditionVariable never;
  MutexLock lock(mutex);
  never.wait(mutex, stop, [] { return false; });
}

class ElectionTest : public ::testing::Test {
 protected:
  const std::shared_ptr<ShakyLocks> engine_ = std::make_shared<ShakyLocks>();
  const std::unique_ptr<LockDomain> domain_ =
      *LockDomain::Open(engine_, {.lease = milliseconds(3'000)});
};

TEST_F(ElectionTest, OneLeadsAndTheNextOneTakesOverWhenItResigns) {
  std::atomic<int> leading{0};
  std::atomic<int> most{0};
  std::latch both_have_led(2);
  std::vector<std::jthread> standing;
  for (int i = 0; i < 2; i++) {
    standing.emplace_back([&](const std::stop_token& stop) {
      bool has_led = false;
      EXPECT_TRUE(Campaign(
          *domain_, "scheduler",
          [&](const Lease& lease, const std::stop_token&) {
            most = std::max(most.load(), ++leading);
            EXPECT_TRUE(lease.StillMine());
            leading--;
            if (!std::exchange(has_led, true)) {
              both_have_led.count_down();
            }
          },
          stop));
    });
  }
  both_have_led.wait();
  for (std::jthread& thread : standing) {
    thread.request_stop();
  }
  standing.clear();
  EXPECT_EQ(most, 1);
  EXPECT_FALSE(LeaderOf(*engine_, "scheduler")->has_value());
}

TEST_F(ElectionTest, WhoLeadsCanBeSeenAndAskedToResign) {
  std::latch leads(1);
  std::latch resigned(1);
  std::jthread leader([&](const std::stop_token& stop) {
    int terms = 0;
    EXPECT_TRUE(Campaign(*domain_, "scheduler",
                         [&](const Lease&, const std::stop_token& lost) {
                           if (++terms == 1) {
                             leads.count_down();
                             UntilStopped(lost);
                             resigned.count_down();
                           } else {
                             UntilStopped(lost);
                           }
                         },
                         stop, {.what = "shift 7"}));
  });
  leads.wait();
  const auto party = *LeaderOf(*engine_, "scheduler");
  ASSERT_TRUE(party.has_value());
  EXPECT_NE(party->who.find("shift 7"), std::string::npos);
  ASSERT_EQ(*engine_->Evict("scheduler", party->fence), Freed::kYes);
  resigned.wait();  // it learns of it when it renews
}

// Where there is no line whoever asks first has it, and those who stand by ask in intervals.
TEST_F(ElectionTest, ALeaderThatIsAskedBackLetsTheOthersComeFirst) {
  constexpr milliseconds kPause{200};
  std::array<BootTime, 2> turns{};  // the end of the first term, the begin of the second
  std::latch leads(1);
  std::latch again(1);
  std::jthread leader([&, term = 0](const std::stop_token& stop) mutable {
    EXPECT_TRUE(Campaign(*domain_, "scheduler",
                         [&](const Lease&, const std::stop_token& lost) {
                           if (++term == 1) {
                             leads.count_down();
                             UntilStopped(lost);
                             turns[0] = domain_->clock().Boot();
                           } else if (term == 2) {
                             turns[1] = domain_->clock().Boot();
                             again.count_down();
                           }
                         },
                         stop, {.pause = kPause}));
  });
  leads.wait();
  ASSERT_EQ(*engine_->Recall("scheduler"), 1u);
  again.wait();
  EXPECT_GE(turns[1] - turns[0], kPause);
}

TEST_F(ElectionTest, ALeaderThatResignsAtOncePausesBeforeItStandsAgain) {
  constexpr milliseconds kPause{200};
  std::array<BootTime, 2> terms{};
  std::latch again(1);
  std::jthread leader([&, term = size_t{0}](const std::stop_token& stop) mutable {
    EXPECT_TRUE(Campaign(*domain_, "scheduler",
                         [&](const Lease&, const std::stop_token&) {
                           if (term < terms.size()) {
                             terms[term] = domain_->clock().Boot();
                           }
                           if (++term == terms.size()) {
                             again.count_down();
                           }
                         },
                         stop, {.pause = kPause}));
  });
  again.wait();
  EXPECT_GE(terms[1] - terms[0], kPause);
}

TEST_F(ElectionTest, ALeaderThatThrowsResignsAndStandsAgain) {
  std::latch again(1);
  std::jthread leader([&](const std::stop_token& stop) {
    int terms = 0;
    EXPECT_TRUE(Campaign(*domain_, "scheduler",
                         [&](const Lease&, const std::stop_token&) {
                           if (++terms == 1) {
                             throw std::runtime_error("what");
                           }
                           if (terms == 2) {
                             again.count_down();
                           }
                         },
                         stop, {.pause = milliseconds(1)}));
  });
  again.wait();
}

TEST_F(ElectionTest, AStoreThatFailsIsWaitedForAndAWrongNameIsNot) {
  EXPECT_EQ(Campaign(*domain_, "", [](const Lease&, const std::stop_token&) {}, {}).error().code,
            Code::kInvalid);
  LockOptions impatient;
  impatient.patience = milliseconds(1);
  const auto domain = *LockDomain::Open(engine_, impatient);
  engine_->on_request = ShakyLocks::Fault::kRefused;
  std::latch leads(1);
  std::jthread leader([&](const std::stop_token& stop) {
    std::once_flag once;
    EXPECT_TRUE(Campaign(*domain, "scheduler",
                         [&](const Lease&, const std::stop_token&) {
                           std::call_once(once, [&] { leads.count_down(); });
                         },
                         stop, {.pause = milliseconds(1)}));
  });
  while (engine_->requests < 3) {
    std::this_thread::yield();
  }
  engine_->on_request = ShakyLocks::Fault::kNone;
  leads.wait();
}

}  // namespace
}  // namespace oncemq::testing
