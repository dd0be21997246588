// SPDX-License-Identifier: Apache-2.0
// Locks in an etcd that hangs, dies, is elected anew and goes back in time.
#include <thread>
#include <vector>

#include "etcd/etcd_requests.h"
#include "etcd_locks_fixture.h"
#include "support/eventually.h"

namespace oncemq::testing {
namespace {

// For calls that end by it. Enough for those that are to be answered, on a slow machine.
constexpr EtcdLockOptions kImpatient{.connect = milliseconds(2'000), .call = milliseconds(3'000)};

class EtcdFailuresTest : public EtcdLocksTest {
 protected:
  // An engine behind a network, and one beside it.
  void StartBehindNetwork(const EtcdLockOptions& options = kImpatient) {
    server_ = EtcdServer::Start();
    network_ = std::make_unique<TcpProxy>(server_->port());
    locks_ = Opened("etcd://" + Local(network_->port()), options);
    other_ = Opened(server_->url());
  }

  std::unique_ptr<TcpProxy> network_;
  std::shared_ptr<LockEngine> other_;
};

TEST_F(EtcdFailuresTest, AnAskWhoseReplyWasLostIsRepeatedAndRecognisesItself) {
  StartBehindNetwork();
  ASSERT_EQ(Request(*locks_, New("y")).kind, Kind::kGranted);
  const AcquireRequest request = New();
  network_->Set(TcpProxy::Mode::kSwallowReplies);
  const auto lost = locks_->Request(request);
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().effect, Effect::kUnknown);
  const LockView view = *other_->Read("x");
  ASSERT_EQ(view.parties.size(), 1u) << "the store has granted it";
  network_->Set(TcpProxy::Mode::kPass);
  const LockAnswer again = Request(*locks_, request);
  EXPECT_EQ(again.kind, Kind::kGranted);
  EXPECT_EQ(again.fence, view.parties[0].fence);
  EXPECT_EQ(*Free(*locks_, request), Freed::kYes);
  EXPECT_TRUE(other_->Read("x")->parties.empty());
}

TEST_F(EtcdFailuresTest, AnAskThatIsInDoubtEndsByItself) {
  StartBehindNetwork();
  ASSERT_EQ(Request(*locks_, New("y")).kind, Kind::kGranted);
  network_->Set(TcpProxy::Mode::kSwallowReplies);
  ASSERT_FALSE(locks_->Request(New("x", kLease)).has_value());
  network_->Set(TcpProxy::Mode::kPass);
  EXPECT_TRUE(Eventually(kLong, [&] {
    const auto view = other_->Read("x");
    return view && view->parties.empty();
  }));
}

// etcd#22082: the first unlock was done, its reply was lost, and the second ends the next hold.
TEST_F(EtcdFailuresTest, AReleaseRepeatedAfterALostReplyDoesNotTouchTheNextHolder) {
  StartBehindNetwork();
  const AcquireRequest holder = New();
  ASSERT_EQ(Request(*locks_, holder).kind, Kind::kGranted);
  network_->Set(TcpProxy::Mode::kSwallowReplies);
  const auto lost = Free(*locks_, holder);
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().effect, Effect::kUnknown);
  network_->Set(TcpProxy::Mode::kPass);
  const AcquireRequest next = New();
  ASSERT_EQ(Request(*locks_, next).kind, Kind::kGranted) << "of the same session";
  EXPECT_EQ(*Free(*locks_, holder), Freed::kNotHeld);
  EXPECT_EQ(*Extend(*locks_, next), Extended::kYes);
}

// What the network delivers late is said here once more, word for word.
TEST_F(EtcdFailuresTest, AnAskThatTheNetworkKeptIsVoidOnceItsTokenWasFreed) {
  server_ = EtcdServer::Start();
  network_ = std::make_unique<TcpProxy>(server_->port());
  locks_ = Opened("etcd://" + Local(network_->port()) + "," + Local(server_->port()), kImpatient);
  ASSERT_EQ(Request(*locks_, New("y")).kind, Kind::kGranted);
  const auto client = *EtcdClient::Open(*ParseEtcdEndpoint(server_->url()));
  const std::string sessions = "oncemq/lock/1/s";
  const auto found = client->Run(
      EtcdOp{.kind = EtcdOp::Kind::kRange, .key = sessions, .end = EtcdEndOf(sessions)});
  ASSERT_TRUE(found.has_value());
  ASSERT_EQ(found->replies.at(0).entries.size(), 1u);
  const EtcdEntry session = found->replies[0].entries[0];
  const AcquireRequest request = New();
  const EtcdLockKeys keys("");
  const EtcdSession::Ticket ticket{
      .lease = session.lease, .key = session.key, .generation = session.changed};
  network_->Set(TcpProxy::Mode::kSilent);
  const auto kept = locks_->Request(request);
  ASSERT_FALSE(kept.has_value());
  EXPECT_EQ(kept.error().effect, Effect::kUnknown);
  EXPECT_EQ(*Free(*locks_, request), Freed::kNotHeld) << "said to the other member";
  for (const EtcdWay way : {EtcdWay::kShort, EtcdWay::kLong}) {
    const std::string key = keys.Request(request.name, request.mode, request.token);
    const auto late = client->Run(EtcdRequestTxn(keys, request, key, ticket, way, 9));
    ASSERT_TRUE(late.has_value()) << ToString(late.error());
    EXPECT_FALSE(late->succeeded);
    EXPECT_TRUE(locks_->Read("x")->parties.empty());
  }
  EXPECT_EQ(Request(*locks_, New()).kind, Kind::kGranted);
}

TEST_F(EtcdFailuresTest, AHolderThatWasCutOffForLongerThanItsSessionIsGone) {
  EtcdLockOptions options = kImpatient;
  options.session = std::chrono::seconds(4);
  StartBehindNetwork(options);
  const AcquireRequest former = New("x", milliseconds(1'500));
  const Fence fence = Request(*locks_, former).fence;
  network_->Set(TcpProxy::Mode::kSilent);
  const AcquireRequest next = New();
  LockAnswer answer = Request(*other_, next);
  ASSERT_EQ(answer.kind, Kind::kQueued);
  while (answer.kind != Kind::kGranted) {
    ASSERT_TRUE(other_->Await(next, Now() + kLong, {}));
    answer = Request(*other_, next);
  }
  EXPECT_GT(answer.fence, fence);
  network_->Set(TcpProxy::Mode::kPass);
  EXPECT_EQ(*Extend(*locks_, former), Extended::kGone);
  EXPECT_EQ(*Free(*locks_, former), Freed::kNotHeld);
  EXPECT_EQ(*Extend(*other_, next), Extended::kYes);
  EXPECT_EQ(Request(*locks_, New("y", milliseconds(1'000))).kind, Kind::kGranted)
      << "a new session";
}

TEST_F(EtcdFailuresTest, AHolderIsToldInTimeWhenTheServerHangs) {
  Start(kImpatient);
  const auto lease = Acquired();
  ASSERT_TRUE(lease);
  server_->process().Pause();
  AwaitStop(lease->stop());
  EXPECT_EQ(lease->lost(), LeaseLoss::kDeadline);
  server_->process().Continue();
  EXPECT_TRUE(Acquired()) << "when its lease has run out there";
}

TEST_F(EtcdFailuresTest, AHoldSurvivesAServerThatIsKilledAndStartsAgain) {
  Start();
  const AcquireRequest holder = New();
  const AcquireRequest waiter = New();
  const Fence fence = Request(*locks_, holder).fence;
  ASSERT_EQ(Request(*locks_, waiter).kind, Kind::kQueued);
  server_->Kill9();
  EXPECT_FALSE(Extend(*locks_, holder).has_value());
  server_->Restart();
  EXPECT_EQ(*Extend(*locks_, holder), Extended::kYes);
  EXPECT_EQ(Request(*locks_, holder).fence, fence);
  EXPECT_EQ(Request(*locks_, waiter).kind, Kind::kQueued);
  ASSERT_EQ(*Free(*locks_, holder), Freed::kYes);
  EXPECT_EQ(Request(*locks_, waiter).kind, Kind::kGranted);
}

TEST_F(EtcdFailuresTest, AWaiterGetsItsTurnAfterTheServerWasAway) {
  Start();
  domain_ = *LockDomain::Open(locks_, {.patience = milliseconds(30'000)});
  auto holder = Acquired();
  ASSERT_TRUE(holder);
  std::jthread waits([&] { EXPECT_TRUE(Acquired()); });
  ASSERT_TRUE(Eventually(kLong, [&] {
    const auto view = locks_->Read("x");
    return view && view->parties.size() == 2;
  }));
  server_->Kill9();
  server_->Restart();
  EXPECT_EQ(holder->Release(), Released::kYes);
}

// Those that are left may elect a leader at any moment, also for having been slow: what was not
// answered is asked again.
TEST_F(EtcdFailuresTest, AMemberThatIsLostCostsNoHold) {
  auto members = EtcdServer::StartCluster(3);
  std::string url = "etcd://";
  for (const auto& member : members) {
    url += (member == members.front() ? "" : ",") + Local(member->port());
  }
  locks_ = Opened(url);
  const AcquireRequest holder = New("x", kLong);
  Result<LockAnswer> granted = Error{};
  ASSERT_TRUE(Eventually(kLong, [&] { return (granted = locks_->Request(holder)).has_value(); }));
  Fence last = granted->fence;
  for (size_t lost = 0; lost < members.size(); lost++) {
    members[lost]->Kill9();
    Result<Extended> extended = Error{};
    ASSERT_TRUE(
        Eventually(kLong, [&] { return (extended = Extend(*locks_, holder)).has_value(); }));
    EXPECT_EQ(*extended, Extended::kYes) << lost;
    const AcquireRequest another = New("y");
    ASSERT_TRUE(
        Eventually(kLong, [&] { return (granted = locks_->Request(another)).has_value(); }));
    ASSERT_EQ(granted->kind, Kind::kGranted) << "the one before was freed";
    EXPECT_GT(granted->fence, last);
    last = granted->fence;
    EXPECT_TRUE(Eventually(kLong, [&] { return Free(*locks_, another).has_value(); }));
    members[lost]->Restart();
  }
}

TEST_F(EtcdFailuresTest, AWaitEndsWhenAStopIsRequestedThoughTheNetworkIsSilent) {
  StartBehindNetwork();
  ASSERT_EQ(Request(*other_, New()).kind, Kind::kGranted);
  const AcquireRequest waiter = New();
  ASSERT_EQ(Request(*locks_, waiter).kind, Kind::kQueued);
  network_->Set(TcpProxy::Mode::kSilent);
  std::stop_source stop;
  const BootTime began = Now();
  std::jthread waits(
      [&] { static_cast<void>(locks_->Await(waiter, began + kLong * 2, stop.get_token())); });
  stop.request_stop();
  waits.join();
  EXPECT_LT(Now() - began, kLong);
}

TEST_F(EtcdFailuresTest, AnEngineEndsInTimeThoughTheServerHangs) {
  Start(kImpatient);
  const auto lease = Acquired();
  server_->process().Pause();
  const BootTime began = Now();
  domain_.reset();
  locks_.reset();
  EXPECT_LT(Now() - began, kLong);
  server_->process().Continue();
}

// etcd#16028: a restored store counts from an earlier revision.
TEST_F(EtcdFailuresTest, AStoreThatWentBackGrantsNothingUntilItIsSealedAnew) {
  Start();
  const AcquireRequest held = New("a");
  ASSERT_EQ(Request(*locks_, held).kind, Kind::kGranted);
  server_->Save();
  Fence last;
  for (int i = 0; i < 20; i++) {
    const AcquireRequest request = New();
    last = Request(*locks_, request).fence;
    ASSERT_EQ(*Free(*locks_, request), Freed::kYes);
  }
  server_->Restore();
  {
    const auto ignorant = Opened(server_->url());
    const LockAnswer repeated = Request(*ignorant, New());
    ASSERT_EQ(repeated.kind, Kind::kGranted);
    EXPECT_LT(repeated.fence, last) << "whoever was not there cannot know";
  }
  const auto refused = locks_->Request(New());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Code::kCorrupt);
  EXPECT_NE(refused.error().message.find("begin with another space"), std::string::npos)
      << "it has no switchboard";
  const auto again = locks_->Request(New());
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, Code::kCorrupt);
  EXPECT_EQ(*Extend(*locks_, held), Extended::kGone) << "it is from another time";
  ASSERT_EQ(*locks_->Seal(1), 1u);
  AcquireRequest sealed = New("z");
  sealed.epoch = 1;
  const LockAnswer granted = Request(*locks_, sealed);
  ASSERT_EQ(granted.kind, Kind::kGranted);
  EXPECT_GT(granted.fence, last);
  EXPECT_FALSE(locks_->Request(New()).has_value()) << "the old epoch is over";
}

}  // namespace
}  // namespace oncemq::testing
