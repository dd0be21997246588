// SPDX-License-Identifier: Apache-2.0
// Processes that want the same names while they, their connections and their server are paused,
// cut and killed: what they believed at the same time, and in which order their fences came. And
// the museum, which the same checker has to convict.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <set>

#include "lock_history.h"
#include "oncemq/base/clock.h"
#include "oncemq/clients/redis_client.h"
#include "support/redis_server.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

constexpr int kPlayers = 4;

class LockStorm : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    // It forgets nothing when it is killed.
    server_ = RedisServer::Start({"--appendonly", "yes", "--appendfsync", "always"});
    for (int i = 0; i < kPlayers; i++) {
      networks_.push_back(std::make_unique<TcpProxy>(server_->port()));
    }
  }

  // Each has a network of its own.
  std::unique_ptr<Process> Player(const std::string& engine, int seconds, int seed, int clock_error,
                                  const TcpProxy& network) {
    const std::string url = "redis://127.0.0.1:" + std::to_string(network.port());
    return std::make_unique<Process>(
        ProcessOptions{.command = {ONCEMQ_LOCK_PLAYER, engine, url, std::to_string(seconds),
                                   std::to_string(seed), std::to_string(clock_error), File()},
                       .log_file = dir_.path() / "log"});
  }
  std::string File() const { return dir_.path() / "beliefs"; }
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  // One trouble, for a moment.
  void Trouble(std::vector<std::unique_ptr<Process>>& players) {
    const size_t which = Below(kPlayers);
    Process& victim = *players[which];
    const milliseconds moment(20 + Below(400));
    switch (Below(7)) {
      case 0:
        victim.Pause();
        SleepFor(moment);
        victim.Continue();
        break;
      case 1:
        server_->process().Pause();
        SleepFor(moment);
        server_->process().Continue();
        break;
      case 2:
        CutAll();
        break;
      case 3:
      case 4:
        networks_[which]->Set(TcpProxy::Mode::kSilent);
        SleepFor(moment);
        networks_[which]->Set(TcpProxy::Mode::kPass);
        break;
      case 5:
        networks_[which]->Set(TcpProxy::Mode::kSwallowReplies);
        SleepFor(moment);
        networks_[which]->Set(TcpProxy::Mode::kPass);
        break;
      default:
        server_->Kill9();
        SleepFor(moment / 4);
        server_->Restart();
    }
    SleepFor(milliseconds(Below(200)));
  }
  void CutAll() {
    const auto client = RedisClient::Open(*ParseRedisPlace(server_->url()));
    if (client) {
      for (const char* kind : {"normal", "pubsub"}) {
        static_cast<void>((*client)->Run(RedisCommand{"CLIENT", "KILL", "TYPE", kind}));
      }
    }
  }

  // Within a few rounds.
  bool Convicted(const std::string& exhibit) {
    for (int round = 0; round < 12; round++) {
      if (!Overlaps(Play(exhibit, 4)).empty()) {
        return true;
      }
    }
    return false;
  }

  std::vector<Belief> Play(const std::string& engine, int seconds) {
    const int clock_error = engine == "client-clocks" ? 5'000 : 0;
    std::vector<std::unique_ptr<Process>> players;
    for (int i = 0; i < kPlayers; i++) {
      const int error = i % 2 == 0 ? clock_error : -clock_error;
      players.push_back(Player(engine, seconds, static_cast<int>(Below(1'000'000)), error,
                               *networks_[static_cast<size_t>(i)]));
    }
    while (players.front()->Running()) {
      Trouble(players);
    }
    for (auto& player : players) {
      EXPECT_EQ(player->Wait(std::chrono::seconds(60)), 0);
    }
    return ReadBeliefs(File());
  }

  const TempDir dir_;
  std::unique_ptr<RedisServer> server_;
  std::vector<std::unique_ptr<TcpProxy>> networks_;
  std::mt19937 random_{11};
};

TEST_F(LockStorm, NobodyHoldsWhatAnotherHoldsWhateverIsPausedCutAndKilled) {
  const std::vector<Belief> beliefs = Play("redis", 12);
  EXPECT_GT(beliefs.size(), 10u);
  std::set<int64_t> who;
  for (const Belief& belief : beliefs) {
    who.insert(belief.process);
  }
  EXPECT_EQ(who.size(), size_t{kPlayers}) << "somebody never had a turn";
  EXPECT_EQ(Overlaps(beliefs), std::vector<std::string>());
  EXPECT_EQ(FencesOutOfOrder(beliefs), std::vector<std::string>());
}

TEST_F(LockStorm, TheMuseumsReadThenWriteIsConvicted) {
  EXPECT_TRUE(Convicted("read-then-write"));
}

TEST_F(LockStorm, TheMuseumsBlindDeleteIsConvicted) {
  EXPECT_TRUE(Convicted("blind-delete"));
}

TEST_F(LockStorm, TheMuseumsClientClocksAreConvicted) {
  EXPECT_TRUE(Convicted("client-clocks"));
}

TEST(LockHistory, BeliefsAtTheSameTimeAreSeenAlsoInsideALongOne) {
  const Belief whole{1, "a", 1, 10, 100};
  const Belief inside{2, "a", 2, 20, 30};
  const Belief behind{3, "a", 3, 101, 110};
  const Belief late{4, "a", 4, 90, 95};
  const Belief elsewhere{5, "b", 1, 20, 30};
  EXPECT_EQ(Overlaps({whole, inside, behind}).size(), 1u);
  EXPECT_EQ(Overlaps({inside, late, whole}).size(), 1u);
  EXPECT_TRUE(Overlaps({inside, late, behind, elsewhere}).empty());
}

TEST(LockHistory, ALaterBeliefNeedsAGreaterFence) {
  EXPECT_TRUE(FencesOutOfOrder({{1, "a", 1, 1, 2}, {2, "a", 2, 3, 4}, {1, "b", 1, 9, 9}}).empty());
  EXPECT_EQ(FencesOutOfOrder({{1, "a", 2, 1, 2}, {2, "a", 2, 3, 4}}).size(), 1u);
}

TEST(LockHistory, TheLastWordOfABeliefCountsAndHalfALineDoesNot) {
  const TempDir dir;
  const std::filesystem::path file = dir.path() / "beliefs";
  std::ofstream(file) << LineOf({7, "a", 3, 10, 11}) << LineOf({7, "a", 3, 10, 25}) << "7 a 4 3";
  const std::vector<Belief> beliefs = ReadBeliefs(file);
  ASSERT_EQ(beliefs.size(), 1u);
  EXPECT_EQ(beliefs[0].to, 25);
}

}  // namespace
}  // namespace oncemq::testing
