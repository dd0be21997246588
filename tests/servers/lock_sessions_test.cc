// SPDX-License-Identifier: Apache-2.0
// Sessions of ZooKeeper that end under load: because their process or its network was silent for
// too long, and because somebody ended them.
#include "lock_storm.h"
#include "support/zookeeper_server.h"
#include "support/zookeeper_session_end.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kSession{600};

class LockSessions : public LockStorm {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_ZOOKEEPER();
    server_ = ZooKeeperServer::Start();
    MakeNetworks({server_->port()});
    rules_.fences_of_requests = true;
    for (const auto& network : networks_) {
      PlayerOptions player = NewPlayer();
      player.at = "zookeeper://127.0.0.1:" + std::to_string(network->port());
      player.session = kSession;
      player.readers = 25;
      Join(player);
    }
  }
  // Of those that hold or wait for something now.
  std::vector<uint64_t> Sessions() {
    const std::string dump = server_->Say("dump");
    std::vector<uint64_t> sessions;
    size_t at = dump.find("Sessions with Ephemerals");
    while (at != std::string::npos && (at = dump.find("\n0x", at)) != std::string::npos) {
      at += 3;
      sessions.push_back(std::stoull(dump.substr(at), nullptr, 16));
      seen_.insert(sessions.back());
    }
    return sessions;
  }
  // Each player has had another one than its first.
  bool Enough(size_t sessions) {
    Sessions();
    return EverybodyHadATurn() && !Ledger().empty() && seen_.size() >= sessions;
  }

  std::unique_ptr<ZooKeeperServer> server_;
  std::set<uint64_t> seen_;
};

TEST_F(LockSessions, WhoIsSilentForLongerThanItsSessionBelievesNothingThen) {
  Trouble(
      HowLong(milliseconds(3'000)),
      [this] {
        Process& paused = *players_[Below(kPlayers)];
        TcpProxy& silent = *networks_[Below(kPlayers)];
        paused.Pause();
        silent.Set(TcpProxy::Mode::kSilent);
        SleepFor(2 * kSession);  // the server counts in ticks
        silent.Set(TcpProxy::Mode::kPass);
        paused.Continue();
        Sessions();
        SleepFor(milliseconds(Below(200)));
      },
      [this] { return Enough(kPlayers + 2); });
  End();
  ExpectExclusion();
}

// The next one may hold before the former one hears of it: what checks fences goes right.
TEST_F(LockSessions, FencesStayInOrderThoughSessionsAreEnded) {
  size_t ended = 0;
  Trouble(
      HowLong(milliseconds(3'000)),
      [&] {
        const std::vector<uint64_t> sessions = Sessions();
        if (!sessions.empty()) {
          ended += EndZooKeeperSession(server_->port(),
                                       sessions[Below(static_cast<uint32_t>(sessions.size()))]);
        }
        SleepFor(milliseconds(Below(200)));
      },
      [&] { return Enough(3 * kPlayers) && ended >= 5; });
  End();
  ExpectFences();
}

}  // namespace
}  // namespace oncemq::testing
