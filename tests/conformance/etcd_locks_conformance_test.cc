// SPDX-License-Identifier: Apache-2.0
// The locks in etcd under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include <atomic>

#include "oncemq/locks/conformance/lock_conformance.h"
#include "oncemq/locks/etcd_locks.h"
#include "support/etcd_server.h"

namespace oncemq {
namespace {

constexpr milliseconds kPatience{10'000};

testing::EtcdServer& Server() {
  static const auto server = testing::EtcdServer::Start();
  return *server;
}

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  static std::atomic<int> spaces{0};
  // The suite asks for leases of a minute.
  return OpenEtcdLocks(Server().url(), {.space = "test/" + std::to_string(++spaces),
                                        .connect = kPatience,
                                        .call = kPatience,
                                        .session = std::chrono::seconds(90)});
}

// Without a server the suite is one test that says so.
TEST(EtcdLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_ETCD();
}

[[maybe_unused]] const bool kRegistered = testing::EtcdServer::Missing()
                                              ? false
                                              : RegisterLockConformance({
                                                    .name = "etcd_locks",
                                                    .capabilities = {.engine = "etcd",
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
                                                    .lease = milliseconds(1'000),
                                                });

}  // namespace
}  // namespace oncemq
