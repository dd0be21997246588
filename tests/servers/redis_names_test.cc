// SPDX-License-Identifier: Apache-2.0
// What many names leave behind in Redis that were locked once: one small key each that goes by
// itself.
//
//   ONCEMQ_LOCK_NAMES=1000000    a million of them (20,000)
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/redis_locks.h"
#include "redis_keys.h"
#include "sim/how_much.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

// Of one question and its answer. None is to end by it, of so many.
constexpr milliseconds kNamesPatience{30'000};

class RedisNamesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    server_ = RedisServer::Start();
    auto client =
        RedisClient::Open(*ParseRedisEndpoint(server_->url()), {kNamesPatience, kNamesPatience});
    ASSERT_TRUE(client.has_value()) << ToString(client.error());
    client_ = *std::move(client);
  }

  RedisKeys Scan(milliseconds latest) { return ScanRedisKeys(*client_, latest); }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<RedisClient> client_;
};

TEST_F(RedisNamesTest, ManyThatWereLockedOnceLeaveNothingThatStays) {
  const int names = static_cast<int>(sim::FromEnvironment("ONCEMQ_LOCK_NAMES", 20'000));
  const auto locks =
      OpenRedisLocks(server_->url(), {.connect = kNamesPatience, .call = kNamesPatience});
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  {
    const auto domain = LockDomain::Open(*locks);
    std::atomic<int> next{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; t++) {
      threads.emplace_back([&] {
        for (int i = next++; i < names; i = next++) {
          auto lease = (*domain)->Acquire("account/" + std::to_string(i));
          ASSERT_TRUE(lease.has_value() && lease->has_value());
          ASSERT_EQ((*lease)->Release(), Released::kYes);
        }
      });
    }
  }
  const RedisKeys keys = Scan(milliseconds(60'000));
  EXPECT_GT(keys.count, 0u);
  EXPECT_LE(keys.count, static_cast<size_t>(names));
  EXPECT_EQ(keys.without_end, 0u);
  EXPECT_EQ(keys.late, 0u);
  EXPECT_EQ(keys.large, 0u);
  EXPECT_TRUE((*locks)->Names("", 10)->empty());
}

// Holders and waiters that died, holds that were evicted or asked back: no way leaves a key that
// stays.
TEST_F(RedisNamesTest, WhateverBecameOfAHoldItsKeyGoesByItself) {
  const auto locks =
      OpenRedisLocks(server_->url(), {.connect = kNamesPatience, .call = kNamesPatience});
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  constexpr milliseconds kNameLease{5'000};
  uint64_t tokens = 0;
  for (int i = 0; i < 600; i++) {
    const std::string name = "n" + std::to_string(i);
    AcquireRequest request{.name = name,
                           .token = {1, ++tokens},
                           .mode = i % 2 == 0 ? LockMode::kExclusive : LockMode::kShared,
                           .lease = kNameLease,
                           .queue_lease = kNameLease,
                           .who = std::string_view("somebody with a name that is rather long")};
    const auto held = (*locks)->Request(request);
    ASSERT_TRUE(held.has_value());
    const LockClaim claim{name, request.token, kNameLease};
    request.token = {1, ++tokens};
    ASSERT_TRUE((*locks)->Request(request).has_value());  // waits, or shares
    Extended extended{};
    Freed freed{};
    switch (i % 6) {
      case 0:
        ASSERT_TRUE((*locks)->Evict(name, held->fence).has_value());
        break;
      case 1:
        ASSERT_TRUE((*locks)->Recall(name).has_value());
        break;
      case 2:
        ASSERT_TRUE((*locks)->Extend({&claim, 1}, {&extended, 1}).has_value());
        break;
      case 3:
        ASSERT_TRUE((*locks)->Free({&claim, 1}, {&freed, 1}).has_value());
        break;
      case 4:
        ASSERT_TRUE((*locks)->Request(request).has_value());
        break;
      default:
        break;  // both die
    }
  }
  const RedisKeys keys = Scan(milliseconds(60'000) + kNameLease);
  EXPECT_EQ(keys.count, 600u);
  EXPECT_EQ(keys.without_end, 0u);
  EXPECT_EQ(keys.late, 0u);
}

}  // namespace
}  // namespace oncemq::testing
