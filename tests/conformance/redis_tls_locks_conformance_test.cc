// SPDX-License-Identifier: Apache-2.0
// The locks in Redis under the conformance suite, over TLS. Each test has a space of its own.
#include <gtest/gtest.h>

#include "oncemq/locks/redis_locks.h"
#include "store_locks.h"
#include "support/redis_tls_server.h"

namespace oncemq {
namespace {

testing::RedisTlsServer& Server() {
  static testing::TlsAuthority authority;
  static testing::RedisTlsServer server(authority);
  return server;
}

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  return OpenRedisLocks(Server().url(), testing::SuiteOptions<RedisLockOptions>());
}

// Without a server the suite is one test that says so.
TEST(RedisTlsLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_REDIS();
}

// What they can do is what they can do without.
[[maybe_unused]] const bool kRegistered = testing::RegisterStoreLocks<testing::RedisServer>({
    .name = "redis_tls_locks",
    .capabilities = RedisLockCapabilities(),
    .open = OpenLocks,
    .lease = milliseconds(300),
});

}  // namespace
}  // namespace oncemq
