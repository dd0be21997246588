// SPDX-License-Identifier: Apache-2.0
// An answer to a renewal that is lost. It depends on the speed of the machine, so the gate plays it
// apart.
#include <gtest/gtest.h>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/redis_locks.h"
#include "support/eventually.h"
#include "support/redis_server.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

TEST(RedisLostAnswer, EndsNoLease) {
  ONCEMQ_REQUIRE_REDIS();
  const auto server = RedisServer::Start();
  TcpProxy network(server->port());
  auto locks = OpenRedisLocks("redis://127.0.0.1:" + std::to_string(network.port()));
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  const auto domain = *LockDomain::Open(*std::move(locks), {.lease = milliseconds(2'000)});
  const auto lease = domain->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  network.MuteNext();
  ASSERT_TRUE(Eventually(std::chrono::seconds(60), [&] { return network.muted() == 1; }));
  EXPECT_FALSE(Eventually(std::chrono::seconds(4), [&] { return !(*lease)->StillMine(); }))
      << ToString((*lease)->lost());
}

}  // namespace
}  // namespace oncemq::testing
