// SPDX-License-Identifier: Apache-2.0
// Locks in a ZooKeeper that hangs, dies, comes back, ends sessions and loses answers.
#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "zookeeper_locks_fixture.h"

namespace oncemq::testing {
namespace {

// Longer than any server takes to come back. Calls fail meanwhile.
constexpr milliseconds kSession{100'000};
constexpr milliseconds kMeanwhile{5'000};

TEST_F(ZooKeeperLocksTest, AHolderWhoseSessionEndedIsFollowedAndLearnsIt) {
  TcpProxy proxy(Server().port());
  const Locks cut = OpenLocks(Through(proxy), milliseconds(6'000), kInVain);
  const Locks other = OpenLocks();
  const AcquireRequest mine = RequestOf(1, "x", milliseconds(4'400));
  ASSERT_EQ(AnswerKind(*cut, mine), Kind::kGranted);
  ASSERT_EQ(AnswerKind(*other, RequestOf(2, "x", kLong)), Kind::kQueued);
  proxy.Set(TcpProxy::Mode::kSilent);
  const auto unknown = Extend(*cut, mine);
  ASSERT_FALSE(unknown.has_value()) << "it cannot know";
  EXPECT_TRUE(other->Await(RequestOf(2), SystemClock::Instance().Boot() + kLong, {}));
  EXPECT_EQ(AnswerKind(*other, RequestOf(2, "x", kLong)), Kind::kGranted);
  proxy.Set(TcpProxy::Mode::kPass);
  EXPECT_EQ(ExtendSoon(*cut, mine), Extended::kGone);
  EXPECT_TRUE(Eventually(kSoon, [&] { return Free(*cut, mine).has_value(); }));
  EXPECT_TRUE(Granted(*cut, RequestOf(3, "y", milliseconds(4'400)))) << "in another session";
  EXPECT_EQ(*Extend(*other, RequestOf(2)), Extended::kYes);
}

// What it is told must not hang on the next session, which has no length before it is connected.
TEST_F(ZooKeeperLocksTest, AHolderLearnsThatItsSessionEndedThoughNoOtherOneConnects) {
  TcpProxy network(Server().port());
  const Locks locks = OpenLocks(Through(network), kSession, kInVain);
  const AcquireRequest mine = RequestOf(1, "x", kLong);
  ASSERT_EQ(AnswerKind(*locks, mine), Kind::kGranted);
  ASSERT_NO_FATAL_FAILURE(EndSessionOf("x", network));
  ASSERT_EQ(ExtendSoon(*locks, mine), Extended::kGone);
  const LoopbackPort nobody;
  network.PointTo(nobody.number());
  ASSERT_FALSE(locks->Request(RequestOf(2)).has_value()) << "in a session that has not begun";
  const auto gone = Extend(*locks, mine);
  ASSERT_TRUE(gone.has_value()) << ToString(gone.error());
  EXPECT_EQ(*gone, Extended::kGone);
}

TEST_F(ZooKeeperLocksTest, AProcessThatIsPausedIsFollowedAndLearnsIt) {
  const TempDir dir;
  const auto said = [file = dir.path() / "said"] {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  Process holder({.command = {ONCEMQ_ZOOKEEPER_HOLDER, Server().url(), "paused"},
                  .log_file = dir.path() / "said"});
  ASSERT_TRUE(Eventually(kSoon, [&] { return said() == "held\n"; }));
  const auto locks = OpenZooKeeperLocks(Server().url(), {.call = kCall});
  ASSERT_TRUE(locks.has_value());
  EXPECT_EQ(AnswerKind(**locks, RequestOf(1, "paused")), Kind::kQueued);
  holder.Pause();
  EXPECT_TRUE(Granted(**locks, RequestOf(1, "paused", milliseconds(20'000))));
  holder.Continue();
  EXPECT_EQ(holder.Wait(kSoon), 0);
  EXPECT_TRUE(said().ends_with("lost\n")) << said();
}

TEST_F(ZooKeeperLocksTest, AProcessThatIsKilledIsFollowed) {
  const TempDir dir;
  Process holder({.command = {ONCEMQ_ZOOKEEPER_HOLDER, Server().url(), "killed"},
                  .log_file = dir.path() / "said"});
  const auto locks = OpenZooKeeperLocks(Server().url(), {.call = kCall});
  ASSERT_TRUE(locks.has_value());
  ASSERT_TRUE(Eventually(kSoon, [&] { return Parties(**locks, "killed") == 1; }));
  EXPECT_EQ(AnswerKind(**locks, RequestOf(1, "killed", milliseconds(20'000))), Kind::kQueued);
  holder.Kill9();
  EXPECT_TRUE((*locks)->Await(RequestOf(1, "killed"), SystemClock::Instance().Boot() + kLong, {}));
  EXPECT_EQ(AnswerKind(**locks, RequestOf(1, "killed")), Kind::kGranted);
}

// Curator #1121: what a dying session left has our token, and is not ours.
TEST_F(ZooKeeperLocksTest, WhatAnotherSessionLeftIsNotAdopted) {
  const Locks former = OpenLocks();
  const Locks next = OpenLocks();
  ASSERT_EQ(AnswerKind(*former, RequestOf(1, "x", kLong)), Kind::kGranted);
  EXPECT_EQ(AnswerKind(*next, RequestOf(1, "x", kLong)), Kind::kQueued);
  EXPECT_EQ(Parties(*next), 2u);
  EXPECT_EQ(*Free(*former, RequestOf(1)), Freed::kYes);
  EXPECT_EQ(AnswerKind(*next, RequestOf(1, "x", kLong)), Kind::kGranted);
}

TEST_F(ZooKeeperLocksTest, HoldsAndPlacesOutliveTheirServer) {
  const auto server = ZooKeeperServer::Start();
  TcpProxy network(server->port());
  const Locks locks = OpenLocks(Through(network), kSession, kMeanwhile);
  const AcquireRequest holder = RequestOf(1, "x", kLong);
  const AcquireRequest waiter = RequestOf(2, "x", kLong);
  const auto granted = locks->Request(holder);
  ASSERT_TRUE(granted.has_value());
  ASSERT_EQ(AnswerKind(*locks, waiter), Kind::kQueued);
  const LoopbackPort nobody;  // who comes too early may be left without an answer
  network.PointTo(nobody.number());
  server->Kill9();
  EXPECT_FALSE(Extend(*locks, holder).has_value());
  server->Restart();
  network.PointTo(server->port());
  EXPECT_EQ(ExtendSoon(*locks, holder), Extended::kYes);
  const auto again = locks->Request(holder);
  ASSERT_TRUE(again.has_value()) << ToString(again.error());
  EXPECT_EQ(again->fence, granted->fence);
  EXPECT_EQ(*Free(*locks, holder), Freed::kYes);
  EXPECT_TRUE(locks->Await(waiter, SystemClock::Instance().Boot() + kLong, {}))
      << "the client watches again";
  const auto next = locks->Request(waiter);
  ASSERT_TRUE(next.has_value() && next->kind == Kind::kGranted);
  EXPECT_GT(next->fence, granted->fence);
}

// The list was made while somebody was ahead, and comes when that one has gone: there is nothing
// to watch.
TEST_F(ZooKeeperLocksTest, AListThatNamesSomebodyWhoIsGoneCostsNoTurn) {
  TcpProxy network(Server().port());
  const auto late = OpenZooKeeperLocks(
      Through(network),
      {.space = Space(), .call = milliseconds(20'000), .session = milliseconds(100'000)});
  ASSERT_TRUE(late.has_value()) << ToString(late.error());
  const Locks other = OpenLocks();
  ASSERT_EQ(AnswerKind(**late, RequestOf(1'000)), Kind::kGranted);  // the way there is known
  ASSERT_EQ(*Free(**late, RequestOf(1'000)), Freed::kYes);
  for (uint64_t round = 1; round <= 5 && !HasFailure(); round++) {
    const AcquireRequest ahead = RequestOf(2 * round);
    const AcquireRequest behind = RequestOf(2 * round + 1);
    ASSERT_EQ(AnswerKind(*other, ahead), Kind::kGranted);
    ASSERT_EQ(AnswerKind(**late, behind), Kind::kQueued);
    const uint64_t said = network.said();
    network.Set(TcpProxy::Mode::kHoldReplies);
    std::jthread requests([&] { EXPECT_EQ(AnswerKind(**late, behind), Kind::kGranted); });
    EXPECT_TRUE(Eventually(kSoon, [&] { return network.said() > said; }));
    EXPECT_EQ(*Free(*other, ahead), Freed::kYes);
    network.Set(TcpProxy::Mode::kPass);
    requests.join();
    EXPECT_EQ(*Free(**late, behind), Freed::kYes);
  }
}

class ZooKeeperLostAnswersTest : public ZooKeeperLocksTest {
 protected:
  static constexpr milliseconds kLasts{12'000};

  void SetUp() override {
    ZooKeeperLocksTest::SetUp();
    if (IsSkipped() || HasFailure()) {
      return;
    }
    proxy_ = std::make_unique<TcpProxy>(Server().port());
    locks_ = OpenLocks(Through(*proxy_), milliseconds(16'000), kInVain);
    other_ = OpenLocks();
    // The way there is known.
    ASSERT_EQ(AnswerKind(*locks_, RequestOf(99, "x", kLasts)), Kind::kGranted);
    ASSERT_EQ(*Free(*locks_, RequestOf(99)), Freed::kYes);
  }
  // The node of the request is there, and we do not know.
  void LoseTheAnswer(const AcquireRequest& request) {
    proxy_->Set(TcpProxy::Mode::kSwallowReplies);
    const auto lost = locks_->Request(request);
    ASSERT_FALSE(lost.has_value());
    EXPECT_EQ(lost.error().effect, Effect::kUnknown);
    ASSERT_EQ(Parties(*other_), 1u);
    proxy_->Set(TcpProxy::Mode::kPass);
  }

  std::unique_ptr<TcpProxy> proxy_;
  Locks locks_;
  Locks other_;
};

TEST_F(ZooKeeperLostAnswersTest, AnAskIsFoundAgainAndNeverDoubled) {
  const AcquireRequest request = RequestOf(1, "x", kLasts);
  LoseTheAnswer(request);
  EXPECT_TRUE(Granted(*locks_, request));
  EXPECT_EQ(Parties(*other_), 1u);
  EXPECT_EQ(*Free(*locks_, request), Freed::kYes);
  EXPECT_EQ(Parties(*other_), 0u);
}

TEST_F(ZooKeeperLostAnswersTest, AnAskThatIsGivenUpLeavesNothing) {
  const AcquireRequest request = RequestOf(1, "x", kLasts);
  LoseTheAnswer(request);
  EXPECT_TRUE(Eventually(kSoon, [&] { return Free(*locks_, request).has_value(); }));
  EXPECT_EQ(Parties(*other_), 0u);
}

TEST_F(ZooKeeperLostAnswersTest, AnAskOfWhichNobodyHearsAgainEndsByItself) {
  LoseTheAnswer(RequestOf(1, "x", milliseconds(300)));
  EXPECT_TRUE(Granted(*other_, RequestOf(2, "x", kLong)));
}

// Its node is made, and what is read behind that fails, which by itself changes nothing.
TEST_F(ZooKeeperLostAnswersTest, AnAskThatFailsBehindItsNodeSaysThatOneMayBeThere) {
  const AcquireRequest request = RequestOf(1, "x", kLasts);
  const AcquireRequest waiter = RequestOf(2, "x", kLasts);
  // Its name, once the store has numbered it: two claims were made before.
  ASSERT_TRUE(Granted(*locks_, request));
  proxy_->CutInsteadOf("-0000000000000003-0");  // which the waiter watches
  const auto queued = locks_->Request(waiter);
  ASSERT_FALSE(queued.has_value());
  EXPECT_EQ(queued.error().effect, Effect::kUnknown);
  EXPECT_EQ(Parties(*other_), 2u);
}

// Curator #1193: a release that failed leaves its node, and all who come wait for ever.
TEST_F(ZooKeeperLocksTest, AReleaseThatFailedIsMadeInTheEnd) {
  const auto server = ZooKeeperServer::Start();
  TcpProxy network(server->port());
  const Locks locks = OpenLocks(Through(network), kSession, kMeanwhile);
  const Locks other = OpenLocks(Through(network), kSession, kMeanwhile);
  ASSERT_EQ(AnswerKind(*locks, RequestOf(1, "x", kLong)), Kind::kGranted);
  ASSERT_EQ(AnswerKind(*other, RequestOf(2, "x", kLong)), Kind::kQueued);
  const LoopbackPort nobody;
  network.PointTo(nobody.number());
  server->Kill9();
  ASSERT_FALSE(locks->Seal(0).has_value());  // so nothing is sent any more
  const auto freed = Free(*locks, RequestOf(1));
  ASSERT_FALSE(freed.has_value());
  EXPECT_EQ(freed.error().effect, Effect::kUnknown) << "the hold ended here";
  server->Restart();
  network.PointTo(server->port());
  EXPECT_TRUE(Granted(*other, RequestOf(2, "x", kLong))) << "nobody asked for it again";
}

TEST_F(ZooKeeperLocksTest, AnEngineEndsInBoundedTimeWhenTheServerHangs) {
  TcpProxy proxy(Server().port());
  Locks locks = OpenLocks(Through(proxy), kSession, kInVain);
  ASSERT_EQ(AnswerKind(*locks, RequestOf(1)), Kind::kGranted);
  proxy.Set(TcpProxy::Mode::kSilent);
  const BootTime began = SystemClock::Instance().Boot();
  locks.reset();
  EXPECT_LT(SystemClock::Instance().Boot() - began, std::chrono::seconds(20));
}

TEST_F(ZooKeeperLocksTest, AHolderIsToldInTimeWhenTheServerHangs) {
  const auto server = ZooKeeperServer::Start();
  const Locks locks = OpenLocks(server->url());
  const auto domain = LockDomain::Open(locks, {.lease = milliseconds(500)});
  auto lease = (*domain)->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  server->process().Pause();
  std::atomic<bool> told{false};
  const std::stop_callback on_stop((*lease)->stop(), [&] {
    told = true;
    told.notify_all();
  });
  told.wait(false);
  EXPECT_EQ((*lease)->lost(), LeaseLoss::kDeadline);
  server->process().Continue();
  EXPECT_TRUE(Eventually(kSoon, [&] {
    const auto again = (*domain)->TryAcquire("x");
    return again && *again;
  })) << "though the server keeps the session";
}

}  // namespace
}  // namespace oncemq::testing
