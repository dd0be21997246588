// SPDX-License-Identifier: Apache-2.0
// The locks over five masters under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include "oncemq/locks/redlock_locks.h"
#include "store_locks.h"
#include "support/redis_masters.h"

namespace oncemq {
namespace {

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  static testing::RedisMasters masters(5);
  return OpenRedlock(masters.url(), testing::SuiteOptions<RedlockOptions>());
}

// Without a server the suite is one test that says so.
TEST(Redlock, AServerIsThere) {
  ONCEMQ_REQUIRE_REDIS();
}

[[maybe_unused]] const bool kRegistered = testing::RegisterStoreLocks<testing::RedisServer>({
    .name = "redlock",
    .capabilities = {.engine = "redlock",
                     .processes = true,
                     .unfair = true,
                     .survives_failover = true,
                     .seals = true},
    .open = OpenLocks,
    .lease = milliseconds(300),
});

}  // namespace
}  // namespace oncemq
