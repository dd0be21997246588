// SPDX-License-Identifier: Apache-2.0
// One session from within: asks in it while their calls are under way, its end, and its length.
#include <atomic>
#include <thread>

#include "oncemq/locks/hold_listeners.h"
#include "zookeeper_locks_fixture.h"
#include "zookeeper_request.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kLongestOfTheServer{200'000};

class ZooKeeperRequestsTest : public ZooKeeperLocksTest {
 protected:
  void SetUp() override {
    ZooKeeperLocksTest::SetUp();
    if (IsSkipped() || HasFailure()) {
      return;
    }
    network_ = std::make_unique<TcpProxy>(Server().port());
    life_ = Start(milliseconds(100'000));
    ASSERT_NE(life_, nullptr);
    ASSERT_TRUE(life_->Connected(kSoon));
    ASSERT_TRUE(life_->ReadSeal());
    // The container is there, and stays: so the first call of a request makes its node.
    const std::string container = life_->paths().Name("x");
    const ZooKeeperCall calls[] = {{.kind = ZooKeeperCall::Kind::kCreate, .path = container},
                                   {.kind = ZooKeeperCall::Kind::kCreate,
                                    .path = container + "/nobody's",
                                    .mode = ZooKeeperCall::Mode::kEphemeral}};
    ASSERT_TRUE(life_->Run(calls));
  }
  std::shared_ptr<ZooKeeperLockSession> Start(milliseconds session) {
    auto life = ZooKeeperLockSession::Start(*ParseZooKeeperEndpoint(Through(*network_)),
                                            {.connect = kSoon, .call = kCall, .session = session},
                                            ZooKeeperPaths(Space()), listeners_);
    EXPECT_TRUE(life.has_value()) << ToString(life.error());
    return life ? *std::move(life) : nullptr;
  }
  Result<LockAnswer> Request(const AcquireRequest& request) {
    return ZooKeeperRequest(*life_, request, 100).Run();
  }
  static bool IsGranted(const Result<LockAnswer>& answer) {
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer && answer->kind == Kind::kGranted;
  }
  // It is on its way to a server that is not there, behind the moment of its claim.
  template <class Body>
  void WhileItsCallIsUnderWay(const AcquireRequest& request, Body body) {
    const LoopbackPort nobody;
    network_->PointTo(nobody.number());
    ASSERT_TRUE(Eventually(kSoon, [&] { return !life_->Connected(milliseconds(0)); }));
    std::jthread requests([&] { EXPECT_TRUE(IsGranted(Request(request))); });
    ASSERT_TRUE(Eventually(kSoon, [&] {
      return life_->With([&](SessionClaims& claims) { return claims.MayHave(request.token); });
    }));
    body();
    network_->PointTo(Server().port());
  }
  size_t Nodes() {
    const auto queue = life_->Queue("x");
    EXPECT_TRUE(queue.has_value()) << ToString(queue.error());
    return queue ? queue->size() : 99;
  }

  std::unique_ptr<TcpProxy> network_;
  HoldListeners listeners_;
  std::shared_ptr<ZooKeeperLockSession> life_;
};

// Its claim was over, and looked for, before its call was sent: the node that came behind belonged
// to nobody, and whoever asked for the name waited for it as long as the process lived.
TEST_F(ZooKeeperRequestsTest, AnAskWhoseClaimEndsBeforeItIsSentLeavesNoNode) {
  WhileItsCallIsUnderWay(RequestOf(1), [&] {
    life_->With([](SessionClaims& claims) {
      for (const auto& ending : claims.Due(BootTime::max())) {
        claims.Gone(ending.number);  // nothing of it is there
      }
    });
  });
  EXPECT_EQ(Nodes(), 1u);
  EXPECT_TRUE(IsGranted(Request(RequestOf(1))));
}

TEST_F(ZooKeeperRequestsTest, AnAskThatIsGivenUpBeforeItIsSentLeavesNoNode) {
  WhileItsCallIsUnderWay(RequestOf(1), [&] {
    life_->With([](SessionClaims& claims) {
      if (const auto ending = claims.GiveUp(RequestOf(1).token, BootTime::min())) {
        claims.Gone(ending->number);  // nothing of it is there
      }
    });
  });
  EXPECT_EQ(Nodes(), 1u);
  EXPECT_TRUE(IsGranted(Request(RequestOf(1))));
}

TEST_F(ZooKeeperRequestsTest, ATokenIsAskedForByOneAtATime) {
  WhileItsCallIsUnderWay(RequestOf(1), [&] {
    const auto second = Request(RequestOf(1));
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, Code::kUnavailable);
    EXPECT_EQ(second.error().effect, Effect::kUnknown) << "the first one may have one";
  });
  EXPECT_EQ(Nodes(), 1u);
  EXPECT_TRUE(IsGranted(Request(RequestOf(1))));
}

class WaitersListener final : public HoldListener {
 public:
  explicit WaitersListener(ZooKeeperWaits& waits) : waits_(waits) {}
  void HoldsMayBeLost() override {
    woken_ = waits_.Woken(RequestOf(1).token);
    notified_ = true;
  }
  bool notified() const { return notified_; }
  bool woken() const { return woken_; }

 private:
  ZooKeeperWaits& waits_;
  std::atomic<bool> notified_{false};
  std::atomic<bool> woken_{false};
};

// A waiter of the same process may be granted the name in the next session.
TEST_F(ZooKeeperRequestsTest, OfTheEndOfASessionHoldersAreToldBeforeWaiters) {
  WaitersListener listener(life_->waits());
  listeners_.Listen(listener);
  life_->waits().Expect(RequestOf(1).token, "/ahead");
  EXPECT_NO_FATAL_FAILURE(EndSession(life_->id(), *network_));
  EXPECT_TRUE(Eventually(kSoon, [&] { return listener.notified(); }));
  EXPECT_FALSE(listener.woken());
  EXPECT_TRUE(Eventually(kSoon, [&] { return life_->waits().Woken(RequestOf(1).token); }));
  listeners_.Unlisten(listener);
}

// It may be a small part of what was asked for, and is not known before.
TEST_F(ZooKeeperRequestsTest, ASessionIsKeptByTheLengthThatTheServersGave) {
  const LoopbackPort nobody;
  network_->PointTo(nobody.number());
  const auto next = Start(std::chrono::hours(24));
  ASSERT_NE(next, nullptr);
  EXPECT_LE(next->Heartbeat(), std::chrono::seconds(1));
  network_->PointTo(Server().port());
  ASSERT_TRUE(next->Connected(kSoon));
  EXPECT_EQ(next->Heartbeat(), HeartbeatIn(kLongestOfTheServer));
}

}  // namespace
}  // namespace oncemq::testing
