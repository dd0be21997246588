// SPDX-License-Identifier: Apache-2.0
// The window in Redis after a restart or a failover, as a new owner and as the present one find it.
#include <array>
#include <memory>
#include <string>

#include "redis_window_fixture.h"
#include "support/log_file.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

using std::chrono::seconds;

// Rule 31. Nobody is left to miss the changes of the former owner.
TEST_F(RedisWindowTest, AfterARestartANewOwnerTakesNothingForWhole) {
  Start({"--appendonly", "yes"});
  const auto dead = Open();
  ASSERT_TRUE(dead->Open(name_));
  const OwnerEpoch owner_epoch = *dead->RaiseOwnerEpoch(0, 3, 0);
  Announcement announced{.partition = 3, .to = 1, .offset = 1, .owner_epoch = owner_epoch};
  ASSERT_TRUE(dead->Announce({&announced, 1}));
  const BootTime complete = BootNow();
  const auto before = Open()->Open(name_);
  ASSERT_TRUE(before);
  EXPECT_FALSE(before->lost_writes);
  server_->Kill9();
  server_->Restart();
  const auto heir = Open();
  const auto known = heir->Open(name_);
  ASSERT_TRUE(known) << ToString(known.error());
  EXPECT_TRUE(known->lost_writes);
  ASSERT_TRUE(known->lost_since);
  EXPECT_LE(*known->lost_since, complete) << "changes after it may be gone";
  EXPECT_GT(*known->lost_since, complete - std::chrono::seconds(20));
  announced.owner_epoch = *heir->RaiseOwnerEpoch(0, 3, 0);
  announced.complete = false;
  ASSERT_TRUE(heir->Announce({&announced, 1}));
  EXPECT_TRUE(Open()->Open(name_)->lost_writes) << "some ids are not known again";
  announced.complete = true;
  ASSERT_TRUE(heir->Announce({&announced, 1}));
  EXPECT_FALSE(Open()->Open(name_)->lost_writes);
}

// A master, a replica over a network of its own, and a sentinel that promotes it.
class RedisWindowFailover : public RedisWindowTest {
 protected:
  void StartPair() {
    Start({"--repl-diskless-sync-delay", "0"});
    replication_ = std::make_unique<TcpProxy>(server_->port());
    replica_ = RedisServer::Start({"--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1",
                                   std::to_string(replication_->port())});
    ASSERT_TRUE(Eventually(seconds(60), [&] {
      return Redis({"INFO", "replication"}).text.find("state=online") != std::string::npos;
    }));
    sentinel_ = RedisServer::Start(
        {"--sentinel", "monitor", "payments", "127.0.0.1", std::to_string(server_->port()), "1",
         "--sentinel", "down-after-milliseconds", "payments", "2000"},
        /*sentinel=*/true);
    ASSERT_TRUE(Eventually(seconds(60), [&] {
      return sentinel_->Say("SENTINEL REPLICAS payments").starts_with("*1");
    }));
  }
  std::string Sentinel() const {
    return "redis-sentinel://127.0.0.1:" + std::to_string(sentinel_->port()) + "/payments";
  }
  // Within a moment.
  bool ReplicaHears() {
    const std::array commands{RedisCommand{"SET", "mark", ""}, RedisCommand{"WAIT", "1", "300"}};
    const auto waited = client_->Run(commands);
    EXPECT_TRUE(waited) << ToString(waited.error());
    return waited && waited->back().integer == 1;
  }
  // The replica has all until here, and nothing from here on.
  void Lag() {
    ASSERT_TRUE(Eventually(seconds(20), [&] { return ReplicaHears(); }));
    replication_->Set(TcpProxy::Mode::kSilent);
    // The network may carry a request twice.
    ASSERT_TRUE(Eventually(seconds(20), [&] { return !ReplicaHears(); }));
  }
  // The first error that is no outage, once the sentinel has promoted the replica.
  Status AfterTheFailover(Window& window, const Announcement& announcement) {
    Status status;
    EXPECT_TRUE(Eventually(seconds(60), [&] {
      status = window.Announce({&announcement, 1});
      return status || status.error().code == Code::kLostWrites;
    })) << ToString(status.error());
    return status;
  }

  std::unique_ptr<TcpProxy> replication_;
  std::unique_ptr<RedisServer> replica_;
  std::unique_ptr<RedisServer> sentinel_;
};

// There and back: the same process of the server, without the changes between.
TEST_F(RedisWindowFailover, BackToTheFirstMasterIsALossForAnHeir) {
  StartPair();
  sentinel_.reset();
  const auto dead = OpenAt(server_->url(), Options(Level::kOpaque));
  ASSERT_TRUE(dead->Open(name_));
  const Announcement announced{
      .partition = 3, .to = 1, .offset = 1, .owner_epoch = *dead->RaiseOwnerEpoch(0, 3, 0)};
  ASSERT_TRUE(dead->Announce({&announced, 1}));
  ASSERT_TRUE(Eventually(seconds(20), [&] { return ReplicaHears(); }));
  replica_->Promote();
  Finish(*dead, 5, "lost");
  Redis({"REPLICAOF", "127.0.0.1", std::to_string(replica_->port())});
  ASSERT_TRUE(Eventually(seconds(60), [&] {
    const std::string info = Redis({"INFO", "replication"}).text;
    return RedisInfo(info, "master_link_status") == "up";
  }));
  server_->Promote();
  const auto heir = OpenAt(server_->url(), Options(Level::kOpaque));
  const auto known = heir->Open(name_);
  ASSERT_TRUE(known) << ToString(known.error());
  EXPECT_EQ(AnswerTo(*heir, Request("lost1")), ClaimVerdict::kGranted) << "the test lost nothing";
  EXPECT_TRUE(known->lost_writes);
}

// Two masters for a while: a member stays on the old one, which has no replica any more. Copies
// of what it finished there run once more, untold, and only in the time that is reported.
TEST_F(RedisWindowFailover, EachUntoldCopyLiesInATimeThatEachMemberReports) {
  StartPair();
  sentinel_.reset();
  TcpProxy of_a(server_->port());
  TcpProxy of_b(server_->port());
  const auto a = OpenAt(UrlAt(of_a.port()), Options(Level::kOpaque));
  const auto b = OpenAt(UrlAt(of_b.port()), Options(Level::kOpaque));
  const StoreName other{.source = 9, .partition = 4, .topic = "payments", .owner = "us"};
  ASSERT_TRUE(a->Open(name_));
  ASSERT_TRUE(b->Open(other));
  Announcement of_3{
      .partition = 3, .to = 1, .offset = 1, .owner_epoch = *a->RaiseOwnerEpoch(0, 3, 0)};
  Announcement of_4{
      .partition = 4, .to = 1, .offset = 1, .owner_epoch = *b->RaiseOwnerEpoch(0, 4, 0)};
  ASSERT_TRUE(a->Announce({&of_3, 1}));
  ASSERT_TRUE(b->Announce({&of_4, 1}));
  Lag();
  replica_->Promote();
  of_b.PointTo(replica_->port());
  LogFile log;
  const int64_t split_ms = SystemClock::Instance().Wall().micros / 1'000;

  ASSERT_EQ(*Complete(*a,
                      [&] {
                        ClaimRequest claim = Request("x", 2);
                        EXPECT_EQ(AnswerTo(*a, claim), ClaimVerdict::kGranted);
                        return claim;
                      }()),
            MarkerChange::kMade);
  ClaimRequest copy = Request("x", 2);
  copy.at.partition = 4;
  Result<ClaimAnswer> second = Error{};
  ASSERT_TRUE(Eventually(seconds(20), [&] { return (second = Claim(*b, copy)).has_value(); }));
  ASSERT_EQ(second->answer, ClaimVerdict::kGranted) << "the test has no double";
  ASSERT_FALSE(second->uncertain);
  const BootTime doubled = BootNow();
  ASSERT_TRUE(Complete(*b, copy));
  ASSERT_TRUE(b->Announce({&of_4, 1}));
  // Of the old master, which knows nothing of it.
  of_3.to = of_3.offset = 3;
  ASSERT_TRUE(a->Announce({&of_3, 1}));

  of_a.PointTo(replica_->port());
  ASSERT_FALSE(AfterTheFailover(*a, of_3));
  const auto anew = a->Open(name_);
  ASSERT_TRUE(anew) << ToString(anew.error());
  EXPECT_TRUE(anew->lost_writes);
  ASSERT_TRUE(anew->lost_since);
  EXPECT_LE(*anew->lost_since, doubled) << "an untold double lies before the reported time";
  of_3.owner_epoch = *a->RaiseOwnerEpoch(0, 3, 0);
  ASSERT_TRUE(b->Announce({&of_4, 1}));
  EXPECT_FALSE(log.Has("\"all partitions of the scope know"));
  ASSERT_TRUE(a->Announce({&of_3, 1}));
  ASSERT_TRUE(b->Announce({&of_4, 1}));
  const std::string text = log.End();
  // Both of them say so, from before the split until both partitions are whole.
  size_t ends = 0;
  for (size_t at = 0; (at = text.find("\"all partitions of the scope know", at)) != text.npos;
       at++) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    const auto number = [&](const std::string& name) {
      const size_t from = line.find(name);
      return from == line.npos ? 0 : std::atoll(line.c_str() + from + name.size());
    };
    EXPECT_LE(number("\"unprotected_since_ms\":"), split_ms) << line;
    EXPECT_GE(number("\"unprotected_until_ms\":"), split_ms) << line;
    ends++;
  }
  EXPECT_EQ(ends, 2u) << text;
}

// The caller had given up, and the network had not.
TEST_F(RedisWindowTest, AnAnnouncementThatComesLateChangesNothing) {
  for (const bool owned : {false, true}) {
    Start();
    TcpProxy network(server_->port());
    auto options = Options(Level::kOpaque);
    options.partition_owned = owned;
    options.call = milliseconds(300);
    const auto window = OpenAt(UrlAt(network.port()), options);
    ASSERT_TRUE(window->Open(name_));
    Announcement one{.partition = 3, .to = 10, .offset = 10, .metadata = "old"};
    one.owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
    network.Set(TcpProxy::Mode::kHoldRequests);
    ASSERT_FALSE(window->Announce({&one, 1}));
    network.Set(TcpProxy::Mode::kPass);
    one.to = one.offset = 500;
    one.metadata = "new";
    ASSERT_TRUE(Eventually(seconds(20), [&] { return window->Announce({&one, 1}).has_value(); }));
    const auto calls = [&] {
      const std::string stats = Redis({"INFO", "commandstats"}).text;
      return std::string(RedisInfo(stats, "cmdstat_evalsha"));
    };
    const std::string before = calls();
    network.LetGo();
    ASSERT_TRUE(Eventually(seconds(20), [&] { return calls() != before; }));
    const auto known = OpenAt(server_->url(), options)->Open(name_);
    ASSERT_TRUE(known);
    EXPECT_EQ(known->offset, 500);
    EXPECT_EQ(known->to, 500);
    EXPECT_EQ(known->metadata, "new");
  }
}

// Rule 31.
TEST_F(RedisWindowFailover, ToALaggingReplicaIsALossAndTheWindowGoesOnWithWhatItHas) {
  StartPair();
  const auto window = OpenAt(Sentinel(), Options());
  ASSERT_TRUE(window->Open(name_));
  const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
  Finish(*window, 1, "kept");
  const Announcement first{
      .partition = 3, .to = 1, .offset = 1, .metadata = "m", .owner_epoch = owner_epoch};
  ASSERT_TRUE(window->Announce({&first, 1}));
  Lag();
  const BootTime complete = BootNow();
  Finish(*window, 2, "lost");
  const Announcement second{.partition = 3, .to = 3, .offset = 3, .owner_epoch = owner_epoch};
  ASSERT_TRUE(window->Announce({&second, 1}));
  server_->Kill9();
  const Status status = AfterTheFailover(*window, second);
  ASSERT_FALSE(status) << "a replica that lags is taken for whole";
  ClaimRequest copy = Request("lost0", 50);
  EXPECT_EQ(Claim(*window, copy).error().code, Code::kLostWrites);
  const auto anew = window->Open(name_);
  ASSERT_TRUE(anew) << ToString(anew.error());
  EXPECT_TRUE(anew->lost_writes);
  EXPECT_EQ(anew->offset, 1) << "what the replica had";
  EXPECT_EQ(anew->to, 1);
  EXPECT_GT(*anew->lost_since, complete - seconds(60));
  EXPECT_LE(*anew->lost_since, BootNow());
  const auto raised = window->RaiseOwnerEpoch(0, 3, owner_epoch + 1);
  ASSERT_TRUE(raised) << ToString(raised.error());
  EXPECT_GT(*raised, owner_epoch);
  EXPECT_EQ(AnswerTo(*window, Request("kept0", 50)), ClaimVerdict::kDuplicate);
  EXPECT_EQ(AnswerTo(*window, copy), ClaimVerdict::kGranted) << "of what is gone nothing is known";
  // As the runtime does from the log, before it admits anything.
  const RestoreRequest restore{
      .id = "lost1", .at = {0, 3, 2}, .owner_epoch = *raised, .time = kThen};
  MarkerChange change{};
  ASSERT_TRUE(window->Restore({&restore, 1}, {&change, 1}));
  EXPECT_EQ(change, MarkerChange::kMade);
  EXPECT_EQ(AnswerTo(*window, Request("lost1", 51)), ClaimVerdict::kDuplicate);
}

TEST_F(RedisWindowFailover, TakesNothingThatWasAnnouncedToReplicas) {
  StartPair();
  auto options = Options();
  options.replicas = 1;
  options.call = milliseconds(600);
  const auto window = OpenAt(Sentinel(), options);
  ASSERT_TRUE(window->Open(name_));
  const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
  Finish(*window, 1, "kept");
  const Announcement first{
      .partition = 3, .to = 1, .offset = 1, .metadata = "m", .owner_epoch = owner_epoch};
  ASSERT_TRUE(Eventually(seconds(20), [&] { return window->Announce({&first, 1}).has_value(); }));
  Lag();
  Finish(*window, 1, "lost");
  const Announcement second{.partition = 3, .to = 2, .offset = 2, .owner_epoch = owner_epoch};
  for (int i = 0; i < 3; i++) {
    const Status refused = window->Announce({&second, 1});
    ASSERT_FALSE(refused) << "a commit may call finished what a failover takes";
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_NE(refused.error().message.find("0 of 1 replicas"), std::string::npos)
        << ToString(refused.error());
  }
  server_->Kill9();
  EXPECT_FALSE(AfterTheFailover(*window, second));
  const auto anew = window->Open(name_);
  ASSERT_TRUE(anew) << ToString(anew.error());
  EXPECT_TRUE(anew->lost_writes);
  EXPECT_EQ(anew->offset, 1);
  EXPECT_EQ(anew->metadata, "m");
  EXPECT_EQ(AnswerTo(*window, Request("kept0", 50)), ClaimVerdict::kDuplicate);
}

}  // namespace
}  // namespace oncemq::testing
