// SPDX-License-Identifier: Apache-2.0
// The client of a ZooKeeper that hangs, dies, comes back, and ends sessions.
#include "oncemq/clients/zookeeper_session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "support/eventually.h"
#include "support/tcp_proxy.h"
#include "support/zookeeper_server.h"

namespace oncemq::testing {
namespace {

using Call = ZooKeeperCall;
using Reply = ZooKeeperReply;

constexpr std::chrono::seconds kSoon{30};
constexpr ZooKeeperTimes kPatient{.call = milliseconds(20'000)};

class ZooKeeperSessionTest : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_ZOOKEEPER(); }

  static ZooKeeperServer& Server() {
    static const auto server = ZooKeeperServer::Start();
    return *server;
  }
  std::unique_ptr<ZooKeeperSession> Started(const std::string& url,
                                            const ZooKeeperTimes& times = kPatient) {
    const auto endpoint = ParseZooKeeperEndpoint(url);
    EXPECT_TRUE(endpoint.has_value()) << ToString(endpoint.error());
    auto session = ZooKeeperSession::Start(*endpoint, times,
                                           {[this](std::string_view path) {
                                              const std::scoped_lock lock(mutex_);
                                              changed_.emplace(path);
                                            },
                                            [this] { ends_++; }});
    EXPECT_TRUE(session.has_value()) << ToString(session.error());
    const Status connected = (*session)->Connected(std::chrono::seconds(30));
    EXPECT_TRUE(connected.has_value()) << ToString(connected.error());
    return *std::move(session);
  }
  static Reply One(ZooKeeperSession& session, const Call& call) {
    const auto replies = session.Run({&call, 1});
    EXPECT_TRUE(replies.has_value()) << ToString(replies.error());
    return replies ? replies->front() : Reply{};
  }
  bool Heard(const std::string& path) {
    const std::scoped_lock lock(mutex_);
    return changed_.contains(path);
  }
  std::string url() { return Server().url(); }

  std::mutex mutex_;
  std::set<std::string> changed_;
  std::atomic<int> ends_{0};
};

TEST_F(ZooKeeperSessionTest, ANodeIsMadeReadWrittenAndDeletedByItsVersion) {
  const auto session = Started(url());
  const std::string bytes("\0\xff/", 3);
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kCreate, .path = "/a", .data = bytes}).kind,
            Reply::Kind::kDone);
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kCreate, .path = "/a"}).kind, Reply::Kind::kExists);
  const Reply read = One(*session, {.kind = Call::Kind::kGet, .path = "/a"});
  EXPECT_EQ(read.data, bytes);
  EXPECT_GT(read.stat.created, 0u);
  EXPECT_EQ(read.stat.version, 0);
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kSet, .path = "/a", .data = "", .version = 0}).kind,
            Reply::Kind::kDone);
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kDelete, .path = "/a", .version = 0}).kind,
            Reply::Kind::kBadVersion);
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kDelete, .path = "/a"}).kind, Reply::Kind::kDone);
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kExists, .path = "/a"}).kind, Reply::Kind::kNoNode);
}

TEST_F(ZooKeeperSessionTest, OfAMultiAllStepsAreDoneOrNone) {
  const auto session = Started(url());
  Call all{.kind = Call::Kind::kMulti};
  all.steps.push_back({.kind = Call::Kind::kCreate, .path = "/m"});
  all.steps.push_back(
      {.kind = Call::Kind::kCreate, .path = "/m/x-", .mode = Call::Mode::kEphemeralSequential});
  all.steps.push_back({.kind = Call::Kind::kCheck, .path = "/nowhere"});
  const Reply refused = One(*session, all);
  EXPECT_EQ(refused.kind, Reply::Kind::kNoNode);
  EXPECT_EQ(refused.step, 2u);
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kExists, .path = "/m"}).kind, Reply::Kind::kNoNode);
  all.steps.back() = {.kind = Call::Kind::kSet, .path = "/m"};
  const Reply done = One(*session, all);
  EXPECT_EQ(done.kind, Reply::Kind::kDone);
  const Reply children = One(*session, {.kind = Call::Kind::kChildren, .path = "/m"});
  ASSERT_EQ(children.children.size(), 1u);
  EXPECT_EQ(children.stat.children, 1);
  const std::string node = "/m/" + children.children[0];
  const Reply made = One(*session, {.kind = Call::Kind::kExists, .path = node});
  EXPECT_EQ(done.made, node);
  EXPECT_EQ(done.stat.changed, made.stat.created) << "one transaction has one number";
  EXPECT_EQ(done.stat.children, 1);
  EXPECT_EQ(made.stat.created, children.stat.children_changed);
  EXPECT_EQ(children.stat.children_changes, 1u);
  EXPECT_EQ(made.stat.owner, session->id());
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kDelete, .path = "/m"}).kind,
            Reply::Kind::kNotEmpty);
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kDelete, .path = node}).kind, Reply::Kind::kDone);
  EXPECT_EQ(One(*session, {.path = "/m"}).stat.children_changes, 2u) << "one came and went";
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kDelete, .path = "/m"}).kind, Reply::Kind::kDone);
}

TEST_F(ZooKeeperSessionTest, AContainerGoesByItselfAndIsNoStep) {
  const auto session = Started(url());
  const Call container{.kind = Call::Kind::kCreate, .path = "/box", .mode = Call::Mode::kContainer};
  EXPECT_EQ(One(*session, container).kind, Reply::Kind::kDone);
  const Call child{.kind = Call::Kind::kCreate, .path = "/box/x", .mode = Call::Mode::kEphemeral};
  EXPECT_EQ(One(*session, child).kind, Reply::Kind::kDone);
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kDelete, .path = "/box/x"}).kind,
            Reply::Kind::kDone);
  EXPECT_TRUE(Eventually(
      kSoon, [&] { return One(*session, {.path = "/box"}).kind == Reply::Kind::kNoNode; }));
  const Call all{.kind = Call::Kind::kMulti, .steps = {container}};
  const auto refused = session->Run({&all, 1});
  ASSERT_FALSE(refused.has_value()) << "the C client would not understand the answer";
  EXPECT_EQ(refused.error().code, Code::kInvalid);
}

TEST_F(ZooKeeperSessionTest, AWatchedNodeIsHeardOfWhenItGoes) {
  const auto session = Started(url());
  const auto other = Started(url());
  One(*session, {.kind = Call::Kind::kCreate, .path = "/w", .mode = Call::Mode::kEphemeral});
  One(*other, {.kind = Call::Kind::kGet, .path = "/w", .watch = true});
  EXPECT_FALSE(Heard("/w"));
  One(*session, {.kind = Call::Kind::kDelete, .path = "/w"});
  EXPECT_TRUE(Eventually(kSoon, [&] { return Heard("/w"); }));
}

TEST_F(ZooKeeperSessionTest, WhatIsUnderAChrootIsNamedWithoutIt) {
  const auto plain = Started(url());
  One(*plain, {.kind = Call::Kind::kCreate, .path = "/tenant"});
  const auto session = Started(url() + "/tenant");
  EXPECT_EQ(One(*session, {.kind = Call::Kind::kExists, .path = "/"}).kind, Reply::Kind::kDone);
  One(*session, {.kind = Call::Kind::kCreate, .path = "/c"});
  One(*session, {.kind = Call::Kind::kGet, .path = "/c", .watch = true});
  EXPECT_EQ(One(*plain, {.kind = Call::Kind::kDelete, .path = "/tenant/c"}).kind,
            Reply::Kind::kDone);
  EXPECT_TRUE(Eventually(kSoon, [&] { return Heard("/c"); }));
}

TEST_F(ZooKeeperSessionTest, WhatAUserMadeIsNotForOthers) {
  const std::string address = url().substr(std::string("zookeeper://").size());
  const auto owner = Started("zookeeper://app:secret@" + address);
  EXPECT_EQ(One(*owner, {.kind = Call::Kind::kCreate, .path = "/own"}).kind, Reply::Kind::kDone);
  EXPECT_EQ(One(*owner, {.kind = Call::Kind::kGet, .path = "/own"}).kind, Reply::Kind::kDone);
  for (const std::string& who : {std::string(), std::string("app:wrong@")}) {
    const auto other = Started("zookeeper://" + who + address);
    const Call get{.kind = Call::Kind::kGet, .path = "/own"};
    const auto read = other->Run({&get, 1});
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, Code::kInvalid);
    EXPECT_EQ(read.error().effect, Effect::kNone);
  }
  One(*owner, {.kind = Call::Kind::kDelete, .path = "/own"});
}

TEST_F(ZooKeeperSessionTest, AServerThatHangsIsWaitedForInBoundedTime) {
  TcpProxy proxy(Server().port());
  const auto session = Started("zookeeper://127.0.0.1:" + std::to_string(proxy.port()),
                               {.call = milliseconds(200), .session = milliseconds(20'000)});
  proxy.Set(TcpProxy::Mode::kSilent);
  const Call exists{.path = "/"};
  const auto answer = session->Run({&exists, 1});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kTimeout);
  EXPECT_EQ(answer.error().effect, Effect::kUnknown);
  proxy.Set(TcpProxy::Mode::kPass);
  EXPECT_TRUE(Eventually(kSoon, [&] { return session->Run({&exists, 1}).has_value(); }));
}

TEST_F(ZooKeeperSessionTest, ASessionOutlivesItsServer) {
  const auto server = ZooKeeperServer::Start();
  TcpProxy network(server->port());
  const auto session = Started("zookeeper://127.0.0.1:" + std::to_string(network.port()),
                               {.call = milliseconds(3'000), .session = milliseconds(100'000)});
  One(*session, {.kind = Call::Kind::kCreate, .path = "/e", .mode = Call::Mode::kEphemeral});
  const uint64_t id = session->id();
  const LoopbackPort nobody;  // who comes too early may be left without an answer
  network.PointTo(nobody.number());
  server->Kill9();
  const Call exists{.path = "/e"};
  EXPECT_TRUE(Eventually(kSoon, [&] { return !session->Run({&exists, 1}).has_value(); }));
  server->Restart();
  network.PointTo(server->port());
  EXPECT_TRUE(Eventually(kSoon, [&] { return session->Run({&exists, 1}).has_value(); }));
  EXPECT_EQ(One(*session, exists).kind, Reply::Kind::kDone) << "it is ephemeral, and we live";
  EXPECT_EQ(session->id(), id);
}

TEST_F(ZooKeeperSessionTest, ASessionThatTheServerEndedIsOverForGood) {
  TcpProxy proxy(Server().port());
  const auto session = Started("zookeeper://127.0.0.1:" + std::to_string(proxy.port()),
                               {.call = milliseconds(3'000), .session = milliseconds(4'000)});
  const auto other = Started(url());
  One(*session, {.kind = Call::Kind::kCreate, .path = "/gone", .mode = Call::Mode::kEphemeral});
  proxy.Set(TcpProxy::Mode::kSilent);
  const Call exists{.path = "/gone"};
  EXPECT_TRUE(Eventually(kSoon, [&] { return One(*other, exists).kind == Reply::Kind::kNoNode; }));
  EXPECT_FALSE(session->ended()) << "it cannot know";
  proxy.Set(TcpProxy::Mode::kPass);
  EXPECT_TRUE(Eventually(kSoon, [&] { return session->ended(); }));
  EXPECT_TRUE(Eventually(kSoon, [&] { return ends_ == 1; })) << "it is told a moment later";
  const auto answer = session->Run({&exists, 1});
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
}

TEST_F(ZooKeeperSessionTest, AnEndIsBoundedWhenTheServerHangs) {
  TcpProxy proxy(Server().port());
  auto session = Started("zookeeper://127.0.0.1:" + std::to_string(proxy.port()));
  proxy.Set(TcpProxy::Mode::kSilent);
  std::atomic<bool> answered{false};
  session->Send({.path = "/"}, [&](const Result<Reply>& reply) { answered = !reply.has_value(); });
  const BootTime began = SystemClock::Instance().Boot();
  session.reset();
  EXPECT_LT(SystemClock::Instance().Boot() - began, std::chrono::seconds(20));
  EXPECT_TRUE(answered) << "what was under way is told that it failed";
}

TEST_F(ZooKeeperSessionTest, WhereNobodyListensThereIsNoConnection) {
  const LoopbackPort nobody;
  const auto endpoint = ParseZooKeeperEndpoint("zookeeper://app:hidden@" + nobody.address());
  const auto session = ZooKeeperSession::Start(*endpoint, {}, {[](std::string_view) {}, [] {}});
  ASSERT_TRUE(session.has_value()) << ToString(session.error());
  const Status connected = (*session)->Connected(milliseconds(100));
  ASSERT_FALSE(connected.has_value());
  EXPECT_EQ(connected.error().code, Code::kUnavailable);
  EXPECT_EQ(connected.error().effect, Effect::kNone);
  EXPECT_EQ(connected.error().message.find("hidden"), std::string::npos);
}

}  // namespace
}  // namespace oncemq::testing
