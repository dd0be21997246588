// SPDX-License-Identifier: Apache-2.0
// The window in a Redis that a sentinel names, under the conformance suite.
#include "redis_window_suite.h"
#include "suite_server.h"

namespace oncemq {
namespace {

testing::RedisWindowEndpoint Start() {
  const testing::RedisServer& master = testing::SuiteServer<testing::RedisServer>();
  static const auto sentinel = testing::RedisServer::Start(
      {"--sentinel", "monitor", "payments", "127.0.0.1", std::to_string(master.port()), "1"},
      /*sentinel=*/true);
  return {"redis-sentinel://127.0.0.1:" + std::to_string(sentinel->port()) + "/payments",
          master.url()};
}

TEST(RedisSentinelWindow, AServerIsThere) {
  ONCEMQ_REQUIRE_REDIS();
}

[[maybe_unused]] const bool kRegistered = testing::RegisterRedisWindow("redis_sentinel", Start);

}  // namespace
}  // namespace oncemq
