// SPDX-License-Identifier: Apache-2.0
// The locks in ZooKeeper under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include <atomic>

#include "oncemq/locks/conformance/lock_conformance.h"
#include "oncemq/locks/zookeeper_locks.h"
#include "support/zookeeper_server.h"

namespace oncemq {
namespace {

constexpr milliseconds kPatience{10'000};

testing::ZooKeeperServer& Server() {
  static const auto server = testing::ZooKeeperServer::Start();
  return *server;
}

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  static std::atomic<int> spaces{0};
  return OpenZooKeeperLocks(Server().url(), {.space = "test/" + std::to_string(++spaces),
                                             .connect = kPatience,
                                             .call = kPatience,
                                             .session = milliseconds(100'000)});
}

// Without a server the suite is one test that says so.
TEST(ZooKeeperLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_ZOOKEEPER();
}

[[maybe_unused]] const bool kRegistered = testing::ZooKeeperServer::Missing()
                                              ? false
                                              : RegisterLockConformance({
                                                    .name = "zookeeper_locks",
                                                    .capabilities = {.engine = "zookeeper",
                                                                     .processes = true,
                                                                     .fair = true,
                                                                     .shared = true,
                                                                     .wakes = true,
                                                                     .fence = true,
                                                                     .survives_failover = true,
                                                                     .long_holds = true,
                                                                     .seals = true},
                                                    .open = OpenLocks,
                                                    .pass = [](milliseconds by) { SleepFor(by); },
                                                    .lease = milliseconds(3'000),
                                                });

}  // namespace
}  // namespace oncemq
