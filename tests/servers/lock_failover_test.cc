// SPDX-License-Identifier: Apache-2.0
// A Redis whose replica lags behind, and fails over to it again and again. Two may believe then,
// and do; docs/locks.md says so. What must hold all the same: fences are in order and none comes
// twice, and what checks them is never wrong. And the one lock of the museum that only a failover
// convicts.
#include "lock_storm.h"
#include "oncemq/clients/redis_client.h"
#include "support/eventually.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

class LockFailover : public LockStorm {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    master_ = RedisServer::Start({"--repl-diskless-sync-delay", "0"});
    MakeNetworks({master_->port()});
    AddReplica();
  }

  // Behind a network of its own, and up to date.
  void AddReplica() {
    replica_.reset();
    replication_ = std::make_unique<TcpProxy>(master_->port());
    replica_ = RedisServer::Start({"--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1",
                                   std::to_string(replication_->port())});
    const auto client = RedisClient::Open(*ParseRedisEndpoint(master_->url()));
    ASSERT_TRUE(client.has_value()) << ToString(client.error());
    ASSERT_TRUE(Eventually(std::chrono::seconds(60), [&] {
      const auto said = (*client)->Run(RedisCommand{"INFO", "replication"});
      return said && said->text.find("state=online") != std::string::npos;
    }));
  }

  // What was granted since the replica began to lag is forgotten.
  void FailOver() {
    SleepFor(milliseconds(200 + Below(200)));
    replication_->Set(TcpProxy::Mode::kSilent);
    SleepFor(milliseconds(400 + Below(400)));
    master_->Kill9();
    replica_->Promote();
    for (const auto& network : networks_) {
      network->PointTo(replica_->port());
    }
    master_ = std::move(replica_);
    AddReplica();
    failovers_++;
  }

  // Leases outlast a failover, so that the former holder believes while there is another one.
  void JoinAll(const std::string& exhibit) {
    for (const auto& network : networks_) {
      PlayerOptions player = NewPlayer();
      player.exhibit = exhibit;
      player.at = "redis://127.0.0.1:" + std::to_string(network->port());
      player.lease = milliseconds(3'000);
      player.hold = milliseconds(1'500);
      player.wait = milliseconds(2'000);
      player.names = 2;
      Join(player);
    }
  }

  std::unique_ptr<RedisServer> master_;
  std::unique_ptr<TcpProxy> replication_;
  std::unique_ptr<RedisServer> replica_;
  int failovers_ = 0;
};

TEST_F(LockFailover, TwoMayBelieveAndWhatChecksTheirFencesGoesRight) {
  JoinAll("");
  Trouble(
      HowLong(milliseconds(3'000)), [this] { FailOver(); },
      [this] {
        return failovers_ >= 2 && !Overlaps(Beliefs()).empty() && CountRefused(Ledger()) > 0;
      });
  End();
  RecordProperty("failovers", failovers_);
  ExpectFences();
}

TEST_F(LockFailover, TheMuseumsLockWithoutAFenceIsConvicted) {
  JoinAll("no-fence");
  Trouble(
      milliseconds(0), [this] { FailOver(); }, [this] { return !Overlaps(Beliefs()).empty(); });
  End();
  EXPECT_FALSE(NotLinear(Calls()).empty()) << "the other judge found nothing";
}

}  // namespace
}  // namespace oncemq::testing
