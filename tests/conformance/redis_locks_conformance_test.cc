// SPDX-License-Identifier: Apache-2.0
// The locks in Redis under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include "oncemq/locks/redis_locks.h"
#include "store_locks.h"
#include "support/redis_server.h"

namespace oncemq {
namespace {

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  return OpenRedisLocks(testing::SuiteServer<testing::RedisServer>().url(),
                        testing::SuiteOptions<RedisLockOptions>());
}

// Without a server the suite is one test that says so.
TEST(RedisLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_REDIS();
}

[[maybe_unused]] const bool kRegistered = testing::RegisterStoreLocks<testing::RedisServer>({
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
    .lease = milliseconds(300),
});

}  // namespace
}  // namespace oncemq
