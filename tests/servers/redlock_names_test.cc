// SPDX-License-Identifier: Apache-2.0
// What many names that were locked over several masters leave behind at each of them: one key each,
// for a minute behind the last lease.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/redlock_locks.h"
#include "redis_keys.h"
#include "support/redis_masters.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kNamesPatience{30'000};
constexpr milliseconds kKept{60'000};
constexpr milliseconds kNameLease{40'000};
// As long as masters have a hold whose holder counts on less: a hundredth, and two milliseconds.
constexpr milliseconds kLeaseThere = kNameLease + kNameLease / 100 + milliseconds(2);
constexpr size_t kNames = 1'000;

class RedlockNamesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    masters_ = std::make_unique<RedisMasters>(5);
  }
  std::shared_ptr<LockEngine> Open() {
    auto locks = OpenRedlock(masters_->url(), {.connect = kNamesPatience, .call = kNamesPatience});
    EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    return locks ? *std::move(locks) : nullptr;
  }
  std::unique_ptr<RedisClient> Client(size_t master) {
    auto client = RedisClient::Open(*ParseRedisEndpoint((*masters_)[master].url()),
                                    {kNamesPatience, kNamesPatience});
    EXPECT_TRUE(client.has_value()) << ToString(client.error());
    return client ? *std::move(client) : nullptr;
  }
  // At a master there are so many keys, which go by themselves.
  void ExpectKeys(size_t master, size_t count, milliseconds latest) {
    SCOPED_TRACE(master);
    const auto client = Client(master);
    ASSERT_TRUE(client);
    const RedisKeys keys = ScanRedisKeys(*client, latest);
    EXPECT_EQ(keys.count, count);
    EXPECT_EQ(keys.without_end, 0u);
    EXPECT_EQ(keys.late, 0u);
  }

  std::unique_ptr<RedisMasters> masters_;
};

// An engine that ends has told all masters that answer what it had to say.
TEST_F(RedlockNamesTest, ManyThatWereLockedOnceLeaveOneKeyEachForAMinute) {
  {
    const auto domain = LockDomain::Open(Open(), {.lease = kNameLease});
    ASSERT_TRUE(domain.has_value()) << ToString(domain.error());
    std::atomic<size_t> next{0};
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; t++) {
      threads.emplace_back([&] {
        for (size_t i = next++; i < kNames; i = next++) {
          auto lease = (*domain)->Acquire("account/" + std::to_string(i));
          ASSERT_TRUE(lease.has_value() && lease->has_value());
          ASSERT_EQ((*lease)->Release(), Released::kYes);
        }
      });
    }
  }
  for (size_t master = 0; master < masters_->size(); master++) {
    ExpectKeys(master, kNames, kKept);
  }
}

// Holders that died, that extended what a master had lost, others who asked in vain: no way leaves
// a key that stays, or a second one.
TEST_F(RedlockNamesTest, WhateverBecameOfAHoldItsKeysGoByThemselves) {
  auto locks = Open();
  ASSERT_TRUE(locks);
  uint64_t attempts = 0;
  std::vector<std::string> names;
  std::vector<LockClaim> lost;
  for (size_t i = 0; i < kNames; i++) {
    names.push_back("n" + std::to_string(i));
  }
  for (size_t i = 0; i < kNames; i++) {
    AcquireRequest request{
        .name = names[i], .token = {7, ++attempts}, .lease = kNameLease, .queue_lease = kNameLease};
    const auto held = locks->Request(request);
    ASSERT_TRUE(held && held->kind == LockAnswer::Kind::kGranted);
    const LockClaim claim{request.name, request.token, kNameLease};
    Freed freed{};
    switch (i % 4) {
      case 0:
        ASSERT_TRUE(locks->Free({&claim, 1}, {&freed, 1}).has_value());
        break;
      case 1:
        request.token = {7, ++attempts};
        ASSERT_EQ(locks->Request(request)->kind, LockAnswer::Kind::kBusy);
        ASSERT_TRUE(locks->Recall(request.name).has_value());
        break;
      case 2:
        lost.push_back(claim);
        break;
      default:
        break;  // it dies
    }
  }
  ASSERT_TRUE(locks->Read("n0").has_value());  // behind what each has yet to do
  // What one has lost returns to it with the next extension.
  ASSERT_TRUE(Client(0)->Run(RedisCommand{"FLUSHALL"}).has_value());
  std::vector<Extended> extended(lost.size());
  ASSERT_TRUE(locks->Extend(lost, extended).has_value());
  for (const Extended answer : extended) {
    ASSERT_EQ(answer, Extended::kYes);
  }
  locks.reset();
  ExpectKeys(0, lost.size(), kLeaseThere + kKept);
  for (size_t master = 1; master < masters_->size(); master++) {
    ExpectKeys(master, kNames, kLeaseThere + kKept);
  }
}

}  // namespace
}  // namespace oncemq::testing
