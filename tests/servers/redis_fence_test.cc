// SPDX-License-Identifier: Apache-2.0
// Effects in Redis that take no word of an earlier holder.
#include "oncemq/locks/redis_fence.h"

#include <gtest/gtest.h>

#include "oncemq/clients/redis_client.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/redis_locks.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

class RedisFenceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    server_ = RedisServer::Start();
    constexpr milliseconds kPatience{20'000};
    client_ = *RedisClient::Open(*ParseRedisEndpoint(server_->url()), {kPatience, kPatience});
    locks_ = *OpenRedisLocks(server_->url(), {.connect = kPatience, .call = kPatience});
    domain_ = *LockDomain::Open(locks_);
    fence_.emplace(*client_, "fence:account");
  }
  Lease Take() { return std::move(**domain_->Acquire("account")); }
  // The store ends the hold, as when its holder was paused for too long.
  void End(const Lease& lease) {
    ASSERT_EQ(*locks_->Evict(lease.name(), lease.fence()), Freed::kYes);
  }
  int Balance() {
    const auto reply = client_->Run(RedisCommand{"GET", "account"});
    return reply && !reply->text.empty() ? std::stoi(reply->text) : 0;
  }
  bool SetBalance(const Lease& lease, int to) {
    const std::string text = std::to_string(to);
    const auto written = fence_->Write(lease, {"SET", "account", text});
    EXPECT_TRUE(written.has_value()) << ToString(written.error());
    return written.has_value() && written->has_value();
  }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<RedisClient> client_;
  std::shared_ptr<LockEngine> locks_;
  std::unique_ptr<LockDomain> domain_;
  std::optional<RedisFence> fence_;
};

TEST_F(RedisFenceTest, TheHolderReadsAndWrites) {
  const Lease lease = Take();
  EXPECT_TRUE(*fence_->Begin(lease));
  EXPECT_TRUE(SetBalance(lease, Balance() + 100));
  EXPECT_TRUE(*fence_->Begin(lease)) << "as often as it likes";
  EXPECT_TRUE(SetBalance(lease, Balance() + 100));
  EXPECT_EQ(Balance(), 200);
}

TEST_F(RedisFenceTest, WhatAnEarlierHolderReadIsNotWrittenOverALaterOne) {
  const Lease first = Take();
  ASSERT_TRUE(*fence_->Begin(first));
  ASSERT_TRUE(SetBalance(first, 100));
  const int read_by_first = Balance();
  End(first);
  const Lease second = Take();
  ASSERT_TRUE(*fence_->Begin(second));
  const int read_by_second = Balance();
  EXPECT_FALSE(SetBalance(first, read_by_first - 100)) << "refused before the second one writes";
  EXPECT_TRUE(SetBalance(second, read_by_second + 200));
  EXPECT_EQ(Balance(), 300);
  EXPECT_FALSE(*fence_->Begin(first));
}

TEST_F(RedisFenceTest, WhoDidNotBeginIsToldSo) {
  const Lease lease = Take();
  const auto written = fence_->Write(lease, {"SET", "account", "1"});
  ASSERT_FALSE(written.has_value());
  EXPECT_EQ(written.error().code, Code::kInvalid);
  EXPECT_EQ(Balance(), 0);
}

TEST_F(RedisFenceTest, ALeaseWithoutAFenceIsOfNoUse) {
  EXPECT_EQ(fence_->Begin(Lease()).error().code, Code::kInvalid);
  EXPECT_EQ(fence_->Write(Lease(), {"SET", "account", "1"}).error().code, Code::kInvalid);
}

TEST_F(RedisFenceTest, ALeaseIsRefusedBesideWhichOthersAreHeld) {
  for (const AcquireOptions& how : {AcquireOptions{.mode = LockMode::kCounted, .limit = 2},
                                    AcquireOptions{.mode = LockMode::kShared}}) {
    const Lease one_of_many = std::move(**domain_->Acquire("many", how));
    EXPECT_EQ(fence_->Begin(one_of_many).error().code, Code::kInvalid);
    EXPECT_EQ(fence_->Write(one_of_many, {"SET", "account", "1"}).error().code, Code::kInvalid);
  }
}

TEST_F(RedisFenceTest, FencesOfALaterEpochAreGreater) {
  AcquireOptions how;
  how.fence = Fence{2, 5};
  const Lease later = std::move(**domain_->Acquire("a", how));
  how.fence = Fence{1, 1'000'000'000'000'000};
  const Lease earlier = std::move(**domain_->Acquire("b", how));
  EXPECT_TRUE(*fence_->Begin(earlier));
  EXPECT_TRUE(*fence_->Begin(later));
  EXPECT_FALSE(*fence_->Begin(earlier));
}

TEST_F(RedisFenceTest, ACommandThatFailsIsAnErrorAndNothingIsWritten) {
  const Lease lease = Take();
  ASSERT_TRUE(*fence_->Begin(lease));
  EXPECT_FALSE(fence_->Write(lease, {"INCRBY", "account", "x"}).has_value());
  EXPECT_EQ(Balance(), 0);
  EXPECT_TRUE(SetBalance(lease, 7));
}

}  // namespace
}  // namespace oncemq::testing
