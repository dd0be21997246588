// SPDX-License-Identifier: Apache-2.0
// A planned switch between stores of different kinds, over the real server of each: what is held
// moves there and back, nobody notices, and fences rise.
#include <gtest/gtest.h>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engines.h"
#include "oncemq/locks/switched_locks.h"
#include "storm_engines.h"
#include "support/eventually.h"
#include "support/require_backend.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

// The keeper's lease, which it has to renew also where a machine stands still.
constexpr milliseconds kLease{6'000};
constexpr milliseconds kPatience{60'000};

class LockMoves : public ::testing::TestWithParam<StormEngine> {
 protected:
  void SetUp() override {
    // The first of the engines is at the one end of each switch.
    const StormEngine engines[] = {StormEngines().front(), GetParam()};
    for (size_t i = 0; i < 2; i++) {
      ONCEMQ_REQUIRE_BACKEND(engines[i].missing());
      servers_.push_back(engines[i].start(true));
      PlayerOptions player;
      servers_.back()->Put(player, servers_.back()->ports());
      stores_.push_back(*NamedLocksAt(i == 0 ? "x" : "y", player.at, "moves"));
    }
    locks_ = Open();
    domain_ = *LockDomain::Open(locks_, {.lease = kLease});
    others_ = *LockDomain::Open(Open(), {.lease = kLease});
  }
  // Of a process of its own.
  std::shared_ptr<SwitchedLocks> Open() const {
    SwitchboardOptions options;
    options.config_lease = milliseconds(1'000);
    options.longest = kLease;
    auto locks = SwitchedLocks::Open(stores_, *OpenFileSwitchStore(record_.path()), options);
    EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    return *std::move(locks);
  }
  static Granted<Lease> Take(LockDomain& domain, std::string_view name) {
    auto lease = domain.Acquire(name, {.until = SystemClock::Instance().Boot() + kPatience});
    EXPECT_TRUE(lease.has_value()) << ToString(lease.error());
    return lease ? *std::move(lease) : kNotGranted;
  }
  // By either process, in the store or the stores that are asked now.
  void ExpectAGreaterFence() {
    for (LockDomain* domain : {domain_.get(), others_.get()}) {
      auto lease = Take(*domain, "short");
      ASSERT_TRUE(lease);
      EXPECT_GT(lease->fence(), last_);
      last_ = lease->fence();
      lease->Release();
    }
  }
  // Begun again if a question was lost, or the target seemed dead, as the machine stood still.
  bool UnderWay(const std::string& name) {
    const LockSwitch now = locks_->Progress();
    return now.in_force == name || now.phase != SwitchMode::kSingle ||
           locks_->SwitchTo(name, "a test", UnlessPlanned::kRefuse).has_value();
  }
  void SwitchTo(const std::string& name) {
    ASSERT_TRUE(Eventually(kPatience, [&] { return UnderWay(name); }));
    ExpectAGreaterFence();
    EXPECT_TRUE(Eventually(kPatience, [&] {
      const auto other = others_->TryAcquire("long");
      EXPECT_FALSE(other.has_value() && other->has_value()) << "two hold";
      return UnderWay(name) && locks_->Progress().in_force == name;
    }));
    ExpectAGreaterFence();
  }

  const TempDir record_;
  std::vector<std::unique_ptr<StormServer>> servers_;
  std::vector<NamedLocks> stores_;
  std::shared_ptr<SwitchedLocks> locks_;
  std::unique_ptr<LockDomain> domain_;
  std::unique_ptr<LockDomain> others_;
  Fence last_;
};

TEST_P(LockMoves, AHoldMovesThereAndBackUnnoticedAndFencesRise) {
  auto held = Take(*domain_, "long");
  ASSERT_TRUE(held);
  const Fence fence = held->fence();
  ExpectAGreaterFence();
  SwitchTo("y");
  SwitchTo("x");
  EXPECT_FALSE(held->stop().stop_requested());
  EXPECT_EQ(held->fence(), fence);
  EXPECT_TRUE(Eventually(kPatience, [&] { return held->Confirm().value_or(false); }));
  EXPECT_EQ(held->Release(), Released::kYes);
  const auto next = Take(*others_, "long");
  ASSERT_TRUE(next);
  EXPECT_GT(next->fence(), fence);
}

// Those with fences that can be sealed.
std::vector<StormEngine> Others() {
  std::vector<StormEngine> engines(StormEngines().begin() + 1, StormEngines().end());
  std::erase_if(engines, [](const StormEngine& engine) {
    return engine.name == "switched" || !engine.can.seals || !engine.can.fence;
  });
  return engines;
}

INSTANTIATE_TEST_SUITE_P(Locks, LockMoves, ::testing::ValuesIn(Others()),
                         [](const auto& tested) { return tested.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LockMoves);

}  // namespace
}  // namespace oncemq::testing
