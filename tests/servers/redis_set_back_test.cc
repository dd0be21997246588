// SPDX-License-Identifier: Apache-2.0
// Locks in a Redis whose clock was set back: a dead holder keeps its name, and a dead waiter its
// place, for no longer than its own lease from when somebody asks.
#include <gtest/gtest.h>

#include "oncemq/clients/redis_client.h"
#include "oncemq/locks/redis_locks.h"
#include "support/eventually.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kSetBackPatience{20'000};
constexpr milliseconds kShortLease{500};
constexpr milliseconds kLongLease{600'000};

// All ends of a name, as a clock wrote them that was an hour ahead.
constexpr const char* kAnHourAhead = R"lua(
local hour, raw = 3600000000, redis.call('GET', KEYS[1])
if raw:byte() == 61 then
  local last = struct.unpack('>d', raw, 19)
  raw = raw:sub(1, 18) .. struct.pack('>d', last + hour) .. raw:sub(27)
else
  local state = cmsgpack.unpack(raw)
  for i = 2, 3 do
    for _, party in ipairs(state[i]) do party[3] = party[3] + hour end
  end
  raw = cmsgpack.pack(state)
end
redis.call('SET', KEYS[1], raw, 'PX', 7200000)
return raw:sub(1, 1)
)lua";

class RedisSetBackTest : public ::testing::Test {
 protected:
  using Kind = LockAnswer::Kind;

  void Start() {
    server_ = RedisServer::Start();
    locks_ =
        *OpenRedisLocks(server_->url(), {.connect = kSetBackPatience, .call = kSetBackPatience});
    client_ = *RedisClient::Open(*ParseRedisEndpoint(server_->url()),
                                 {kSetBackPatience, kSetBackPatience});
  }
  static AcquireRequest RequestOf(uint64_t attempt, milliseconds lease, bool queue = true) {
    return {.name = "x",
            .token = {1, attempt},
            .queue = queue,
            .lease = lease,
            .queue_lease = lease,
            .who = "a test"};
  }
  Kind Request(const AcquireRequest& request) {
    const auto answer = locks_->Request(request);
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer.value_or(LockAnswer{}).kind;
  }
  // The first byte of the written value.
  std::string SetBack() {
    const auto form = client_->Run(RedisCommand{"EVAL", kAnHourAhead, "1", "oncemq:lock:0::x"});
    EXPECT_TRUE(form.has_value()) << ToString(form.error());
    return form ? form->text : "";
  }
  bool GrantedInTime(const AcquireRequest& request) {
    return Eventually(kSetBackPatience, [&] { return Request(request) == Kind::kGranted; });
  }

  std::unique_ptr<RedisServer> server_;
  std::shared_ptr<LockEngine> locks_;
  std::unique_ptr<RedisClient> client_;
};

TEST_F(RedisSetBackTest, AHolderThatDiedKeepsItsNameForALease) {
  ONCEMQ_REQUIRE_REDIS();
  Start();
  ASSERT_EQ(Request(RequestOf(1, kShortLease)), Kind::kGranted);
  EXPECT_EQ(SetBack(), "=");
  EXPECT_TRUE(GrantedInTime(RequestOf(2, kLongLease, false))) << "by one who leaves nothing behind";
}

TEST_F(RedisSetBackTest, AWaiterThatDiedKeepsItsPlaceForALease) {
  ONCEMQ_REQUIRE_REDIS();
  Start();
  ASSERT_EQ(Request(RequestOf(1, kLongLease)), Kind::kGranted);
  ASSERT_EQ(Request(RequestOf(2, kShortLease)), Kind::kQueued);
  EXPECT_EQ(SetBack(), "\x93");
  const LockClaim claim{"x", {1, 1}};
  Freed freed{};
  ASSERT_TRUE(locks_->Free({&claim, 1}, {&freed, 1}));
  EXPECT_EQ(freed, Freed::kYes);
  EXPECT_TRUE(GrantedInTime(RequestOf(3, kLongLease)));
}

TEST_F(RedisSetBackTest, AHolderThatLivesGoesOn) {
  ONCEMQ_REQUIRE_REDIS();
  Start();
  ASSERT_EQ(Request(RequestOf(1, kLongLease)), Kind::kGranted);
  SetBack();
  const auto left = locks_->Read("x")->parties.front().left;
  EXPECT_LE(left, kLongLease);
  EXPECT_GT(left, kLongLease / 2);
  const LockClaim claim{"x", {1, 1}, kLongLease};
  Extended extended{};
  ASSERT_TRUE(locks_->Extend({&claim, 1}, {&extended, 1}));
  EXPECT_EQ(extended, Extended::kYes);
  EXPECT_EQ(Request(RequestOf(2, kShortLease, false)), Kind::kBusy);
}

// A program that kept no lease has written it.
TEST_F(RedisSetBackTest, AHoldWithoutALeaseIsHeldUntilItsEndAndTakenOverWithOne) {
  ONCEMQ_REQUIRE_REDIS();
  Start();
  ASSERT_EQ(Request(RequestOf(1, kLongLease)), Kind::kGranted);
  constexpr const char* kWithout = R"lua(
local raw = redis.call('GET', KEYS[1])
redis.call('SET', KEYS[1], '!' .. raw:sub(2, 38) .. raw:sub(47), 'PX', 7200000)
)lua";
  ASSERT_TRUE(client_->Run(RedisCommand{"EVAL", kWithout, "1", "oncemq:lock:0::x"}).has_value());
  EXPECT_EQ(locks_->Read("x")->parties.front().who, "a test");
  EXPECT_EQ(Request(RequestOf(2, kShortLease, false)), Kind::kBusy);
  const LockClaim claim{"x", {1, 1}, kShortLease};
  Extended extended{};
  ASSERT_TRUE(locks_->Extend({&claim, 1}, {&extended, 1}));
  EXPECT_EQ(extended, Extended::kYes);
  EXPECT_EQ(SetBack(), "=");
  EXPECT_TRUE(GrantedInTime(RequestOf(3, kLongLease)));
}

}  // namespace
}  // namespace oncemq::testing
