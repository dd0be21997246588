// SPDX-License-Identifier: Apache-2.0
// What a user of any lock store counts on, over the real server of each.
#include <gtest/gtest.h>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/lock_engines.h"
#include "oncemq/locks/switched_locks.h"
#include "storm_engines.h"
#include "support/eventually.h"
#include "support/process.h"
#include "support/require_backend.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

// Connecting, a call or two, and those who hear of it: never a lease.
constexpr milliseconds kEndsWithin{20'000};
// Asked one by one, a server that hangs would take longer than that.
constexpr int kHolds = 16;

// A database under another scheme.
class SessionsOf final : public StormServer {
 public:
  SessionsOf(std::unique_ptr<StormServer> database, std::string scheme)
      : database_(std::move(database)), scheme_(std::move(scheme)) {}

  std::vector<uint16_t> ports() const override { return database_->ports(); }
  void Put(PlayerOptions& player, const std::vector<uint16_t>& ports) const override {
    database_->Put(player, ports);
    player.at.replace(0, player.at.find(':'), scheme_);
  }
  void Pause() override { database_->Pause(); }
  void Continue() override { database_->Continue(); }
  void Kill9() override { database_->Kill9(); }
  void Restart() override { database_->Restart(); }

 private:
  const std::unique_ptr<StormServer> database_;
  const std::string scheme_;
};

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
  EXPECT_EQ(leases.front().lost(), Lost::kClosed);
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
  if (!named->capabilities.epochs) {
    EXPECT_EQ(locks.error().code, Code::kInvalid) << "it is no store of a switchboard";
    return;
  }
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  const auto under_way = [&] {
    const LockSwitch now = (*locks)->Progress();
    return now.in_force == "y" || now.target == "y" ||
           (*locks)->SwitchEngine("y", "a test").has_value();
  };
  EXPECT_TRUE(
      Eventually(kEndsWithin, [&] { return under_way() && (*locks)->Progress().in_force == "y"; }));
  locks->reset();  // it asks again and again
  const auto engine = OpenLockEngine(address_);
  ASSERT_TRUE(engine.has_value()) << ToString(engine.error());
  const auto seen = (*engine)->Look("oncemq/question");
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

// Locks of the sessions of a database, which no storm is played over.
StormEngine OfSessions(StormEngine engine, const std::string& scheme) {
  engine.name += "_sessions";
  engine.can = {};
  engine.start = [start = engine.start, scheme](bool keeps) -> std::unique_ptr<StormServer> {
    return std::make_unique<SessionsOf>(start(keeps), scheme);
  };
  return engine;
}

// A switchboard has no address of its own; its stores are tried here one by one.
std::vector<StormEngine> WithAnAddress() {
  std::vector<StormEngine> engines;
  for (const StormEngine& engine : StormEngines()) {
    if (engine.name != "switched") {
      engines.push_back(engine);
    }
    if (engine.name == "postgres") {
      engines.push_back(OfSessions(engine, "postgres-advisory"));
    } else if (engine.name == "mariadb") {
      engines.push_back(OfSessions(engine, "mariadb-get-lock"));
    }
  }
  return engines;
}

INSTANTIATE_TEST_SUITE_P(Locks, EachEngine, ::testing::ValuesIn(WithAnAddress()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace oncemq::testing
