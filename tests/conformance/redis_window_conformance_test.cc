// SPDX-License-Identifier: Apache-2.0
// The window in Redis under the conformance suite: one server, a scope for each test, and a clock
// that is a key, so that no test sleeps through a lease.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/conformance/window_conformance.h"
#include "redis/redis_window_engine.h"
#include "suite_server.h"
#include "support/redis_server.h"

namespace oncemq {
namespace {

constexpr std::string_view kTestClock = "tonumber(redis.call('GET', 'test_clock'))";

RedisClient& Server() {
  static const auto client = [] {
    auto opened =
        RedisClient::Open(*ParseRedisPlace(testing::SuiteServer<testing::RedisServer>().url()));
    EXPECT_TRUE((*opened)->Run(RedisCommand{"SET", "test_clock", "1700000000000000"}));
    return *std::move(opened);
  }();
  return *client;
}

void Advance(milliseconds by) {
  const std::string micros = std::to_string(microseconds(by).count());
  EXPECT_TRUE(Server().Run(RedisCommand{"INCRBY", "test_clock", micros}));
}

Result<std::unique_ptr<Window>> OpenScope(const ConformanceSetup& setup, int number) {
  static_cast<void>(Server());
  RedisWindowOptions options;
  options.scope = "test/" + std::to_string(number);
  options.level = setup.level;
  options.times = setup.times;
  options.remember = setup.remember;
  options.skew = milliseconds(0);
  options.connect = options.call = milliseconds(10'000);
  auto window =
      RedisWindow::OpenAt(testing::SuiteServer<testing::RedisServer>().url(), options, kTestClock);
  if (!window) {
    return window.error();
  }
  return std::unique_ptr<Window>(*std::move(window));
}

std::atomic<int> scopes{0};

Result<std::unique_ptr<Window>> OpenNew(const ConformanceSetup& setup) {
  return OpenScope(setup, ++scopes);
}

Result<std::unique_ptr<Window>> OpenAgain(const ConformanceSetup& setup) {
  return OpenScope(setup, scopes);
}

TEST(RedisWindow, AServerIsThere) {
  ONCEMQ_REQUIRE_REDIS();
}

[[maybe_unused]] const bool kRegistered =
    !testing::RedisServer::Missing() && RegisterWindowConformance({
                                            .name = "redis",
                                            .capabilities = RedisWindowCapabilities(),
                                            .open = OpenNew,
                                            .reopen = OpenAgain,
                                            .advance = Advance,
                                        });

}  // namespace
}  // namespace oncemq
