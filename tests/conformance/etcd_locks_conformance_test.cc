// SPDX-License-Identifier: Apache-2.0
// The locks in etcd under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include "oncemq/locks/etcd_locks.h"
#include "store_locks.h"
#include "support/etcd_server.h"

namespace oncemq {
namespace {

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  // The suite asks for leases of a minute.
  auto options = testing::SuiteOptions<EtcdLockOptions>();
  options.session = std::chrono::seconds(90);
  return OpenEtcdLocks(testing::SuiteServer<testing::EtcdServer>().url(), options);
}

// Without a server the suite is one test that says so.
TEST(EtcdLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_ETCD();
}

[[maybe_unused]] const bool kRegistered = testing::RegisterStoreLocks<testing::EtcdServer>({
    .name = "etcd_locks",
    .capabilities = {.engine = "etcd",
                     .processes = true,
                     .fair = true,
                     .shared = true,
                     .wakes = true,
                     .fence = true,
                     .survives_failover = true,
                     .long_holds = true,
                     .seals = true,
                     .longest_lease = milliseconds(67'500)},
    .open = OpenLocks,
    .lease = milliseconds(1'000),
});

}  // namespace
}  // namespace oncemq
