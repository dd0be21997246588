// SPDX-License-Identifier: Apache-2.0
// The locks in memcached under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include "oncemq/locks/memcached_locks.h"
#include "store_locks.h"
#include "support/memcached_server.h"

namespace oncemq {
namespace {

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  return OpenMemcachedLocks(testing::SuiteServer<testing::MemcachedServer>().url(),
                            testing::SuiteOptions<MemcachedLockOptions>());
}

// Without a server the suite is one test that says so.
TEST(MemcachedLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_MEMCACHED();
}

[[maybe_unused]] const bool kRegistered = testing::RegisterStoreLocks<testing::MemcachedServer>({
    .name = "memcached_locks",
    .capabilities = {.engine = "memcached", .processes = true, .unfair = true, .lists = false},
    .open = OpenLocks,
    .lease = milliseconds(300),
});

}  // namespace
}  // namespace oncemq
