// SPDX-License-Identifier: Apache-2.0
// The locks in MariaDB under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include <atomic>

#include "oncemq/locks/conformance/lock_conformance.h"
#include "oncemq/locks/mariadb_locks.h"
#include "support/mariadb_server.h"

namespace oncemq {
namespace {

constexpr milliseconds kPatience{10'000};

testing::MariadbServer& Server() {
  static const auto server = testing::MariadbServer::Start();
  return *server;
}

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  static std::atomic<int> spaces{0};
  return OpenMariadbLocks(
      Server().url(),
      {.space = "test/" + std::to_string(++spaces), .connect = kPatience, .call = kPatience});
}

// Without a server the suite is one test that says so.
TEST(MariadbLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_MARIADB();
}

// And the locks of its sessions: each new hold may have to connect first.
Result<std::shared_ptr<LockEngine>> OpenSessions() {
  static std::atomic<int> spaces{0};
  std::string url = Server().url();
  url.replace(0, url.find(':'), "mariadb-get-lock");
  return OpenMariadbGetLockLocks(
      url, {.space = "test/" + std::to_string(++spaces), .connect = kPatience, .call = kPatience});
}

[[maybe_unused]] const bool kSessions =
    !testing::MariadbServer::Missing() &&
    RegisterLockConformance({.name = "mariadb_get_lock",
                             .capabilities = {.engine = "mariadb-get-lock",
                                              .processes = true,
                                              .lists = false,
                                              .epochs = false},
                             .open = OpenSessions,
                             .pass = [](milliseconds by) { SleepFor(by); },
                             .lease = milliseconds(2'000)});

[[maybe_unused]] const bool kRegistered = testing::MariadbServer::Missing()
                                              ? false
                                              : RegisterLockConformance({
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
                                                    .pass = [](milliseconds by) { SleepFor(by); },
                                                    .lease = milliseconds(1'500),
                                                });

}  // namespace
}  // namespace oncemq
