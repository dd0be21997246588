// SPDX-License-Identifier: Apache-2.0
// The locks in PostgreSQL under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include <atomic>

#include "oncemq/locks/conformance/lock_conformance.h"
#include "oncemq/locks/postgres_locks.h"
#include "support/postgres_server.h"

namespace oncemq {
namespace {

constexpr milliseconds kPatience{10'000};

testing::PostgresServer& Server() {
  static const auto server = testing::PostgresServer::Start();
  return *server;
}

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  static std::atomic<int> spaces{0};
  return OpenPostgresLocks(
      Server().url(),
      {.space = "test/" + std::to_string(++spaces), .connect = kPatience, .call = kPatience});
}

// Without a server the suite is one test that says so.
TEST(PostgresLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_POSTGRES();
}

// And the locks of its sessions: each new hold may have to connect first.
Result<std::shared_ptr<LockEngine>> OpenSessions() {
  static std::atomic<int> spaces{0};
  std::string url = Server().url();
  url.replace(0, url.find(':'), "postgres-advisory");
  return OpenPostgresAdvisoryLocks(
      url, {.space = "test/" + std::to_string(++spaces), .connect = kPatience, .call = kPatience});
}

[[maybe_unused]] const bool kSessions =
    !testing::PostgresServer::Missing() &&
    RegisterLockConformance({.name = "postgres_advisory",
                             .capabilities = {.engine = "postgres-advisory",
                                              .processes = true,
                                              .lists = false,
                                              .epochs = false},
                             .open = OpenSessions,
                             .pass = [](milliseconds by) { SleepFor(by); },
                             .lease = milliseconds(2'000)});

[[maybe_unused]] const bool kRegistered = testing::PostgresServer::Missing()
                                              ? false
                                              : RegisterLockConformance({
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
                                                    .pass = [](milliseconds by) { SleepFor(by); },
                                                    .lease = milliseconds(1'500),
                                                });

}  // namespace
}  // namespace oncemq
