// SPDX-License-Identifier: Apache-2.0
// The locks in memcached under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include <atomic>

#include "oncemq/locks/conformance/lock_conformance.h"
#include "oncemq/locks/memcached_locks.h"
#include "support/memcached_server.h"

namespace oncemq {
namespace {

constexpr milliseconds kPatience{10'000};

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  static const auto server = testing::MemcachedServer::Start();
  static std::atomic<int> spaces{0};
  return OpenMemcachedLocks(
      server->url(),
      {.space = "test/" + std::to_string(++spaces), .connect = kPatience, .call = kPatience});
}

// Without a server the suite is one test that says so.
TEST(MemcachedLocks, AServerIsThere) {
  ONCEMQ_REQUIRE_MEMCACHED();
}

[[maybe_unused]] const bool kRegistered = testing::MemcachedServer::Missing()
                                              ? false
                                              : RegisterLockConformance({
                                                    .name = "memcached_locks",
                                                    .capabilities = {.engine = "memcached",
                                                                     .processes = true,
                                                                     .unfair = true,
                                                                     .lists = false},
                                                    .open = OpenLocks,
                                                    .pass = [](milliseconds by) { SleepFor(by); },
                                                    .lease = milliseconds(300),
                                                });

}  // namespace
}  // namespace oncemq
