// SPDX-License-Identifier: Apache-2.0
// What a user of any lock store counts on, over the real server of each.
#include <gtest/gtest.h>

#include "each_engine.h"
#include "oncemq/locks/switched_locks.h"
#include "support/eventually.h"
#include "support/process.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

// Connecting, a call or two, and those who hear of it: never a lease.
constexpr milliseconds kEndsWithin{20'000};
// Asked one by one, a server that hangs would take longer than that.
constexpr int kHolds = 16;

TEST_P(EachEngine, ALeaseAndADomainEndInTimeThoughTheServerHangs) {
  auto domain = Open();
  ASSERT_TRUE(domain);
  std::vector<Lease> leases;
  for (int i = 0; i < kHolds; i++) {
    auto lease = domain->Acquire("name " + std::to_string(i));
    ASSERT_TRUE(lease && *lease);
    leases.push_back(*std::move(*lease));
  }
  for (size_t i = 0; i < server_->ports().size(); i++) {
    server_->Pause();  // of several, the next one each time
  }
  BootTime began = Now();
  leases.pop_back();
  EXPECT_LT(Now() - began, kEndsWithin) << "a lease";
  began = Now();
  domain.reset();
  EXPECT_LT(Now() - began, kEndsWithin) << "a domain";
  EXPECT_EQ(leases.front().lost(), LeaseLoss::kClosed);
  began = Now();
  leases.clear();
  EXPECT_LT(Now() - began, kEndsWithin) << "leases of a domain that has ended";
}

// Whoever begins the switch, and whoever ends it, asks the store for a name.
TEST_P(EachEngine, ASwitchboardComesToItAndAskingLeavesNoTrace) {
  const auto named = NamedLocksAt("y", address_, "");
  ASSERT_TRUE(named.has_value()) << ToString(named.error());
  const TempDir record;
  SwitchboardOptions options;
  options.config_lease = options.longest = milliseconds(1'000);
  auto locks = SwitchedLocks::Open({*NamedLocksAt("x", "memory:", ""), *named},
                                   *OpenFileSwitchStore(record.path()), options);
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  const auto under_way = [&] {
    const LockSwitch now = (*locks)->Progress();
    return now.in_force == "y" || now.target == "y" ||
           (*locks)->SwitchTo("y", "a test").has_value();
  };
  EXPECT_TRUE(
      Eventually(kEndsWithin, [&] { return under_way() && (*locks)->Progress().in_force == "y"; }));
  locks->reset();  // it asks again and again
  const auto engine = OpenLockEngine(address_);
  ASSERT_TRUE(engine.has_value()) << ToString(engine.error());
  const auto seen = (*engine)->Read("oncemq/question");
  ASSERT_TRUE(seen.has_value()) << ToString(seen.error());
  EXPECT_TRUE(seen->parties.empty());
}

#ifdef ONCEMQ_LOST_UPDATE
TEST_P(EachEngine, TheExamplesGoRightOverIt) {
  for (const char* example : {ONCEMQ_TASK_POOL, ONCEMQ_LOST_UPDATE}) {
    const bool fits = GetParam().can.fence || std::string_view(example) == ONCEMQ_TASK_POOL;
    Process process({.command = {example, address_}});
    EXPECT_EQ(process.Wait(std::chrono::seconds(60)), fits ? 0 : 2) << example;
  }
}
#endif

INSTANTIATE_TEST_SUITE_P(Locks, EachEngine, ::testing::ValuesIn(EnginesWithAnAddress()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace oncemq::testing
