// SPDX-License-Identifier: Apache-2.0
// The window of a storm, in a Redis that can lose it: through a proxy, with an append-only file.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/clients/redis_client.h"
#include "shared_window_storm.h"
#include "support/redis_server.h"

namespace oncemq::testing {

// Thread safety: as StormStore.
class RedisStormStore : public StormStore {
 public:
  TcpProxy& proxy() override { return proxy_; }
  void Kill9() override { server_->Kill9(); }
  void Restart() override { server_->Restart(); }
  void LoseAll() override { EXPECT_TRUE(Client()->Run(RedisCommand{"FLUSHALL"})); }
  // To a replica that has nothing of the last moments.
  void FailOver() override {
    replication_ = std::make_unique<TcpProxy>(server_->port());
    auto replica = StartServer({"--replicaof", "127.0.0.1", std::to_string(replication_->port())});
    const auto client = Client();
    ASSERT_TRUE(Eventually(seconds(60), [&] {
      const auto said = client->Run(RedisCommand{"INFO", "replication"});
      return said && said->text.find("state=online") != std::string::npos;
    }));
    replication_->Set(TcpProxy::Mode::kSilent);
    SleepFor(milliseconds(300));
    server_->Kill9();
    replica->Promote();
    proxy_.PointTo(replica->port());
    server_ = std::move(replica);
  }

 protected:
  using seconds = std::chrono::seconds;

  std::string WindowUrl() const { return "redis://127.0.0.1:" + std::to_string(proxy_.port()); }
  RedisServer& server() { return *server_; }

 private:
  static std::unique_ptr<RedisServer> StartServer(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"--appendonly", "yes", "--appendfsync", "everysec"};
    // Its file is not written anew, and a replica is served at once.
    for (const char* option : {"--auto-aof-rewrite-percentage", "--repl-diskless-sync-delay"}) {
      arguments.insert(arguments.end(), {option, "0"});
    }
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RedisServer::Start(std::move(arguments));
  }
  std::unique_ptr<RedisClient> Client() {
    return *RedisClient::Open(*ParseRedisEndpoint(server_->url()));
  }

  std::unique_ptr<TcpProxy> replication_;
  std::unique_ptr<RedisServer> server_ = StartServer();
  TcpProxy proxy_{server_->port()};
};

}  // namespace oncemq::testing
