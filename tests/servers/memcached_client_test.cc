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
using Kind = MemcachedReply::Kind;

constexpr std::chrono::seconds kLong{600};
constexpr MemcachedTimes kPatient{milliseconds(20'000), milliseconds(20'000)};
// Of calls that end by it. Enough for those that are to be answered, on a slow machine.
constexpr MemcachedTimes kShort{milliseconds(3'000), milliseconds(3'000)};

class MemcachedClientTest : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_MEMCACHED(); }

  void Start(const MemcachedTimes& times = kPatient, size_t connections = 16) {
    server_ = MemcachedServer::Start();
    auto client = MemcachedClient::Open(*ParseMemcachedPlace(server_->url()), times, connections);
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
  EXPECT_EQ(Run({Command::Kind::kAdd, "k", value, kLong}).kind, Kind::kDone);
  EXPECT_EQ(Run({Command::Kind::kAdd, "k", "other", kLong}).kind, Kind::kRefused);
  const MemcachedReply found = Run({Command::Kind::kGet, "k"});
  EXPECT_EQ(found.kind, Kind::kFound);
  EXPECT_EQ(found.value, value);
  EXPECT_GT(found.left, std::chrono::seconds(0));
  EXPECT_LE(found.left, kLong);
  EXPECT_EQ(Run({Command::Kind::kGet, "never"}).kind, Kind::kMissing);
}

TEST_F(MemcachedClientTest, OnlyTheVersionThatWasSeenIsChanged) {
  Start();
  Run({Command::Kind::kAdd, "k", "one", kLong});
  const uint64_t first = Run({Command::Kind::kGet, "k"}).version;
  EXPECT_EQ(Run({Command::Kind::kSwap, "k", "two", kLong, first}).kind, Kind::kDone);
  EXPECT_EQ(Run({Command::Kind::kSwap, "k", "three", kLong, first}).kind, Kind::kRefused);
  EXPECT_EQ(Run({Command::Kind::kDrop, "k", {}, {}, first}).kind, Kind::kRefused);
  const MemcachedReply second = Run({Command::Kind::kGet, "k"});
  EXPECT_EQ(second.value, "two");
  EXPECT_EQ(Run({Command::Kind::kDrop, "k", {}, {}, second.version}).kind, Kind::kDone);
  EXPECT_EQ(Run({Command::Kind::kDrop, "k", {}, {}, second.version}).kind, Kind::kMissing);
  EXPECT_EQ(Run({Command::Kind::kSwap, "k", "four", kLong, second.version}).kind, Kind::kMissing);
}

TEST_F(MemcachedClientTest, ManyGoInOneRoundTripAndComeBackInTheirOrder) {
  Start();
  std::vector<std::string> keys;
  std::vector<Command> commands;
  for (int i = 0; i < 50; i++) {
    keys.push_back("k" + std::to_string(i));
  }
  for (const std::string& key : keys) {
    commands.push_back({Command::Kind::kAdd, key, key, kLong});
    commands.push_back({Command::Kind::kGet, key});
  }
  const auto replies = client_->Run(commands);
  ASSERT_TRUE(replies.has_value()) << ToString(replies.error());
  for (size_t i = 0; i < keys.size(); i++) {
    EXPECT_EQ((*replies)[2 * i].kind, Kind::kDone);
    EXPECT_EQ((*replies)[2 * i + 1].value, keys[i]);
  }
}

TEST_F(MemcachedClientTest, ALateAnswerIsNotTakenForThatOfTheNextCall) {
  Start();
  Run({Command::Kind::kAdd, "a", "of a", kLong});
  Run({Command::Kind::kAdd, "b", "of b", kLong});
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
  Run({Command::Kind::kAdd, "k", "v", kLong});
  server_->Kill9();
  const auto gone = client_->Run({Command::Kind::kGet, "k"});
  ASSERT_FALSE(gone.has_value());
  EXPECT_EQ(gone.error().code, Code::kUnavailable);
  EXPECT_EQ(gone.error().effect, Effect::kNone);
  server_->Restart();
  EXPECT_EQ(Run({Command::Kind::kAdd, "k", "v", kLong}).kind, Kind::kDone);
  server_->Kill9();
  server_->Restart();
  EXPECT_EQ(Run({Command::Kind::kGet, "k"}).kind, Kind::kMissing) << "the old line is closed";
}

TEST_F(MemcachedClientTest, ANetworkThatFallsSilentEndsTheCallInTime) {
  server_ = MemcachedServer::Start();
  TcpProxy network(server_->port());
  const auto client = MemcachedClient::Open({.host = "127.0.0.1", .port = network.port()}, kShort);
  ASSERT_TRUE(client.has_value()) << ToString(client.error());
  ASSERT_TRUE((*client)->Run({Command::Kind::kAdd, "k", "v", kLong}).has_value());
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
