// SPDX-License-Identifier: Apache-2.0
// What a gate tells of a Redis that has lost operations, before and after it was opened.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "oncemq/gate/gate.h"
#include "support/log_file.h"

#ifdef ONCEMQ_WITH_REDIS
#include "oncemq/clients/redis_client.h"
#include "redis/redis_window_engine.h"
#include "support/eventually.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

class GateLosses : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    server_ = RedisServer::Start();
  }
  RedisReply Redis(const RedisCommand& command) const {
    const auto client = RedisClient::Open(*ParseRedisEndpoint(server_->url()));
    const auto reply = (*client)->Run(command);
    EXPECT_TRUE(reply) << ToString(reply.error());
    return reply ? *reply : RedisReply{};
  }
  void KillAndRestart() {
    server_->Kill9();
    server_->Restart();
  }
  static RedisWindowOptions Options(bool expect_scope = false) {
    RedisWindowOptions options;
    options.scope = "orders";
    options.level = Level::kOpaque;
    options.expect_scope = expect_scope;
    return options;
  }
  std::unique_ptr<Gate> Open(std::string_view clock = kRedisClock, bool expect_scope = false) {
    auto window = RedisWindow::OpenAt(server_->url(), Options(expect_scope), clock);
    EXPECT_TRUE(window) << ToString(window.error());
    GateOptions options;
    options.application = "shop";
    options.within = seconds(20);
    auto gate = Gate::Open(std::shared_ptr<Window>(*std::move(window)), options);
    EXPECT_TRUE(gate) << ToString(gate.error());
    return *std::move(gate);
  }
  static PreAnswer Pre(Gate& gate, std::string_view key) {
    return gate.Pre(Contents::OfBytes("tea"), {.key = key});
  }
  static void Order(Gate& gate, std::string_view key) {
    PreAnswer pre = Pre(gate, key);
    ASSERT_EQ(pre.state, PreState::kPermitted);
    ASSERT_TRUE(pre.ticket.Final("ordered"));
  }

  std::unique_ptr<RedisServer> server_;
};

// Rule 31. Its process has not seen the changes that are gone.
TEST_F(GateLosses, AreToldToAGateThatIsOpenedAfterTheServerWentBack) {
  const auto dead = Open();
  Redis({"SAVE"});
  Order(*dead, "k");
  KillAndRestart();
  LogFile log;
  for (int i = 0; i < 2; i++) {
    const auto gate = Open();
    EXPECT_EQ(gate->counts().possible_losses, 1u) << "gate " << i << " after the loss";
    EXPECT_EQ(gate->counts().losses, 0u);
    Order(*gate, "k" + std::string(i, '+'));  // the first time it is lost
  }
  const std::string text = log.End();
  EXPECT_NE(
      text.find("Redis was started again or replaced: changes that it had acknowledged may be "
                "lost"),
      std::string::npos)
      << text;
}

TEST_F(GateLosses, AreNotToldWhereTheServerIsTheSame) {
  const auto first = Open();
  LogFile log;
  Order(*Open(), "k");
  const auto gate = Open();
  EXPECT_EQ(gate->counts().possible_losses, 0u);
  EXPECT_EQ(gate->counts().losses, 0u);
  EXPECT_EQ(Pre(*gate, "k").state, PreState::kDuplicate);
  const std::string text = log.End();
  EXPECT_EQ(text.find("Redis"), std::string::npos) << text;
}

TEST_F(GateLosses, AreCountedByAGateThatLivesThroughThem) {
  const auto gate = Open();
  Order(*gate, "k");
  KillAndRestart();
  EXPECT_TRUE(Eventually(seconds(20), [&] { return Pre(*gate, "k2").state != PreState::kError; }));
  EXPECT_EQ(gate->counts().losses, 1u);
  LogFile log;
  EXPECT_EQ(Open()->counts().possible_losses, 1u) << "the scope was made anew by the first one";
  const std::string text = log.End();
  EXPECT_NE(text.find("nothing from before is known"), std::string::npos) << text;
}

TEST_F(GateLosses, OfTheWholeScopeAreALineInTheLogAndARefusalWhereItIsExpected) {
  const auto gate = Open(kRedisClock);
  Order(*gate, "k");
  const auto expects = Open(kRedisClock, /*expect_scope=*/true);
  EXPECT_EQ(Pre(*expects, "k").state, PreState::kDuplicate);
  KillAndRestart();
  LogFile refusals;
  for (int i = 0; i < 3; i++) {
    const PreAnswer pre = Pre(*expects, "k");
    EXPECT_EQ(pre.state, PreState::kError) << "it would run again";
    EXPECT_NE(pre.error.message.find("open once without `expect_scope`"), std::string::npos)
        << pre.error.message;
  }
  const std::string said = refusals.End();
  EXPECT_NE(said.find("an operation is not permitted"), std::string::npos) << said;
  EXPECT_NE(said.find("open once without `expect_scope`"), std::string::npos) << said;
  EXPECT_EQ(expects->counts().losses, 1u);
  const auto refused = OpenRedisWindow(server_->url(), Options(/*expect_scope=*/true));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
  EXPECT_NE(refused.error().message.find("open once without `expect_scope`"), std::string::npos)
      << refused.error().message;
  LogFile log;
  EXPECT_EQ(Pre(*Open(), "k").state, PreState::kPermitted);
  const std::string text = log.End();
  EXPECT_NE(text.find("made the scope"), std::string::npos) << text;
}

// Everything is replicated, and all leases and operations end by the clock of the new server.
TEST_F(GateLosses, ByAClockThatJumpsAheadAreToldAndCounted) {
  constexpr std::string_view kClock = "tonumber(redis.call('GET', 'test_clock'))";
  const int64_t wall = SystemClock::Instance().Wall().micros;
  Redis({"SET", "test_clock", std::to_string(wall)});
  const auto gate = Open(kClock);
  Order(*gate, "k");
  EXPECT_EQ(Pre(*gate, "k").state, PreState::kDuplicate);
  LogFile log;
  const microseconds jump = std::chrono::hours(24 * 8);
  Redis({"SET", "test_clock", std::to_string(wall + jump.count())});
  EXPECT_EQ(Pre(*gate, "k").state, PreState::kPermitted);
  EXPECT_EQ(gate->counts().possible_losses, 1u);
  const auto later = Open(kClock);
  const std::string text = log.End();
  EXPECT_NE(text.find("the clock of Redis has jumped ahead"), std::string::npos) << text;
  EXPECT_NE(text.find("the clock of Redis differs from the clock of this host"), std::string::npos)
      << text;
}

// The holder was killed. Its operation ends with its own lease, and an operator can resolve it.
TEST_F(GateLosses, AnOperationOfTheFutureIsUncertainAfterItsLeaseAndCanBeResolved) {
  constexpr std::string_view kClock = "tonumber(redis.call('GET', 'test_clock'))";
  const int64_t wall = SystemClock::Instance().Wall().micros;
  const auto set = [&](milliseconds by) {
    Redis({"SET", "test_clock", std::to_string(wall + microseconds(by).count())});
  };
  set(milliseconds(0));
  const auto dead = Open(kClock);
  const PreAnswer held = Pre(*dead, "k");
  ASSERT_EQ(held.state, PreState::kPermitted);
  LogFile log;
  set(-std::chrono::hours(2));
  const auto gate = Open(kClock);
  const PreAnswer early = Pre(*gate, "k");
  EXPECT_EQ(early.state, PreState::kInProgress);
  EXPECT_LE(early.retry_after, std::chrono::hours(1)) << "its own lease";
  EXPECT_EQ(gate->Resolve(early.ref, Gate::Outcome::kNotApplied, "early").error().code,
            Code::kUnavailable);
  set(-std::chrono::hours(1));
  EXPECT_EQ(Pre(*gate, "k").state, PreState::kUncertain);
  EXPECT_TRUE(gate->Resolve(early.ref, Gate::Outcome::kNotApplied, "no entry in the statement"));
  set(-std::chrono::minutes(59));
  EXPECT_EQ(Pre(*gate, "k").state, PreState::kPermitted);
  const std::string text = log.End();
  EXPECT_NE(text.find("the clock of Redis is behind its last known time"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace oncemq::testing
#endif
