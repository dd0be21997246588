// SPDX-License-Identifier: Apache-2.0
// Locks in an ensemble of three that loses its leader, and over a server that has lost its
// ensemble.
#include <algorithm>
#include <vector>

#include "oncemq/locks/switch_stores.h"
#include "zookeeper_locks_fixture.h"

namespace oncemq::testing {
namespace {

class ZooKeeperEnsembleTest : public ZooKeeperLocksTest {
 protected:
  void SetUp() override {
    ZooKeeperLocksTest::SetUp();
    if (!IsSkipped() && !HasFailure()) {
      servers_ = ZooKeeperServer::StartEnsemble(3);
    }
  }
  ZooKeeperServer& Leader() {
    return **std::find_if(servers_.begin(), servers_.end(),
                          [](const auto& server) { return server->Leads(); });
  }
  ZooKeeperServer& Follower() {
    return **std::find_if(servers_.begin(), servers_.end(),
                          [](const auto& server) { return !server->Leads(); });
  }
  std::string All() const {
    std::string url = servers_[0]->url();
    for (size_t i = 1; i < servers_.size(); i++) {
      url += ",127.0.0.1:" + std::to_string(servers_[i]->port());
    }
    return url;
  }

  // Calls that fail while there is no leader.
  static Locks Open(const std::string& url) {
    return OpenLocks(url, milliseconds(100'000), milliseconds(3'000));
  }

  std::vector<std::unique_ptr<ZooKeeperServer>> servers_;
};

TEST_F(ZooKeeperEnsembleTest, HoldsPlacesAndFencesOutliveTheLossOfTheLeader) {
  const Locks one = Open(All());
  const Locks two = Open(All());
  const AcquireRequest holder = RequestOf(1, "x", kLong);
  const AcquireRequest waiter = RequestOf(2, "x", kLong);
  const auto granted = one->Request(holder);
  ASSERT_TRUE(granted.has_value()) << ToString(granted.error());
  ASSERT_EQ(AnswerKind(*two, waiter), Kind::kQueued);
  Leader().Kill9();
  EXPECT_EQ(ExtendSoon(*one, holder), Extended::kYes);
  EXPECT_TRUE(Eventually(kSoon, [&] {
    const auto answer = two->Request(waiter);
    return answer && answer->kind == Kind::kQueued;
  }));
  EXPECT_TRUE(Eventually(kSoon, [&] { return Free(*one, holder).has_value(); }));
  EXPECT_TRUE(two->Await(waiter, SystemClock::Instance().Boot() + kLong, {}));
  LockAnswer next;
  EXPECT_TRUE(Eventually(kSoon, [&] {
    next = two->Request(waiter).value_or(LockAnswer{});
    return next.kind == Kind::kGranted;
  }));
  EXPECT_GT(next.fence, granted->fence);
}

// It answers every read, and does not know what the others do meanwhile.
TEST_F(ZooKeeperEnsembleTest, AServerThatLostItsEnsembleConfirmsNothing) {
  const std::string follower = Follower().url();
  const Locks locks = Open(follower);
  const AcquireRequest holder = RequestOf(1, "x", kLong);
  const AcquireRequest waiter = RequestOf(2, "x", kLong);
  ASSERT_EQ(AnswerKind(*locks, holder), Kind::kGranted);
  ASSERT_EQ(AnswerKind(*locks, waiter), Kind::kQueued);
  const auto reader = Raw(follower);
  // Both, or it would have a new leader after a while.
  for (const auto& server : servers_) {
    if (server->url() != follower) {
      server->process().Pause();
    }
  }
  EXPECT_EQ(Run(*reader, {.path = "/oncemq"}).kind, ZooKeeperReply::Kind::kDone);
  EXPECT_FALSE(Extend(*locks, holder).has_value());
  EXPECT_FALSE(locks->Read("x").has_value());
  EXPECT_FALSE(locks->Request(RequestOf(3, "y", kLong)).has_value());
  for (const auto& server : servers_) {
    server->process().Continue();
  }
  EXPECT_EQ(ExtendSoon(*locks, holder), Extended::kYes);
}

// A sync that it asks of itself is answered at once, as long as it believes to lead.
TEST_F(ZooKeeperEnsembleTest, ALeaderThatLostItsEnsembleKnowsNoSwitchRecord) {
  const auto store = OpenSwitchStore(Leader().url(), "board");
  ASSERT_TRUE(store.has_value()) << ToString(store.error());
  ASSERT_TRUE(*(*store)->Swap("one", 0));
  ASSERT_EQ((*store)->Read()->text, "one");
  for (const auto& server : servers_) {
    if (!server->Leads()) {
      server->process().Pause();
    }
  }
  EXPECT_FALSE((*store)->Read().has_value());
  for (const auto& server : servers_) {
    server->process().Continue();
  }
  EXPECT_TRUE(Eventually(kSoon, [&] {
    const auto read = (*store)->Read();
    return read && read->text == "one" && read->version == 1;
  }));
}

}  // namespace
}  // namespace oncemq::testing
