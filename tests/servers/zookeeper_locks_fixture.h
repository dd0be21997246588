// SPDX-License-Identifier: Apache-2.0
// Engines over one ZooKeeper for all tests of a program, and a space for each test.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "oncemq/clients/zookeeper_session.h"
#include "oncemq/locks/zookeeper_locks.h"
#include "support/eventually.h"
#include "support/tcp_proxy.h"
#include "support/zookeeper_server.h"
#include "support/zookeeper_session_end.h"
#include "zookeeper_nodes.h"

namespace oncemq::testing {

using Kind = LockAnswer::Kind;
using Locks = std::shared_ptr<LockEngine>;

inline constexpr std::chrono::seconds kSoon{45};
inline constexpr milliseconds kLong{60'000};
// One question and its answer: where a server answers, and where none will.
inline constexpr milliseconds kCall{20'000};
inline constexpr milliseconds kInVain{2'500};

inline AcquireRequest RequestOf(uint64_t who, std::string_view name = "x",
                                milliseconds lasts = milliseconds(20'000)) {
  return {
      .name = name, .token = {0xC0DE, who}, .lease = lasts, .queue_lease = lasts, .who = "a test"};
}

class ZooKeeperLocksTest : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_ZOOKEEPER(); }

  static ZooKeeperServer& Server() {
    static const auto server = ZooKeeperServer::Start();
    return *server;
  }
  static std::string Through(const TcpProxy& proxy) {
    return "zookeeper://127.0.0.1:" + std::to_string(proxy.port());
  }
  // A space for each test, so that they have nothing to do with each other.
  static std::string Space() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  static Locks OpenLocks(const std::string& url, milliseconds session = milliseconds(100'000),
                         milliseconds call = kCall) {
    auto locks = OpenZooKeeperLocks(
        url, {.space = Space(), .connect = milliseconds(30'000), .call = call, .session = session});
    EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    return locks ? *std::move(locks) : nullptr;
  }
  static Locks OpenLocks() { return OpenLocks(Server().url()); }

  static Kind AnswerKind(LockEngine& locks, const AcquireRequest& request) {
    const auto answer = locks.Request(request);
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer ? answer->kind : Kind::kBusy;
  }
  static Result<Extended> Extend(LockEngine& locks, const AcquireRequest& request) {
    const LockClaim claim{request.name, request.token, request.lease};
    Extended answer{};
    const Status done = locks.Extend({&claim, 1}, {&answer, 1});
    return done ? Result(answer) : done.error();
  }
  // Once the store answers.
  static Extended ExtendSoon(LockEngine& locks, const AcquireRequest& request) {
    Result<Extended> last = Extended::kGone;
    EXPECT_TRUE(Eventually(kSoon, [&] {
      last = Extend(locks, request);
      return last.has_value();
    })) << ToString(last.error());
    return last.value_or(Extended::kGone);
  }
  static Result<Freed> Free(LockEngine& locks, const AcquireRequest& request) {
    const LockClaim claim{request.name, request.token};
    Freed answer{};
    const Status done = locks.Free({&claim, 1}, {&answer, 1});
    return done ? Result(answer) : done.error();
  }
  static size_t Parties(LockEngine& locks, std::string_view name = "x") {
    const auto view = locks.Read(name);
    EXPECT_TRUE(view.has_value()) << ToString(view.error());
    return view ? view->parties.size() : 99;
  }
  static bool Granted(LockEngine& locks, const AcquireRequest& request) {
    return Eventually(kSoon, [&] {
      const auto answer = locks.Request(request);
      return answer && answer->kind == Kind::kGranted;
    });
  }
  // The servers end the session of whoever is first there for this name, which hears of it once
  // `network` is asked for another connection.
  static void EndSessionOf(std::string_view name, TcpProxy& network) {
    const auto children = Run(*Raw(), {.kind = ZooKeeperCall::Kind::kChildren,
                                       .path = ZooKeeperPaths(Space()).Name(name)})
                              .children;
    const auto queue = QueueOf(children);
    ASSERT_FALSE(queue.empty());
    EndSession(queue.front().session, network);
  }
  // Its owner would take it back while it is being closed, and the server leave it unanswered.
  static void EndSession(uint64_t id, TcpProxy& network) {
    network.Set(TcpProxy::Mode::kSilent);
    ASSERT_TRUE(EndZooKeeperSession(Server().port(), id, std::chrono::seconds(10)));
    network.Set(TcpProxy::Mode::kPass);
  }
  // A look behind the engine.
  static std::unique_ptr<ZooKeeperSession> Raw() { return Raw(Server().url()); }
  static std::unique_ptr<ZooKeeperSession> Raw(const std::string& url) {
    auto session = ZooKeeperSession::Start(*ParseZooKeeperEndpoint(url), {.call = kCall},
                                           {[](std::string_view) {}, [] {}});
    EXPECT_TRUE((*session)->Connected(milliseconds(30'000)));
    return *std::move(session);
  }
  static ZooKeeperReply Run(ZooKeeperSession& session, const ZooKeeperCall& call) {
    const auto replies = session.Run({&call, 1});
    EXPECT_TRUE(replies.has_value()) << ToString(replies.error());
    return replies ? replies->front() : ZooKeeperReply{};
  }
};

}  // namespace oncemq::testing
