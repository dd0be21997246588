// SPDX-License-Identifier: Apache-2.0
// What a user of any lock store counts on, over the real server of each.
#include <gtest/gtest.h>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engines.h"
#include "storm_engines.h"
#include "support/process.h"
#include "support/require_backend.h"

namespace oncemq::testing {
namespace {

// Connecting, a call or two, and those who hear of it: never a lease.
constexpr milliseconds kEndsWithin{20'000};

class EachEngine : public ::testing::TestWithParam<StormEngine> {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_BACKEND(GetParam().missing());
    server_ = GetParam().start(true);
    PlayerOptions player;
    server_->Put(player, server_->ports());
    address_ = player.at;
  }
  std::unique_ptr<LockDomain> Open() {
    const auto engine = OpenLockEngine(address_);
    EXPECT_TRUE(engine.has_value()) << ToString(engine.error());
    auto domain = engine ? LockDomain::Open(*engine) : engine.error();
    EXPECT_TRUE(domain.has_value()) << ToString(domain.error());
    return domain ? *std::move(domain) : nullptr;
  }
  static BootTime Now() { return SystemClock::Instance().Boot(); }

  std::unique_ptr<StormServer> server_;
  std::string address_;
};

TEST_P(EachEngine, ALeaseAndADomainEndInTimeThoughTheServerHangs) {
  auto domain = Open();
  ASSERT_TRUE(domain);
  std::optional<Lease> first = *domain->Acquire("first");
  std::optional<Lease> second = *domain->Acquire("second");
  ASSERT_TRUE(first && second);
  for (size_t i = 0; i < server_->ports().size(); i++) {
    server_->Pause();  // of several, the next one each time
  }
  BootTime began = Now();
  first.reset();
  EXPECT_LT(Now() - began, kEndsWithin) << "a lease";
  began = Now();
  domain.reset();
  EXPECT_LT(Now() - began, kEndsWithin) << "a domain";
  EXPECT_EQ(second->lost(), Lost::kClosed);
  began = Now();
  second.reset();
  EXPECT_LT(Now() - began, kEndsWithin) << "a lease of a domain that has ended";
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

// A switchboard has no address of its own; its stores are tried here one by one.
std::vector<StormEngine> WithAnAddress() {
  std::vector<StormEngine> engines = StormEngines();
  std::erase_if(engines, [](const StormEngine& engine) { return engine.name == "switched"; });
  return engines;
}

INSTANTIATE_TEST_SUITE_P(Locks, EachEngine, ::testing::ValuesIn(WithAnAddress()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace oncemq::testing
