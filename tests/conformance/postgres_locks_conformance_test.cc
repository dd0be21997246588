// SPDX-License-Identifier: Apache-2.0
// The locks in PostgreSQL under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include "oncemq/locks/postgres_locks.h"
#include "store_locks.h"
#include "support/postgres_server.h"

namespace oncemq {
namespace {

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  return OpenPostgresLocks(testing::SuiteServer<testing::PostgresServer>().url(),
                           testing::SuiteOptions<PostgresLockOptions>());
}

// Without a server the suite is one test that says so.
TEST(PostgresLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_POSTGRES();
}

[[maybe_unused]] const bool kRegistered = testing::RegisterStoreLocks<testing::PostgresServer>({
    .name = "postgres_locks",
    .capabilities = {.engine = "postgres",
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
    .lease = milliseconds(1'500),
});

}  // namespace
}  // namespace oncemq
