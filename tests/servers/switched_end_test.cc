// SPDX-License-Identifier: Apache-2.0
// That locks which are switched end in time though all their servers hang, each of their stores and
// wherever the record is kept.
#include <gtest/gtest.h>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/switch_stores.h"
#include "oncemq/locks/switched_locks.h"
#include "storm_engines.h"
#include "support/require_backend.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

// As for one engine alone: connecting, a call or two of each server, and never a lease.
constexpr milliseconds kSwitchedEndsWithin{20'000};
constexpr int kSwitchedHolds = 16;

class SwitchedEnd : public ::testing::TestWithParam<StormEngine> {
 protected:
  void SetUp() override {
    const StormEngine& store = StormEngines().front();
    ONCEMQ_REQUIRE_BACKEND(store.missing());
    ONCEMQ_REQUIRE_BACKEND(GetParam().missing());
    for (const char* name : {"x", "y"}) {
      stores_.push_back(*NamedLocksAt(name, Behind(store), "end"));
    }
    const auto record = OpenSwitchStore(Behind(GetParam()));
    ASSERT_TRUE(record.has_value()) << ToString(record.error());
    auto locks = SwitchedLocks::Open(stores_, *record);
    ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
    locks_ = *std::move(locks);
  }
  // The address of a server that is started, over a network of its own.
  std::string Behind(const StormEngine& engine) {
    servers_.push_back(engine.start(true));
    std::vector<uint16_t> ports;
    for (const uint16_t port : servers_.back()->ports()) {
      networks_.push_back(std::make_unique<TcpProxy>(port));
      ports.push_back(networks_.back()->port());
    }
    PlayerOptions player;
    servers_.back()->Put(player, ports);
    return player.at;
  }
  template <class End>
  static void ExpectInTime(const char* what, const End& end) {
    const BootTime began = SystemClock::Instance().Boot();
    end();
    EXPECT_LT(SystemClock::Instance().Boot() - began, kSwitchedEndsWithin) << what;
  }

  std::vector<std::unique_ptr<StormServer>> servers_;
  Networks networks_;
  std::vector<NamedLocks> stores_;
  std::shared_ptr<SwitchedLocks> locks_;
};

TEST_P(SwitchedEnd, ALeaseADomainAndTheSwitchboardEndInTimeThoughAllServersHang) {
  auto domain = *LockDomain::Open(locks_);
  std::vector<Lease> leases;
  for (int i = 0; i < kSwitchedHolds; i++) {
    auto lease = domain->Acquire("name " + std::to_string(i));
    ASSERT_TRUE(lease && *lease);
    leases.push_back(*std::move(*lease));
  }
  SetAll(networks_, TcpProxy::Mode::kSilent);
  ExpectInTime("a lease", [&] { leases.pop_back(); });
  ExpectInTime("a domain", [&] { domain.reset(); });
  EXPECT_EQ(leases.front().lost(), LeaseLoss::kClosed);
  ExpectInTime("leases of a domain that has ended", [&] { leases.clear(); });
  EXPECT_EQ(locks_.use_count(), 1) << "its end is that of the switchboard";
  ExpectInTime("a switchboard", [&] { locks_.reset(); });
}

// Both stores are asked, and sealed, in the middle of a switch.
TEST_P(SwitchedEnd, TheyEndInTimeAlsoInTheMiddleOfASwitch) {
  auto domain = *LockDomain::Open(locks_);
  auto lease = domain->Acquire("name");
  ASSERT_TRUE(lease && *lease);
  ASSERT_TRUE(locks_->SwitchTo("y", "a test").has_value());
  SetAll(networks_, TcpProxy::Mode::kSilent);
  ExpectInTime("a lease", [&] { (*lease)->Release(); });
  ExpectInTime("a domain", [&] { domain.reset(); });
  ExpectInTime("a switchboard", [&] { locks_.reset(); });
}

// Those that keep a record, too.
std::vector<StormEngine> Records() {
  std::vector<StormEngine> records;
  for (const StormEngine& engine : StormEngines()) {
    for (const char* name : {"etcd", "zookeeper", "postgres", "mariadb"}) {
      if (engine.name == name) {
        records.push_back(engine);
      }
    }
  }
  return records;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SwitchedEnd);
INSTANTIATE_TEST_SUITE_P(RecordIn, SwitchedEnd, ::testing::ValuesIn(Records()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace oncemq::testing
