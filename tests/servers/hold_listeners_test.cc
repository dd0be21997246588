// SPDX-License-Identifier: Apache-2.0
// Holders whose session is ended from the store's side learn it long before they would have
// renewed.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "oncemq/locks/lock_domain.h"
#include "support/stop_requested_within.h"
#include "support/tcp_proxy.h"

#ifdef ONCEMQ_WITH_ETCD
#include "oncemq/clients/etcd_client.h"
#include "oncemq/locks/etcd_locks.h"
#include "support/etcd_server.h"
#endif
#ifdef ONCEMQ_WITH_ZOOKEEPER
#include "oncemq/locks/zookeeper_locks.h"
#include "support/zookeeper_server.h"
#include "support/zookeeper_session_end.h"
#endif

namespace oncemq::testing {
namespace {

constexpr milliseconds kLease{60'000};
constexpr milliseconds kSession{100'000};
constexpr milliseconds kConnect{10'000};
constexpr milliseconds kCall{5'000};

// `end` ends what the hold hangs on.
void ExpectNotifiedBeforeRenewal(const Result<std::shared_ptr<LockEngine>>& engine,
                                 const std::function<void()>& end) {
  ASSERT_TRUE(engine.has_value()) << ToString(engine.error());
  const auto domain = *LockDomain::Open(*engine, {.lease = kLease});
  const BootTime asked = BootNow();
  const auto lease = domain->Acquire("x");
  ASSERT_TRUE(lease && *lease);
  ASSERT_NO_FATAL_FAILURE(end());
  const BootTime ended = BootNow();
  EXPECT_TRUE(StopRequestedWithin((*lease)->stop(), kLease / 4));
  const BootTime told = BootNow();
  EXPECT_EQ((*lease)->lost(), LeaseLoss::kTaken);
  EXPECT_LT(told - asked, kLease / 3) << "then it would have renewed";
  ::testing::Test::RecordProperty("told_after_ms",
                                  std::chrono::floor<milliseconds>(told - ended).count());
}

#ifdef ONCEMQ_WITH_ZOOKEEPER
TEST(HoldListeners, AZooKeeperThatEndsTheSession) {
  ONCEMQ_REQUIRE_ZOOKEEPER();
  const auto server = ZooKeeperServer::Start();
  TcpProxy network(server->port());
  const std::string url = "zookeeper://127.0.0.1:" + std::to_string(network.port());
  ExpectNotifiedBeforeRenewal(OpenZooKeeperLocks(url, {.call = kCall, .session = kSession}), [&] {
    const std::string dump = server->Say("dump");
    const size_t at = dump.find("\n0x", dump.find("Sessions with Ephemerals"));
    ASSERT_NE(at, std::string::npos) << dump;
    const uint64_t id = std::stoull(dump.substr(at + 3), nullptr, 16);
    // Its owner would take it back while it is being closed, and the server leave it unanswered.
    network.Set(TcpProxy::Mode::kSilent);
    ASSERT_TRUE(EndZooKeeperSession(server->port(), id, std::chrono::seconds(10)));
    network.Set(TcpProxy::Mode::kPass);
  });
}
#endif

#ifdef ONCEMQ_WITH_ETCD
TEST(HoldListeners, AnEtcdWhoseLeaseIsRevoked) {
  ONCEMQ_REQUIRE_ETCD();
  const auto server = EtcdServer::Start();
  const auto client = EtcdClient::Open(*ParseEtcdEndpoint(server->url()));
  ExpectNotifiedBeforeRenewal(
      OpenEtcdLocks(server->url(),
                    {.connect = kConnect,
                     .call = kCall,
                     .session = std::chrono::duration_cast<std::chrono::seconds>(kSession)}),
      [&] {
        const std::string all(1, '\0');
        const auto keys =
            (*client)->Run(EtcdOp{.kind = EtcdOp::Kind::kRange, .key = all, .end = all});
        ASSERT_TRUE(keys.has_value()) << ToString(keys.error());
        std::set<int64_t> leases;
        for (const EtcdEntry& entry : keys->replies.at(0).entries) {
          leases.insert(entry.lease);
        }
        leases.erase(0);
        ASSERT_EQ(leases.size(), 1u);
        ASSERT_TRUE((*client)->Revoke(*leases.begin()));
      });
}
#endif

}  // namespace
}  // namespace oncemq::testing
