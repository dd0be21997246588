// SPDX-License-Identifier: Apache-2.0
// The locks in Redis under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include <atomic>

#include "oncemq/locks/conformance/lock_conformance.h"
#include "oncemq/locks/redis_locks.h"
#include "support/redis_server.h"

namespace oncemq {
namespace {

constexpr milliseconds kPatience{10'000};

testing::RedisServer& Server() {
  static const auto server = testing::RedisServer::Start();
  return *server;
}

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  static std::atomic<int> spaces{0};
  return OpenRedisLocks(
      Server().url(),
      {.space = "test/" + std::to_string(++spaces), .connect = kPatience, .call = kPatience});
}

// Without a server the suite is one test that says so.
TEST(RedisLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_REDIS();
}

[[maybe_unused]] const bool kRegistered = testing::RedisServer::Missing()
                                              ? false
                                              : RegisterLockConformance({
                                                    .name = "redis_locks",
                                                    .capabilities = {.engine = "redis",
                                                                     .processes = true,
                                                                     .fair = true,
                                                                     .unfair = true,
                                                                     .shared = true,
                                                                     .counted = true,
                                                                     .wakes = true,
                                                                     .fence = true,
                                                                     .long_holds = true,
                                                                     .seals = true},
                                                    .open = OpenLocks,
                                                    .pass = [](milliseconds by) { SleepFor(by); },
                                                    .lease = milliseconds(300),
                                                });

}  // namespace
}  // namespace oncemq
