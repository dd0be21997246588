// SPDX-License-Identifier: Apache-2.0
// Locks in a Redis that forgets, hangs, dies and fails over. What every engine does, the
// conformance suite asks.
#include "oncemq/locks/redis_locks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "oncemq/base/bytes.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/locks/lock_domain.h"
#include "support/eventually.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

// Of holds that are to be lost: long against a moment in which the machine does something else.
constexpr milliseconds kLease{3'000};
constexpr milliseconds kPatience{20'000};

class RedisLocksTest : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_REDIS(); }

  static Result<std::shared_ptr<LockEngine>> OpenLocks(const RedisServer& server,
                                                       const std::string& space = "",
                                                       milliseconds call = kPatience) {
    return OpenRedisLocks(server.url(), {.space = space, .connect = call, .call = call});
  }
  void Start(milliseconds call = kPatience) {
    server_ = RedisServer::Start();
    auto locks = OpenLocks(*server_, "", call);
    ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
    locks_ = *std::move(locks);
    domain_ = *LockDomain::Open(locks_, {.lease = kLease});
  }
  std::string Redis(const RedisCommand& command) { return Redis(*server_, command); }
  static std::string Redis(const RedisServer& server, const RedisCommand& command) {
    const auto client =
        RedisClient::Open(*ParseRedisEndpoint(server.url()), {kPatience, kPatience});
    EXPECT_TRUE(client.has_value()) << ToString(client.error());
    const auto reply = (*client)->Run(command);
    EXPECT_TRUE(reply.has_value()) << ToString(reply.error());
    return reply->kind == RedisReply::Kind::kInteger ? std::to_string(reply->integer) : reply->text;
  }
  Granted<Lease> Acquired(std::string_view name = "x", const AcquireOptions& how = {}) {
    auto lease = domain_->Acquire(name, how);
    EXPECT_TRUE(lease.has_value()) << ToString(lease.error());
    return lease ? *std::move(lease) : kNotGranted;
  }
  bool UntilTwoAreThere() {
    return Eventually(kPatience, [&] {
      const auto view = locks_->Read("x");
      return view && view->parties.size() == 2;
    });
  }
  static void AwaitStop(const std::stop_token& stop) {
    std::atomic<bool> told{false};
    const std::stop_callback callback(stop, [&] {
      told = true;
      told.notify_all();
    });
    told.wait(false);
  }

  std::unique_ptr<RedisServer> server_;
  std::shared_ptr<LockEngine> locks_;
  std::unique_ptr<LockDomain> domain_;
};

TEST_F(RedisLocksTest, NamesOfDifferentSpacesHaveNothingToDoWithEachOther) {
  Start();
  const auto one = LockDomain::Open(*OpenLocks(*server_, "a"));
  const auto two = LockDomain::Open(*OpenLocks(*server_, "a:1:b"));
  const auto first = (*one)->Acquire("1:b:c");
  const auto second = (*two)->TryAcquire("c");
  ASSERT_TRUE(first.has_value() && first->has_value());
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(second->has_value());
  EXPECT_EQ((*one)->engine().Names("", 10)->size(), 1u);
}

TEST_F(RedisLocksTest, AnIdleNameLeavesOneSmallKeyForAMinute) {
  Start();
  ASSERT_TRUE(Acquired());
  EXPECT_EQ(Redis({"DBSIZE"}), "1");
  const std::string key = Redis({"RANDOMKEY"});
  EXPECT_LE(std::stoi(Redis({"STRLEN", key})), 16);
  EXPECT_LE(std::stoll(Redis({"PTTL", key})), 60'000);
  EXPECT_GT(std::stoll(Redis({"PTTL", key})), 0);
  EXPECT_TRUE(locks_->Names("", 10)->empty());
}

TEST_F(RedisLocksTest, AHeldNameIsForgottenByTheServerSoonAfterItsLease) {
  Start();
  const auto lease = Acquired();
  const std::string key = Redis({"RANDOMKEY"});
  EXPECT_LE(std::stoll(Redis({"PTTL", key})), 60'000 + kLease.count());
}

// A fence of 2^53 would be given again and again: numbers of the server's scripts end there.
TEST_F(RedisLocksTest, WhatIsNotOursIsSaidAndNeitherGrantedNorChanged) {
  Start();
  using std::string_literals::operator""s;
  for (const std::string& value :
       {"hello"s, ""s, "-"s, "!x"s, "=x"s, "\x91\x01"s, "-\x43\x40\0\0\0\0\0\0"s,
        "-\x7f\xf8\0\0\0\0\0\0"s, "-\xbf\xf0\0\0\0\0\0\0"s}) {
    SCOPED_TRACE(HexOfBytes(value));
    Redis({"SET", "oncemq:lock:0::x", value});
    const auto lease = domain_->TryAcquire("x");
    ASSERT_FALSE(lease.has_value());
    EXPECT_EQ(lease.error().code, Code::kCorrupt) << ToString(lease.error());
    EXPECT_EQ(lease.error().effect, Effect::kNone);
    EXPECT_EQ(locks_->Read("x").error().code, Code::kCorrupt);
    EXPECT_EQ(Redis({"GET", "oncemq:lock:0::x"}), value);
  }
  Redis({"SET", "oncemq:lock:0::x", "-\x43\x30\0\0\0\0\0\0"s});  // 2^52
  const auto lease = Acquired();
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease->fence().token, (uint64_t{1} << 52) + 1);
  for (const char* seal : {"abc", "-1", "4294967296", "18446744073709551616"}) {
    Redis({"SET", "oncemq:lock:seal:", seal});
    EXPECT_EQ(domain_->TryAcquire("y").error().code, Code::kCorrupt) << seal;
  }
}

TEST_F(RedisLocksTest, AServerThatMayEvictKeysIsRefused) {
  const auto server =
      RedisServer::Start({"--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru"});
  const auto locks = OpenLocks(*server);
  ASSERT_FALSE(locks.has_value());
  EXPECT_EQ(locks.error().code, Code::kInvalid);
  EXPECT_NE(locks.error().message.find("volatile-lru"), std::string::npos);
}

TEST_F(RedisLocksTest, AClusterIsRefused) {
  const LoopbackPort bus;
  const auto server = RedisServer::Start(
      {"--cluster-enabled", "yes", "--cluster-port", std::to_string(bus.number())});
  const auto locks = OpenLocks(*server);
  ASSERT_FALSE(locks.has_value());
  EXPECT_EQ(locks.error().code, Code::kInvalid);
}

TEST_F(RedisLocksTest, WhoMayNotPublishIsStillServedInTurn) {
  Start();
  Redis({"ACL", "SETUSER", "app", "on", ">secret", "resetchannels", "~oncemq:lock:*", "+@all"});
  const std::string address = server_->url().substr(std::string("redis://").size());
  const auto locks = OpenRedisLocks("redis://app:secret@" + address);
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  const auto domain = LockDomain::Open(*locks, {.queue_lease = milliseconds(300)});
  auto holder = (*domain)->Acquire("x");
  ASSERT_TRUE(holder.has_value() && holder->has_value());
  std::jthread waits([&] {
    const auto lease = (*domain)->Acquire("x");
    EXPECT_TRUE(lease.has_value() && lease->has_value());
  });
  ASSERT_TRUE(UntilTwoAreThere());
  EXPECT_EQ((*holder)->Release(), Released::kYes);
}

TEST_F(RedisLocksTest, AFenceDoesNotGoBackWhenTheServerForgetsEverything) {
  Start();
  Fence last;
  for (int i = 0; i < 5; i++) {
    const auto lease = Acquired();
    ASSERT_TRUE(lease);
    EXPECT_GT(lease->fence(), last);
    last = lease->fence();
    Redis({"FLUSHALL"});
  }
}

// What a replica that lags knows when it takes over: the key as it was before the last grant.
TEST_F(RedisLocksTest, AFenceOfWhoWaitedDoesNotComeTwiceWhenTheLastGrantIsForgotten) {
  Start();
  const auto request = [&](uint64_t who) {
    return *locks_->Request({.name = "x",
                             .token = {1, who},
                             .lease = milliseconds(60'000),
                             .queue_lease = milliseconds(60'000)});
  };
  const auto leaves = [&](uint64_t who) {
    const LockClaim claim{"x", {1, who}};
    Freed freed{};
    EXPECT_TRUE(locks_->Free({&claim, 1}, {&freed, 1}));
  };
  request(1);
  request(2);
  request(3);
  const std::string key = Redis({"RANDOMKEY"});
  const std::string before = Redis({"DUMP", key});
  leaves(1);
  const Fence forgotten = request(2).fence;
  Redis({"RESTORE", key, "60000", before, "REPLACE"});
  leaves(1);
  leaves(2);
  EXPECT_GT(request(3).fence, forgotten);
}

TEST_F(RedisLocksTest, AHolderIsToldWhenTheServerForgotIt) {
  Start();
  const auto lease = Acquired();
  ASSERT_TRUE(lease);
  Redis({"FLUSHALL"});
  AwaitStop(lease->stop());
  EXPECT_EQ(lease->lost(), LeaseLoss::kTaken);
}

TEST_F(RedisLocksTest, AHolderIsToldInTimeWhenTheServerHangs) {
  Start(milliseconds(1'000));
  const auto lease = Acquired();
  ASSERT_TRUE(lease);
  server_->process().Pause();
  AwaitStop(lease->stop());
  EXPECT_EQ(lease->lost(), LeaseLoss::kDeadline);
  server_->process().Continue();
  EXPECT_TRUE(Acquired()) << "when its lease has run out there";
}

TEST_F(RedisLocksTest, AWaiterGetsItsTurnAfterTheServerWasAwayAndCameBackEmpty) {
  Start();
  auto holder = Acquired();
  ASSERT_TRUE(holder);
  std::jthread waits([&] { EXPECT_TRUE(Acquired()); });
  ASSERT_TRUE(UntilTwoAreThere());
  server_->Kill9();
  server_->Restart();
}

TEST_F(RedisLocksTest, AWaiterWhoseWakesAreCutGetsItsTurn) {
  Start();
  domain_ = *LockDomain::Open(locks_, {.queue_lease = milliseconds(600)});
  for (int round = 0; round < 5; round++) {
    auto holder = Acquired();
    ASSERT_TRUE(holder);
    std::jthread waits([&] { EXPECT_TRUE(Acquired()); });
    ASSERT_TRUE(UntilTwoAreThere());
    Redis({"CLIENT", "KILL", "TYPE", "pubsub"});
    EXPECT_EQ(holder->Release(), Released::kYes);
  }
}

TEST_F(RedisLocksTest, AFenceStaysInOrderThroughAFailoverToAReplicaThatKnowsNothing) {
  Start();
  const auto replica =
      RedisServer::Start({"--replicaof", "127.0.0.1", std::to_string(server_->port())});
  // The replica hears of nothing that happens from now on.
  replica->process().Pause();
  const auto former = Acquired();
  ASSERT_TRUE(former);
  server_->Kill9();
  replica->process().Continue();
  replica->Promote();
  const auto promoted = OpenLocks(*replica);
  ASSERT_TRUE(promoted.has_value()) << ToString(promoted.error());
  const auto domain = LockDomain::Open(*promoted);
  const auto next = (*domain)->TryAcquire("x");
  ASSERT_TRUE(next.has_value() && next->has_value()) << "two hold it now: only the fence tells";
  EXPECT_GT((*next)->fence(), former->fence());
}

TEST_F(RedisLocksTest, WaitersAreLimited) {
  server_ = RedisServer::Start();
  const auto locks = OpenRedisLocks(server_->url(), {.max_waiters = 1});
  ASSERT_TRUE(locks.has_value());
  AcquireRequest request{.name = "x",
                         .token = {1, 1},
                         .lease = milliseconds(9'000),
                         .queue_lease = milliseconds(9'000)};
  ASSERT_TRUE((*locks)->Request(request));
  request.token = {1, 2};
  ASSERT_TRUE((*locks)->Request(request));
  request.token = {1, 3};
  const auto third = (*locks)->Request(request);
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, Code::kFull);
}

}  // namespace
}  // namespace oncemq::testing
