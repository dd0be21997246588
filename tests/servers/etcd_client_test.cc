// SPDX-License-Identifier: Apache-2.0
// The client against an etcd that is killed, paused, cut off and locked.
#include "oncemq/clients/etcd_client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/etcd_server.h"
#include "support/eventually.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

constexpr EtcdTimes kPatient{milliseconds(10'000), milliseconds(20'000)};
// Of calls that end by it. Enough for those that are to be answered, on a slow machine.
constexpr EtcdTimes kShort{milliseconds(2'000), milliseconds(3'000)};
constexpr std::chrono::seconds kLong{30};

EtcdOp Put(const std::string& key, const std::string& value, int64_t lease = 0) {
  return {.kind = EtcdOp::Kind::kPut, .key = key, .value = value, .lease = lease};
}

EtcdOp Get(const std::string& key) {
  return {.kind = EtcdOp::Kind::kRange, .key = key};
}

class EtcdClientTest : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_ETCD(); }

  static Result<std::unique_ptr<EtcdClient>> Open(const std::string& url,
                                                  const EtcdTimes& times = kPatient) {
    const auto endpoint = ParseEtcdEndpoint(url);
    EXPECT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
    return EtcdClient::Open(*endpoint, times);
  }
  static std::unique_ptr<EtcdClient> Opened(const std::string& url,
                                            const EtcdTimes& times = kPatient) {
    auto client = Open(url, times);
    EXPECT_TRUE(client.has_value()) << ToString(client.error());
    return client ? *std::move(client) : nullptr;
  }
  void StartAndOpen(const EtcdTimes& times = kPatient) {
    server_ = EtcdServer::Start();
    client_ = Opened(server_->url(), times);
  }
  static std::string Local(uint16_t port) { return "127.0.0.1:" + std::to_string(port); }
  std::vector<EtcdEntry> Entries(const std::string& key) {
    const auto answer = client_->Run(Get(key));
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer ? answer->replies.at(0).entries : std::vector<EtcdEntry>();
  }

  std::unique_ptr<EtcdServer> server_;
  std::unique_ptr<EtcdClient> client_;
};

TEST_F(EtcdClientTest, WhatIsStoredComesBackByteForByte) {
  StartAndOpen();
  const std::string key("a\0b\r\n\xff\"", 7);
  for (const std::string& value :
       {std::string(), std::string("\0", 1), std::string(5'000, '\xfe')}) {
    ASSERT_TRUE(client_->Run(Put(key, value)));
    const auto entries = Entries(key);
    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].key, key);
    EXPECT_EQ(entries[0].value, value);
  }
  EXPECT_EQ(Entries(key)[0].version, 3);
  EXPECT_TRUE(Entries("never").empty());
}

TEST_F(EtcdClientTest, ATransactionDoesOneOfBoth) {
  StartAndOpen();
  const EtcdTxn once{.if_all = {{.what = EtcdCompare::What::kVersion, .key = "a", .end = "b"}},
                     .then = {Put("a1", "x"),
                              Put("a2", "y"),
                              {.kind = EtcdOp::Kind::kRange, .key = "a", .end = "b", .limit = 1}},
                     .otherwise = {{.kind = EtcdOp::Kind::kDelete, .key = "a", .end = "b"}}};
  const auto first = client_->Run(once);
  ASSERT_TRUE(first.has_value()) << ToString(first.error());
  EXPECT_TRUE(first->succeeded);
  ASSERT_EQ(first->replies.size(), 3u);
  EXPECT_EQ(first->replies[2].entries.size(), 1u);
  EXPECT_EQ(first->replies[2].count, 2);
  const auto second = client_->Run(once);
  ASSERT_TRUE(second.has_value());
  EXPECT_FALSE(second->succeeded);
  EXPECT_EQ(second->replies.at(0).deleted, 2);
  EXPECT_GT(second->header.revision, first->header.revision);
}

TEST_F(EtcdClientTest, ALeaseTakesItsKeysAlong) {
  StartAndOpen();
  const auto lease = client_->Grant(std::chrono::seconds(60));
  ASSERT_TRUE(lease.has_value()) << ToString(lease.error());
  ASSERT_TRUE(client_->Run(Put("k", "v", lease->id)));
  EXPECT_EQ(Entries("k").at(0).lease, lease->id);
  const auto kept = client_->KeepAlive(lease->id);
  ASSERT_TRUE(kept.has_value()) << ToString(kept.error());
  EXPECT_EQ(kept->ttl, std::chrono::seconds(60));
  ASSERT_TRUE(client_->Revoke(lease->id));
  EXPECT_TRUE(Entries("k").empty());
  EXPECT_EQ(client_->KeepAlive(lease->id)->ttl, std::chrono::seconds(0));
  EXPECT_EQ(client_->Revoke(lease->id).error().code, Code::kNotFound);
  const auto late = client_->Run(Put("k", "v", lease->id));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, Code::kNotFound);
  EXPECT_EQ(late.error().effect, Effect::kNone);
}

TEST_F(EtcdClientTest, AWrongPasswordShowsAtTheStartAndIsNotRepeated) {
  StartAndOpen();
  server_->RequirePassword("right");
  const std::string address = Local(server_->port());
  EXPECT_TRUE(Opened("etcd://root:right@" + address)->Run(Put("k", "v")));
  const auto wrong = Open("etcd://root:hunter2@" + address);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Code::kInvalid);
  EXPECT_EQ(wrong.error().message.find("hunter2"), std::string::npos);
  const auto nobody = Opened(server_->url())->Run(Put("k", "v"));
  ASSERT_FALSE(nobody.has_value());
  EXPECT_EQ(nobody.error().code, Code::kInvalid);
  EXPECT_EQ(nobody.error().effect, Effect::kNone);
}

TEST_F(EtcdClientTest, ATokenThatTheServerHasForgottenIsAskedForAnew) {
  StartAndOpen();
  server_->RequirePassword("right");
  const auto client = Opened("etcd://root:right@" + Local(server_->port()));
  ASSERT_TRUE(client->Run(Put("k", "v")));
  server_->Kill9();
  server_->Restart();
  const auto again = client->Run(Get("k"));
  EXPECT_TRUE(again.has_value()) << ToString(again.error());
}

TEST_F(EtcdClientTest, AServerThatIsNotThereIsUnavailableAndNothingWasDone) {
  const LoopbackPort port;
  const auto client = Open("etcd://" + port.address());
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code, Code::kUnavailable);
  EXPECT_EQ(client.error().effect, Effect::kNone);
}

TEST_F(EtcdClientTest, TheFirstCallAfterTheServerCameBackSucceeds) {
  StartAndOpen();
  ASSERT_TRUE(client_->Run(Put("k", "v")));
  server_->Kill9();
  server_->Restart();
  EXPECT_EQ(Entries("k").size(), 1u);
}

TEST_F(EtcdClientTest, AServerThatHangsEndsACallInTimeAndWhatItDidIsNotKnown) {
  StartAndOpen(kShort);
  server_->process().Pause();
  const BootTime began = BootNow();
  const auto hung = client_->Run(Put("k", "v"));
  EXPECT_LT(BootNow() - began, kLong);
  server_->process().Continue();
  ASSERT_FALSE(hung.has_value());
  EXPECT_EQ(hung.error().code, Code::kTimeout);
  EXPECT_EQ(hung.error().effect, Effect::kUnknown);
  EXPECT_TRUE(client_->Run(Get("k")));
}

TEST_F(EtcdClientTest, ALateAnswerIsNotTakenForThatOfTheNextCall) {
  server_ = EtcdServer::Start();
  TcpProxy network(server_->port());
  client_ = Opened("etcd://" + Local(network.port()), kShort);
  network.Set(TcpProxy::Mode::kSilent);
  ASSERT_FALSE(client_->Run(Put("first", "v")));
  network.Set(TcpProxy::Mode::kPass);
  for (int i = 0; i < 20; i++) {
    const auto answer = client_->Run(Get("k"));
    ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
    EXPECT_EQ(answer->replies.at(0).count, 0);
  }
}

TEST_F(EtcdClientTest, AMemberThatIsNotThereIsPassedOver) {
  server_ = EtcdServer::Start();
  const LoopbackPort nobody;
  client_ = Opened("etcd://" + nobody.address() + "," + Local(server_->port()));
  ASSERT_NE(client_, nullptr);
  EXPECT_TRUE(client_->Run(Put("k", "v")));
}

TEST_F(EtcdClientTest, WhatMayHaveBeenDoneIsNotAskedOfAnotherMember) {
  server_ = EtcdServer::Start();
  const auto direct = Opened(server_->url());
  auto network = std::make_unique<TcpProxy>(server_->port());
  client_ = Opened("etcd://" + Local(network->port()) + "," + Local(server_->port()),
                   {milliseconds(5'000), milliseconds(20'000)});
  network->Set(TcpProxy::Mode::kSwallowReplies);
  std::optional<Error> error;
  std::jthread requests([&] {
    const auto answer = client_->Run(Put("k", "v"));
    if (!answer) {
      error = answer.error();
    }
  });
  ASSERT_TRUE(Eventually(kLong, [&] { return direct->Run(Get("k"))->replies.at(0).count == 1; }));
  network.reset();
  requests.join();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->effect, Effect::kUnknown);
  EXPECT_EQ(Entries("k").at(0).version, 1) << "the next call asks the other one";
}

TEST_F(EtcdClientTest, TooManyCallsAtATimeWaitForAConnection) {
  server_ = EtcdServer::Start();
  const auto client = EtcdClient::Open(*ParseEtcdEndpoint(server_->url()),
                                       {milliseconds(5'000), milliseconds(30'000)}, 2);
  ASSERT_TRUE(client.has_value());
  std::atomic<int> done{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; i++) {
        done += (*client)->Run(Put("k" + std::to_string(t), "v")) ? 1 : 0;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(done, 160);
}

TEST_F(EtcdClientTest, AWatchBeginsThenHearsWhatHappens) {
  StartAndOpen();
  std::vector<EtcdEvent> heard;
  const Status done =
      client_->Watch({.key = "k", .end = "l"}, BootNow() + kLong, {}, [&](const EtcdEvent& event) {
        if (event.kind == EtcdEvent::Kind::kBegun) {
          EXPECT_TRUE(client_->Run(Put("k1", "v")));
          EXPECT_TRUE(client_->Run(EtcdOp{.kind = EtcdOp::Kind::kDelete, .key = "k1"}));
        }
        heard.push_back(event);
        return event.kind != EtcdEvent::Kind::kDeleted;
      });
  EXPECT_TRUE(done.has_value()) << ToString(done.error());
  ASSERT_EQ(heard.size(), 3u);
  EXPECT_EQ(heard[1].kind, EtcdEvent::Kind::kPut);
  EXPECT_EQ(heard[1].entry.value, "v");
  EXPECT_EQ(heard[2].entry.key, "k1");
}

TEST_F(EtcdClientTest, AWatchEndsAtItsTimeAndWhenAStopIsRequestedAlsoInASilentNetwork) {
  server_ = EtcdServer::Start();
  TcpProxy network(server_->port());
  client_ = Opened("etcd://" + Local(network.port()));
  for (const auto mode : {TcpProxy::Mode::kPass, TcpProxy::Mode::kSilent}) {
    network.Set(mode);
    const BootTime until = BootNow() + milliseconds(30);
    EXPECT_TRUE(client_->Watch({.key = "k"}, until, {}, [](const EtcdEvent&) { return true; }));
    EXPECT_GE(BootNow(), until);
    std::stop_source stop;
    const BootTime began = BootNow();
    std::jthread watches([&] {
      EXPECT_TRUE(client_->Watch({.key = "k"}, began + kLong, stop.get_token(),
                                 [](const EtcdEvent&) { return true; }));
    });
    stop.request_stop();
    watches.join();
    EXPECT_LT(BootNow() - began, kLong / 2);
  }
}

TEST_F(EtcdClientTest, AWatchFailsWhenItsServerDies) {
  StartAndOpen();
  const Status done =
      client_->Watch({.key = "k"}, BootNow() + kLong, {}, [&](const EtcdEvent& event) {
        EXPECT_EQ(event.kind, EtcdEvent::Kind::kBegun);
        server_->Kill9();
        return true;
      });
  EXPECT_FALSE(done.has_value());
}

}  // namespace
}  // namespace oncemq::testing
