// SPDX-License-Identifier: Apache-2.0
// The client against a server that is killed, paused and full.
#include "oncemq/clients/memcached_client.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/eventually.h"
#include "support/memcached_server.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

using Command = MemcachedCommand;
using ReplyKind = MemcachedReply::Kind;

constexpr std::chrono::seconds kLongTime{600};
constexpr MemcachedTimes kPatient{milliseconds(20'000), milliseconds(20'000)};
// Of calls that end by it. Enough for those that are to be answered, on a slow machine.
constexpr MemcachedTimes kShort{milliseconds(3'000), milliseconds(3'000)};

class MemcachedClientTest : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_MEMCACHED(); }

  void Start(const MemcachedTimes& times = kPatient, size_t connections = 16) {
    server_ = MemcachedServer::Start();
    auto client =
        MemcachedClient::Open(*ParseMemcachedEndpoint(server_->url()), times, connections);
    ASSERT_TRUE(client.has_value()) << ToString(client.error());
    client_ = *std::move(client);
  }
  MemcachedReply Run(const Command& command) {
    auto reply = client_->Run(command);
    EXPECT_TRUE(reply.has_value()) << ToString(reply.error());
    return reply ? *std::move(reply) : MemcachedReply{};
  }

  std::unique_ptr<MemcachedServer> server_;
  std::unique_ptr<MemcachedClient> client_;
};

TEST_F(MemcachedClientTest, WhatIsStoredComesBackByteForByte) {
  Start();
  const std::string value("a\0b\r\nEND\r\n\xff", 11);
  EXPECT_EQ(Run({Command::Kind::kAdd, "k", value, kLongTime}).kind, ReplyKind::kDone);
  EXPECT_EQ(Run({Command::Kind::kAdd, "k", "other", kLongTime}).kind, ReplyKind::kRefused);
  const MemcachedReply found = Run({Command::Kind::kGet, "k"});
  EXPECT_EQ(found.kind, ReplyKind::kFound);
  EXPECT_EQ(found.value, value);
  EXPECT_GT(found.left, std::chrono::seconds(0));
  EXPECT_LE(found.left, kLongTime);
  EXPECT_EQ(Run({Command::Kind::kGet, "never"}).kind, ReplyKind::kMissing);
}

TEST_F(MemcachedClientTest, OnlyTheVersionThatWasSeenIsChanged) {
  Start();
  Run({Command::Kind::kAdd, "k", "one", kLongTime});
  const uint64_t first = Run({Command::Kind::kGet, "k"}).version;
  EXPECT_EQ(Run({Command::Kind::kSwap, "k", "two", kLongTime, first}).kind, ReplyKind::kDone);
  EXPECT_EQ(Run({Command::Kind::kSwap, "k", "three", kLongTime, first}).kind, ReplyKind::kRefused);
  EXPECT_EQ(Run({Command::Kind::kDrop, "k", {}, {}, first}).kind, ReplyKind::kRefused);
  const MemcachedReply second = Run({Command::Kind::kGet, "k"});
  EXPECT_EQ(second.value, "two");
  EXPECT_EQ(Run({Command::Kind::kDrop, "k", {}, {}, second.version}).kind, ReplyKind::kDone);
  EXPECT_EQ(Run({Command::Kind::kDrop, "k", {}, {}, second.version}).kind, ReplyKind::kMissing);
  EXPECT_EQ(Run({Command::Kind::kSwap, "k", "four", kLongTime, second.version}).kind,
            ReplyKind::kMissing);
}

TEST_F(MemcachedClientTest, ManyGoInOneRoundTripAndComeBackInTheirOrder) {
  Start();
  std::vector<std::string> keys;
  std::vector<Command> commands;
  for (int i = 0; i < 50; i++) {
    keys.push_back("k" + std::to_string(i));
  }
  for (const std::string& key : keys) {
    commands.push_back({Command::Kind::kAdd, key, key, kLongTime});
    commands.push_back({Command::Kind::kGet, key});
  }
  const auto replies = client_->Run(commands);
  ASSERT_TRUE(replies.has_value()) << ToString(replies.error());
  for (size_t i = 0; i < keys.size(); i++) {
    EXPECT_EQ((*replies)[2 * i].kind, ReplyKind::kDone);
    EXPECT_EQ((*replies)[2 * i + 1].value, keys[i]);
  }
}

TEST_F(MemcachedClientTest, ALateAnswerIsNotTakenForThatOfTheNextCall) {
  Start();
  Run({Command::Kind::kAdd, "a", "of a", kLongTime});
  Run({Command::Kind::kAdd, "b", "of b", kLongTime});
  TcpProxy network(server_->port());
  client_ = *MemcachedClient::Open({.host = "127.0.0.1", .port = network.port()}, kShort, 1);
  network.Set(TcpProxy::Mode::kHoldReplies);
  const auto silent = client_->Run({Command::Kind::kGet, "a"});
  ASSERT_FALSE(silent.has_value());
  EXPECT_EQ(silent.error().code, Code::kTimeout);
  EXPECT_EQ(silent.error().effect, Effect::kUnknown);
  const uint64_t said = network.said();
  std::jthread goes_on([&] {
    EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] { return network.said() > said; }));
    network.Set(TcpProxy::Mode::kPass);  // with the late answer first
  });
  EXPECT_EQ(Run({Command::Kind::kGet, "b"}).value, "of b");
}

TEST_F(MemcachedClientTest, TheFirstCallAfterTheServerCameBackIsAnswered) {
  Start();
  Run({Command::Kind::kAdd, "k", "v", kLongTime});
  server_->Kill9();
  const auto gone = client_->Run({Command::Kind::kGet, "k"});
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error().code, Code::kUnavailable);
  EXPECT_EQ(gone.error().effect, Effect::kNone);
  server_->Restart();
  EXPECT_EQ(Run({Command::Kind::kAdd, "k", "v", kLongTime}).kind, ReplyKind::kDone);
  server_->Kill9();
  server_->Restart();
  EXPECT_EQ(Run({Command::Kind::kGet, "k"}).kind, ReplyKind::kMissing) << "the old line is closed";
}

TEST_F(MemcachedClientTest, ANetworkThatFallsSilentEndsTheCallInTime) {
  server_ = MemcachedServer::Start();
  TcpProxy network(server_->port());
  const auto client = MemcachedClient::Open({.host = "127.0.0.1", .port = network.port()}, kShort);
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  ASSERT_TRUE((*client)->Run({Command::Kind::kAdd, "k", "v", kLongTime}).has_value());
  network.Set(TcpProxy::Mode::kSilent);
  const auto silent = (*client)->Run({Command::Kind::kGet, "k"});
  ASSERT_FALSE(silent.has_value());
  EXPECT_EQ(silent.error().code, Code::kTimeout);
  network.Set(TcpProxy::Mode::kPass);
  EXPECT_TRUE((*client)->Run({Command::Kind::kGet, "k"}).has_value());
}

TEST_F(MemcachedClientTest, AServerOfSomethingElseIsToldApart) {
  Start();
  EXPECT_FALSE(client_->Version()->empty());
  EXPECT_EQ(client_->Settings()->at("evictions"), "off");
  EXPECT_FALSE(MemcachedClient::Open({.host = "", .port = 1}).has_value());
}

}  // namespace
}  // namespace oncemq::testing
