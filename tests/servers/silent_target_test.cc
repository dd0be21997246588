// SPDX-License-Identifier: Apache-2.0
// A planned switch to a Redis that hangs from its first moments on costs no hold of the one in
// force. Depends on the speed of the machine: half a lease that stands still is a lost hold.
#include <gtest/gtest.h>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/switched_locks.h"
#include "support/eventually.h"
#include "support/redis_server.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

constexpr int kSilentTargetHolds = 20;

// Of a lease, in seconds.
class SilentTarget : public ::testing::TestWithParam<int> {
 protected:
  void Start() {
    std::vector<NamedLocks> stores;
    for (const char* name : {"x", "y"}) {
      servers_.push_back(RedisServer::Start());
      stores.push_back(*NamedLocksAt(name, servers_.back()->url(), "silent"));
    }
    record_ = *OpenFileSwitchStore(dir_.path());
    locks_ = *SwitchedLocks::Open(stores, record_, {.automatic = false});
  }
  // Without a question to a store.
  SwitchMode Mode() const { return ParseSwitchRecord(record_->Read()->text)->mode; }

  const TempDir dir_;
  std::vector<std::unique_ptr<RedisServer>> servers_;
  std::shared_ptr<SwitchStore> record_;
  std::shared_ptr<SwitchedLocks> locks_;
};

TEST_P(SilentTarget, HoldsOutliveASwitchToIt) {
  ONCEMQ_REQUIRE_REDIS();
  Start();
  const milliseconds lease = std::chrono::seconds(GetParam());
  const auto domain = *LockDomain::Open(locks_, {.lease = lease});
  std::vector<Lease> held;
  for (int i = 0; i < kSilentTargetHolds; i++) {
    auto one = domain->Acquire("name " + std::to_string(i));
    ASSERT_TRUE(one && *one);
    held.push_back(*std::move(*one));
  }
  ASSERT_TRUE(locks_->SwitchTo("y", "a test", UnlessPlanned::kRefuse).has_value());
  SleepFor(milliseconds(50));
  servers_.back()->process().Pause();
  const BootTime paused = BootNow();
  EXPECT_TRUE(Eventually(2 * lease, [&] { return Mode() == SwitchMode::kSingle; }));
  const auto after = std::chrono::floor<milliseconds>(BootNow() - paused);
  RecordProperty("called_off_after_ms", after.count());
  EXPECT_LE(after, lease * 4 / 5);
  SleepFor(lease);  // all that was not renewed has ended by then
  for (const Lease& one : held) {
    EXPECT_FALSE(one.stop().stop_requested());
  }
  servers_.back()->process().Continue();
}

INSTANTIATE_TEST_SUITE_P(Seconds, SilentTarget, ::testing::Values(5, 10),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace oncemq::testing
