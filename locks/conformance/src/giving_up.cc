// SPDX-License-Identifier: Apache-2.0
// Attempts that are given up at every moment around their grant: before the request, in the queue,
// with the wake, behind the grant. Whatever came of it, nothing is left behind.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "lock_test.h"
#include "oncemq/locks/lock_domain.h"

namespace oncemq::conformance {
namespace {

enum class By { kNobody, kStop, kTime };

// Asks for a name while its holder gives it back.
class GivingUp {
 public:
  // `holds`: how the holder has it.
  GivingUp(const std::shared_ptr<LockEngine>& engine, const AcquireOptions& holds) : holds_(holds) {
    auto domain = LockDomain::Open(engine);
    EXPECT_TRUE(domain.has_value()) << ToString(domain.error());
    domain_ = domain ? *std::move(domain) : nullptr;
  }

  Granted<Lease> Acquired(const AcquireOptions& how) {
    auto lease = domain_->Acquire("x", how);
    EXPECT_TRUE(lease.has_value()) << ToString(lease.error());
    return lease ? *std::move(lease) : kNotGranted;
  }

  // One round, and what it took: the request is given up so long after its begin, by a stop token
  // or by a time of its own; or by nobody: then it has the name.
  microseconds Play(AcquireOptions how, By by, microseconds after = {}) {
    auto holder = Acquired(holds_);
    if (!holder) {
      return {};
    }
    const Clock& clock = domain_->clock();
    const BootTime began = clock.Boot();
    std::stop_source stop;
    how.stop = stop.get_token();
    if (by == By::kTime) {
      how.until = began + after;
    }
    std::jthread waits([&] { granted_ += Acquired(how).has_value() ? 1 : 0; });
    std::jthread releases([&] { holder->Release(); });
    if (by == By::kStop) {
      while (clock.Boot() < began + after) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
      }
      stop.request_stop();
    }
    waits.join();
    releases.join();
    return clock.Boot() - began;
  }

  // How long to go on with moments: twice what a grant takes here; less for engines without wakes.
  microseconds Measured(const AcquireOptions& how) {
    std::vector<microseconds> took;
    for (int i = 0; i < kMeasured; i++) {
      took.push_back(Play(how, By::kNobody));
    }
    EXPECT_EQ(granted_, kMeasured);
    std::sort(took.begin(), took.end());
    return std::min(took[kMeasured / 2] * 2, microseconds(20'000));
  }
  // Of those since it was measured.
  int granted() const { return granted_ - kMeasured; }

 private:
  static constexpr int kMeasured = 20;
  const AcquireOptions holds_;
  std::unique_ptr<LockDomain> domain_;
  int granted_ = 0;
};

By InTurn(int round) {
  return round % 2 == 0 ? By::kStop : By::kTime;
}

// Readers wait for the writer that goes.
LOCK_TEST(Always, GivingUpAroundTheGrantLeavesNothingBehind) {
  GivingUp requests(shared_engine(), {});
  const microseconds last = requests.Measured({});
  for (int round = 0; round < rounds() && !HasFailure(); round++) {
    const bool reads = can().shared && round % 4 >= 2;
    requests.Play({.mode = reads ? LockMode::kShared : LockMode::kExclusive}, InTurn(round),
                  last * round / rounds());
    EXPECT_TRUE(Read().parties.empty()) << "round " << round;
  }
  EXPECT_FALSE(HasFailure());
  EXPECT_LT(requests.granted(), rounds());
}

// The same beside a hold that stays.
LOCK_TEST(IfCounted, GivingUpACountedPlaceAroundItsGrantLeavesNothingBehind) {
  const AcquireOptions counted{.mode = LockMode::kCounted, .limit = 2};
  GivingUp requests(shared_engine(), counted);
  const auto stays = requests.Acquired(counted);
  ASSERT_TRUE(stays);
  const microseconds last = requests.Measured(counted);
  const int all = std::max(1, rounds() / 3);
  for (int round = 0; round < all && !HasFailure(); round++) {
    requests.Play(counted, InTurn(round), last * round / all);
    EXPECT_EQ(Read().parties.size(), 1u) << "round " << round;
  }
  EXPECT_LT(requests.granted(), all);
  EXPECT_TRUE(stays->StillMine());
}

}  // namespace
}  // namespace oncemq::conformance
