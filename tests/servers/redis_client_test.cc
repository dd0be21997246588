// SPDX-License-Identifier: Apache-2.0
// The client against a server that is killed, paused, locked and moved.
#include "oncemq/clients/redis_client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "oncemq/base/mutex.h"
#include "redis_refusals.h"
#include "support/eventually.h"
#include "support/redis_server.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

constexpr RedisTimes kPatient{milliseconds(20'000), milliseconds(20'000)};
// Of calls that end by it. Enough for those that are to be answered, on a slow machine.
constexpr RedisTimes kShort{milliseconds(3'000), milliseconds(3'000)};

class RedisClientTest : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_REDIS(); }

  static Result<std::unique_ptr<RedisClient>> Open(const std::string& url,
                                                   const RedisTimes& times = kPatient,
                                                   size_t connections = 16) {
    const auto endpoint = ParseRedisEndpoint(url);
    EXPECT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
    return RedisClient::Open(*endpoint, times, connections);
  }
  void StartAndOpen(const RedisTimes& times = kPatient, size_t connections = 16) {
    server_ = RedisServer::Start();
    auto client = Open(server_->url(), times, connections);
    ASSERT_TRUE(client.has_value()) << ToString(client.error());
    client_ = *std::move(client);
  }
  RedisReply Run(const RedisCommand& command) {
    auto reply = client_->Run(command);
    EXPECT_TRUE(reply.has_value()) << ToString(reply.error());
    return reply ? *std::move(reply) : RedisReply{};
  }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<RedisClient> client_;
};

TEST_F(RedisClientTest, WhatIsStoredComesBackByteForByte) {
  StartAndOpen();
  const std::string value("a\0b\r\n\xff", 6);
  Run({"SET", "k", value});
  EXPECT_EQ(Run({"GET", "k"}).text, value);
  EXPECT_EQ(Run({"GET", "never"}).kind, RedisReply::Kind::kNil);
  EXPECT_EQ(Run({"STRLEN", "k"}).integer, 6);
}

TEST_F(RedisClientTest, AnErrorAmongSeveralAnswersIsAnAnswer) {
  StartAndOpen();
  const std::vector<RedisCommand> commands{{"SET", "k", "text"}, {"INCR", "k"}, {"GET", "k"}};
  const auto replies = client_->Run(commands);
  ASSERT_TRUE(replies.has_value()) << ToString(replies.error());
  EXPECT_EQ((*replies)[1].kind, RedisReply::Kind::kError);
  EXPECT_EQ((*replies)[2].text, "text");
}

TEST_F(RedisClientTest, AWrongPasswordShowsAtTheStartAndIsNotRepeated) {
  const auto server = RedisServer::Start({"--requirepass", "right"});
  const std::string address = server->url().substr(std::string("redis://").size());
  EXPECT_TRUE(Open("redis://:right@" + address).has_value());
  const auto wrong = Open("redis://:hunter2@" + address);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Code::kRefused);
  EXPECT_EQ(wrong.error().message.find("hunter2"), std::string::npos);
  const auto none = Open(server->url());
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, Code::kRefused);
}

TEST_F(RedisClientTest, APasswordForNoneAndADatabaseThatIsNotThereAreToldApart) {
  const auto server = RedisServer::Start();
  const std::string address = server->url().substr(std::string("redis://").size());
  for (const auto& [wrong, code] : {std::pair("redis://:hunter2@" + address, Code::kRefused),
                                    std::pair("redis://" + address + "/99", Code::kInvalid)}) {
    const auto refused = Open(wrong);
    ASSERT_FALSE(refused.has_value()) << wrong;
    EXPECT_EQ(refused.error().code, code) << ToString(refused.error());
    EXPECT_EQ(refused.error().effect, Effect::kNone);
  }
}

TEST_F(RedisClientTest, APasswordThatIsRefusedIsTriedAFewTimesByAWholePool) {
  StartAndOpen();
  Run({"ACL", "SETUSER", "rotated", "on", ">old", "+@all"});
  std::string file = "old";
  Mutex mutex;
  auto endpoint = *ParseRedisEndpoint(server_->url());
  endpoint.user = "rotated";
  endpoint.password = "old";
  endpoint.read_login = [&]() -> Result<UserAndPassword> {
    MutexLock lock(mutex);
    return UserAndPassword{"rotated", file};
  };
  const auto pool = *RedisClient::Open(endpoint, kPatient, 16);
  Run({"ACL", "SETUSER", "rotated", "resetpass", ">new"});
  Run({"CLIENT", "KILL", "USER", "rotated"});
  const BootTime until = BootNow() + std::chrono::seconds(5);
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> partitions;
    for (int i = 0; i < 16; i++) {
      partitions.emplace_back([&] {
        while (BootNow() < until) {
          const auto asked = pool->Run(RedisCommand{"PING"});
          ASSERT_FALSE(asked.has_value());
          refused += asked.error().code == Code::kRefused ? 1 : 0;
          SleepFor(milliseconds(10));
        }
      });
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_LE(RefusedLogins(Run({"ACL", "LOG"})), 4);
  {
    MutexLock lock(mutex);
    file = "new";
  }
  EXPECT_TRUE(Eventually(std::chrono::seconds(10),
                         [&] { return pool->Run(RedisCommand{"PING"}).has_value(); }));
  EXPECT_LE(RefusedLogins(Run({"ACL", "LOG"})), 4);
}

TEST_F(RedisClientTest, AServerThatHasNoRoomForAConnectionIsUnavailable) {
  StartAndOpen();
  Run({"CONFIG", "SET", "maxclients", "1"});  // and that is the one that says it
  const auto second = Open(server_->url());
  ASSERT_FALSE(second.has_value()) << "it would fail in the middle of its first call";
  EXPECT_EQ(second.error().code, Code::kUnavailable) << ToString(second.error());
  EXPECT_EQ(second.error().effect, Effect::kNone);
}

TEST_F(RedisClientTest, AServerThatIsNotThereIsUnavailableAndNothingWasDone) {
  const LoopbackPort port;
  const auto client = Open("redis://" + port.address());
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, Code::kUnavailable);
  EXPECT_EQ(client.error().effect, Effect::kNone);
}

TEST_F(RedisClientTest, TheFirstCallAfterTheServerCameBackSucceeds) {
  StartAndOpen();
  Run({"PING"});
  server_->Kill9();
  const auto down = client_->Run(RedisCommand{"PING"});
  ASSERT_FALSE(down.has_value());
  EXPECT_EQ(down.error().effect, Effect::kNone) << "a connection that is gone is not written to";
  server_->Restart();
  Run({"PING"});
}

TEST_F(RedisClientTest, AServerThatHangsIsATimeoutWithAnUnknownEffect) {
  StartAndOpen(kShort);
  Run({"SET", "k", "v"});
  server_->process().Pause();
  const BootTime began = BootNow();
  const auto hangs = client_->Run(RedisCommand{"INCR", "n"});
  EXPECT_LT(BootNow() - began, kPatient.call);
  ASSERT_FALSE(hangs.has_value());
  EXPECT_EQ(hangs.error().code, Code::kTimeout);
  EXPECT_EQ(hangs.error().effect, Effect::kUnknown);
  server_->process().Continue();
}

TEST_F(RedisClientTest, ALateAnswerIsNotTakenForThatOfTheNextCall) {
  StartAndOpen();
  Run({"SET", "k", "v"});
  TcpProxy network(server_->port());
  client_ = *RedisClient::Open({.hosts = {{"127.0.0.1", network.port()}}}, kShort, 1);
  network.Set(TcpProxy::Mode::kHoldReplies);
  EXPECT_EQ(client_->Run(RedisCommand{"INCR", "n"}).error().code, Code::kTimeout);
  const uint64_t said = network.said();
  std::jthread goes_on([&] {
    EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] { return network.said() > said; }));
    network.Set(TcpProxy::Mode::kPass);  // with the late answer first
  });
  EXPECT_EQ(Run({"GET", "k"}).text, "v");
}

TEST_F(RedisClientTest, AScriptIsSentAgainWhenTheServerForgotIt) {
  StartAndOpen();
  const RedisScript script("return {ARGV[1], KEYS[1]}");
  const std::vector<RedisCommand> calls{{"k1", "a"}, {"k2", "b"}};
  for (int i = 0; i < 2; i++) {
    const auto replies = client_->Call(script, 1, calls);
    ASSERT_TRUE(replies.has_value()) << ToString(replies.error());
    EXPECT_EQ((*replies)[1].list.at(0).text, "b");
    EXPECT_EQ((*replies)[1].list.at(1).text, "k2");
    Run({"SCRIPT", "FLUSH"});
  }
}

TEST(RedisErrors, AnErrorWithinAScriptIsTheSameInEveryVersion) {
  for (const char* text :
       {"READONLY You can't write against a read only replica.",
        "ERR Error running script (call to f_0123): @user_script:7: @user_script: 7: -READONLY You "
        "can't write against a read only replica."}) {
    const Error error = RedisError(text);
    EXPECT_EQ(error.code, Code::kUnavailable) << text;
    EXPECT_EQ(error.effect, Effect::kNone) << text;
  }
  EXPECT_EQ(RedisError("ERR invalid password").code, Code::kRefused);
  EXPECT_EQ(RedisError("NOPERM no permissions").code, Code::kInvalid) << "it let us in";
  EXPECT_EQ(RedisError("ERR something else").effect, Effect::kUnknown);
}

TEST_F(RedisClientTest, ManyThreadsShareFewConnections) {
  StartAndOpen(kPatient, 2);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 8; t++) {
      threads.emplace_back([this] {
        for (int i = 0; i < 50; i++) {
          Run({"INCR", "n"});
        }
      });
    }
  }
  EXPECT_EQ(Run({"GET", "n"}).text, "400");
  const std::string clients = Run({"CLIENT", "LIST"}).text;
  EXPECT_LE(std::count(clients.begin(), clients.end(), '\n'), 2);
}

TEST_F(RedisClientTest, AReplicaIsNoMaster) {
  const auto master = RedisServer::Start();
  const auto replica =
      RedisServer::Start({"--replicaof", "127.0.0.1", std::to_string(master->port())});
  const auto client = Open(replica->url());
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, Code::kUnavailable);
}

TEST_F(RedisClientTest, SentinelsAreAskedWhoIsMaster) {
  const auto master = RedisServer::Start();
  const LoopbackPort gone;
  const auto sentinel = RedisServer::Start(
      {"--sentinel", "monitor", "orders", "127.0.0.1", std::to_string(master->port()), "1"}, true);
  const std::string sentinels =
      "redis-sentinel://" + gone.address() + ",127.0.0.1:" + std::to_string(sentinel->port());
  const auto client = Open(sentinels + "/orders");
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  EXPECT_TRUE((*client)->Run(RedisCommand{"SET", "k", "v"}));
  const auto unknown = Open(sentinels + "/payments");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().message.find("payments"), std::string::npos);
}

TEST_F(RedisClientTest, AListenerHearsAgainAfterItsConnectionWasCut) {
  StartAndOpen();
  std::atomic<int> connected{0};
  std::atomic<int> heard{0};
  const auto endpoint = ParseRedisEndpoint(server_->url());
  const auto listener = RedisListener::Start(
      *endpoint, kPatient, "channel",
      [&](std::string_view text) {
        EXPECT_EQ(text, std::string_view("a\0b", 3));
        heard++;
        heard.notify_all();
      },
      [&](bool hears) {
        connected += hears ? 1 : 0;
        connected.notify_all();
      });
  ASSERT_NE(listener, nullptr);
  for (int round = 0; round < 3; round++) {
    connected.wait(round);
    EXPECT_EQ(Run({"PUBLISH", "channel", std::string_view("a\0b", 3)}).integer, 1);
    heard.wait(round);
    Run({"CLIENT", "KILL", "TYPE", "pubsub"});
  }
}

TEST_F(RedisClientTest, AListenerOfAServerThatIsGoneEndsAtOnce) {
  StartAndOpen();
  const auto endpoint = ParseRedisEndpoint(server_->url());
  // An answer is waited for much longer than the end may take.
  auto listener = RedisListener::Start(
      *endpoint, {milliseconds(1'000), milliseconds(60'000)}, "channel", [](std::string_view) {},
      [](bool) {});
  server_->process().Pause();
  const BootTime began = BootNow();
  listener.reset();
  EXPECT_LT(BootNow() - began, milliseconds(20'000));
  server_->process().Continue();
}

}  // namespace
}  // namespace oncemq::testing
