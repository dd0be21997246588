// SPDX-License-Identifier: Apache-2.0
// The locks in ZooKeeper under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include "oncemq/locks/zookeeper_locks.h"
#include "store_locks.h"
#include "support/zookeeper_server.h"

namespace oncemq {
namespace {

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  auto options = testing::SuiteOptions<ZooKeeperLockOptions>();
  options.session = milliseconds(100'000);
  return OpenZooKeeperLocks(testing::SuiteServer<testing::ZooKeeperServer>().url(), options);
}

// Without a server the suite is one test that says so.
TEST(ZooKeeperLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_ZOOKEEPER();
}

[[maybe_unused]] const bool kRegistered = testing::RegisterStoreLocks<testing::ZooKeeperServer>({
    .name = "zookeeper_locks",
    .capabilities = {.engine = "zookeeper",
                     .processes = true,
                     .fair = true,
                     .shared = true,
                     .wakes = true,
                     .fence = true,
                     .survives_failover = true,
                     .long_holds = true,
                     .seals = true,
                     .longest_lease = milliseconds(75'000)},
    .open = OpenLocks,
    .lease = milliseconds(3'000),
});

}  // namespace
}  // namespace oncemq
