// SPDX-License-Identifier: Apache-2.0
// The locks in MariaDB under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include "oncemq/locks/mariadb_locks.h"
#include "store_locks.h"
#include "support/mariadb_server.h"

namespace oncemq {
namespace {

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  return OpenMariadbLocks(testing::SuiteServer<testing::MariadbServer>().url(),
                          testing::SuiteOptions<MariadbLockOptions>());
}

// Without a server the suite is one test that says so.
TEST(MariadbLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_MARIADB();
}

[[maybe_unused]] const bool kRegistered = testing::RegisterStoreLocks<testing::MariadbServer>({
    .name = "mariadb_locks",
    .capabilities = {.engine = "mariadb",
                     .processes = true,
                     .fair = true,
                     .unfair = true,
                     .shared = true,
                     .counted = true,
                     .fence = true,
                     .long_holds = true,
                     .seals = true},
    .open = OpenLocks,
    .lease = milliseconds(1'500),
});

}  // namespace
}  // namespace oncemq
