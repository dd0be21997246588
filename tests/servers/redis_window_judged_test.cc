// SPDX-License-Identifier: Apache-2.0
// A window in Redis whose next connection leads to another server.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "support/eventually.h"
#include "support/redis_server.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

class RedisWindowJudged : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_REDIS(); }

  void OpenAt(const std::string& url) {
    auto window = OpenRedisWindow(url, {.scope = "payments", .level = Level::kGuarded});
    ASSERT_TRUE(window) << ToString(window.error());
    window_ = *std::move(window);
    ASSERT_TRUE(window_->Open(name_));
    ASSERT_TRUE(Claimed()) << "before the failover";
  }
  // A new id each time.
  Status Claimed() {
    const std::string id = "id-" + std::to_string(++ids_);
    const ClaimRequest request{.id = id, .token = {7, ids_}, .at = {0, 3, 0}};
    ClaimAnswer answer;
    return window_->Claim({&request, 1}, {&answer, 1});
  }
  void ExpectRefusedUntilItKeepsAll(RedisServer& evicts) {
    Status claimed;
    EXPECT_TRUE(Eventually(std::chrono::seconds(30), [&] {
      claimed = Claimed();
      return !claimed && claimed.error().message.find("may evict") != std::string::npos;
    })) << (claimed ? "it claims" : ToString(claimed.error()));
    ASSERT_FALSE(claimed);
    EXPECT_EQ(claimed.error().code, Code::kUnavailable) << "the runtime waits";
    const auto client = RedisClient::Open(*ParseRedisEndpoint(evicts.url()));
    ASSERT_TRUE(client) << ToString(client.error());
    ASSERT_TRUE((*client)->Run(RedisCommand{"CONFIG", "SET", "maxmemory-policy", "noeviction"}));
    EXPECT_TRUE(Eventually(std::chrono::seconds(30), [&] {
      claimed = Claimed();
      return claimed || claimed.error().code == Code::kLostWrites;
    })) << ToString(claimed.error());
    EXPECT_TRUE(window_->Open(name_));
    claimed = Claimed();
    EXPECT_TRUE(claimed) << ToString(claimed.error());
  }

  const StoreName name_{.source = 0, .partition = 3, .topic = "payments", .owner = "us"};
  std::unique_ptr<Window> window_;
  uint64_t ids_ = 0;
};

TEST_F(RedisWindowJudged, AServerThatMayEvictGetsNoCall) {
  const auto good = RedisServer::Start();
  const auto evicts = RedisServer::Start({"--maxmemory-policy", "allkeys-lru"});
  TcpProxy proxy(good->port());
  OpenAt("redis://127.0.0.1:" + std::to_string(proxy.port()));
  proxy.PointTo(evicts->port());
  ExpectRefusedUntilItKeepsAll(*evicts);
}

TEST_F(RedisWindowJudged, TheMasterOfASentinelIsJudgedAnew) {
  const auto master = RedisServer::Start({"--repl-diskless-sync-delay", "0"});
  const auto replica = RedisServer::Start({"--maxmemory-policy", "allkeys-lru", "--replicaof",
                                           "127.0.0.1 " + std::to_string(master->port())});
  const auto sentinel = RedisServer::Start(
      {"--sentinel", "monitor", "orders", "127.0.0.1", std::to_string(master->port()), "1"}, true);
  const std::string url =
      "redis-sentinel://127.0.0.1:" + std::to_string(sentinel->port()) + "/orders";
  OpenAt(url);
  // It knows no replica at first.
  ASSERT_TRUE(Eventually(std::chrono::seconds(60), [&] {
    return sentinel->Say("SENTINEL FAILOVER orders").starts_with("+OK");
  }));
  ASSERT_TRUE(Eventually(std::chrono::seconds(60), [&] {
    const auto client = RedisClient::Open(*ParseRedisEndpoint(replica->url()));
    return client.has_value();
  })) << "the replica becomes master";
  master->Kill9();
  ExpectRefusedUntilItKeepsAll(*replica);
}

}  // namespace
}  // namespace oncemq::testing
