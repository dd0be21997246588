// SPDX-License-Identifier: Apache-2.0
// The locks over five masters under the conformance suite. Each test has a space of its own.
#include <gtest/gtest.h>

#include <atomic>

#include "oncemq/locks/conformance/lock_conformance.h"
#include "oncemq/locks/redlock_locks.h"
#include "support/redis_masters.h"

namespace oncemq {
namespace {

constexpr milliseconds kPatience{10'000};

Result<std::shared_ptr<LockEngine>> OpenLocks() {
  static testing::RedisMasters masters(5);
  static std::atomic<int> spaces{0};
  return OpenRedlock(
      masters.url(),
      {.space = "test/" + std::to_string(++spaces), .connect = kPatience, .call = kPatience});
}

// Without a server the suite is one test that says so.
TEST(Redlock, AServerIsThere) {
  ONCEMQ_REQUIRE_REDIS();
}

[[maybe_unused]] const bool kRegistered = testing::RedisServer::Missing()
                                              ? false
                                              : RegisterLockConformance({
                                                    .name = "redlock",
                                                    .capabilities = {.engine = "redlock",
                                                                     .processes = true,
                                                                     .unfair = true,
                                                                     .survives_failover = true,
                                                                     .seals = true},
                                                    .open = OpenLocks,
                                                    .pass = [](milliseconds by) { SleepFor(by); },
                                                    .lease = milliseconds(300),
                                                });

}  // namespace
}  // namespace oncemq
