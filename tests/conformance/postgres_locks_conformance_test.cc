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

// And the locks of its sessions: each new hold may have to connect first.
Result<std::shared_ptr<LockEngine>> OpenSessions() {
  std::string url = testing::SuiteServer<testing::PostgresServer>().url();
  url.replace(0, url.find(':'), "postgres-advisory");
  return OpenPostgresAdvisoryLocks(url, testing::SuiteOptions<PostgresAdvisoryOptions>());
}

[[maybe_unused]] const bool kSessions = testing::RegisterStoreLocks<testing::PostgresServer>(
    {.name = "postgres_advisory",
     .capabilities =
         {.engine = "postgres-advisory", .processes = true, .lists = false, .epochs = false},
     .open = OpenSessions,
     .lease = milliseconds(2'000)});

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
