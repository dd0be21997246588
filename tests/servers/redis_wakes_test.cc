// SPDX-License-Identifier: Apache-2.0
// What waiting in a Redis costs its server: wakes, questions and connections, as it counts them.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "hand_overs.h"
#include "oncemq/base/bytes.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/redis_locks.h"
#include "support/eventually.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kWakePatience{20'000};
constexpr size_t kEngines = 4;

class RedisWakesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    server_ = RedisServer::Start();
    auto client =
        RedisClient::Open(*ParseRedisEndpoint(server_->url()), {kWakePatience, kWakePatience});
    ASSERT_TRUE(client.has_value()) << ToString(client.error());
    client_ = *std::move(client);
    for (size_t i = 0; i < kEngines; i++) {
      auto locks =
          OpenRedisLocks(server_->url(), {.connect = kWakePatience, .call = kWakePatience});
      ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
      engines_.push_back(*std::move(locks));
    }
  }
  std::string Redis(const RedisCommand& command) {
    const auto reply = client_->Run(command);
    EXPECT_TRUE(reply.has_value()) << ToString(reply.error());
    return reply ? reply->text : "";
  }
  void CountAnew() { Redis({"CONFIG", "RESETSTAT"}); }
  // How often the server did it since then, for scripts too.
  uint64_t Done(const std::string& command) {
    const std::string all = Redis({"INFO", "commandstats"});
    const std::string wanted = "cmdstat_" + command + ":calls=";
    const size_t at = all.find(wanted);
    if (at == std::string::npos) {
      return 0;
    }
    const std::string rest = all.substr(at + wanted.size());
    return ParseDecimal(rest.substr(0, rest.find(','))).value_or(0);
  }
  // What locks ask is a script each time; a listener that hears nothing for long asks for a word.
  uint64_t Requests() { return Done("evalsha") + Done("eval") + Done("ping"); }
  size_t Listeners() {
    const std::string all = Redis({"CLIENT", "LIST", "TYPE", "pubsub"});
    return static_cast<size_t>(std::count(all.begin(), all.end(), '\n'));
  }
  bool Wait(std::string_view name, size_t parties) {
    return Eventually(kWakePatience, [&] {
      const auto view = engines_[0]->Read(name);
      return view && view->parties.size() == parties;
    });
  }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<RedisClient> client_;
  LockEngines engines_;
};

TEST_F(RedisWakesTest, ANameThatGoesThroughManyProcessesIsOneWakeForEachHandOver) {
  constexpr size_t kWaiters = 20;
  ASSERT_NO_FATAL_FAILURE(UntilEachHears(engines_));
  CountAnew();
  ExpectOneWakeEach(HandThrough(engines_, kWaiters), kWaiters);
  EXPECT_EQ(Done("publish"), kWaiters) << "the server told others, too";
}

// Each asks once, again when its engine begins to hear, and at each third of its place; when it
// gives up it says so. One more: who asks late makes the one behind it ask early.
TEST_F(RedisWakesTest, WhoWaitsAsksOnlyAsOftenAsItsPlaceNeeds) {
  constexpr milliseconds kQueueLease{1'500};
  constexpr milliseconds kWait{2'000};
  constexpr size_t kWaiters = 12;
  constexpr uint64_t kMost = 2 + kWait / (kQueueLease / 3) + 2;
  std::vector<std::unique_ptr<LockDomain>> domains;
  for (const auto& engine : engines_) {
    domains.push_back(
        *LockDomain::Open(engine, {.lease = kWakePatience, .queue_lease = kQueueLease}));
  }
  const auto holder = domains[0]->Acquire("x");
  ASSERT_TRUE(holder && *holder);
  ASSERT_TRUE(domains[0]->Acquire("y"));  // and gives it back: the server knows the scripts then
  CountAnew();
  const BootTime until = SystemClock::Instance().Boot() + kWait;
  std::vector<std::jthread> waits;
  for (size_t i = 0; i < kWaiters; i++) {
    waits.emplace_back([&, i] {
      const auto lease = domains[i % kEngines]->Acquire("x", {.until = until});
      EXPECT_TRUE(lease && !*lease);
    });
  }
  waits.clear();
  const uint64_t asked = Requests();
  RecordProperty("asked", std::to_string(asked));
  EXPECT_GE(SystemClock::Instance().Boot(), until);
  EXPECT_LE(asked, kWaiters * kMost);
  EXPECT_GE(asked, kWaiters * 3) << "a place that nobody asks for ends";
  EXPECT_EQ(Done("publish"), 0u) << "nobody's turn had come";
}

// Whoever was served was woken, or had its turn before it listened: so no listener is yet to come.
TEST_F(RedisWakesTest, AProcessListensOnceHoweverManyNamesItWaitsFor) {
  constexpr size_t kManyNames = 6;
  CountAnew();
  std::vector<std::unique_ptr<LockDomain>> domains;
  for (const auto& engine : engines_) {
    domains.push_back(*LockDomain::Open(engine));
  }
  std::vector<Lease> holders;
  std::vector<std::jthread> waits;
  for (size_t n = 0; n < kManyNames; n++) {
    const std::string name = "name/" + std::to_string(n);
    auto holder = domains[0]->Acquire(name);
    ASSERT_TRUE(holder && *holder);
    holders.push_back(*std::move(*holder));
    for (size_t i = 0; i < kEngines; i++) {
      waits.emplace_back([&, i, name] {
        const auto lease = domains[i]->Acquire(name);
        EXPECT_TRUE(lease && *lease);
      });
    }
    ASSERT_TRUE(Wait(name, 1 + kEngines));
  }
  EXPECT_TRUE(Eventually(kWakePatience, [&] { return Listeners() == kEngines; }));
  holders.clear();
  waits.clear();
  EXPECT_EQ(Listeners(), kEngines);
  EXPECT_EQ(Done("subscribe"), kEngines) << "some have listened, and gone";
}

}  // namespace
}  // namespace oncemq::testing
