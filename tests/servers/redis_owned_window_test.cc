// SPDX-License-Identifier: Apache-2.0
// The window in Redis for ids that a partition owns, where the conformance suite does not look: an
// heir, a former owner that goes on, servers that lost changes, lost answers, and sizes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "oncemq/base/bytes.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "oncemq/dedup/store_stat.h"
#include "support/eventually.h"
#include "support/redis_server.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

constexpr LogTime kStamp{milliseconds(1'600'000'000'000)};

class RedisOwned : public ::testing::Test {
 protected:
  struct Member {
    std::unique_ptr<Window> window;
    StoreKnowledge known;
    OwnerEpoch owner_epoch = 0;
  };

  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    server_ = RedisServer::Start();
    client_ = *RedisClient::Open(*ParseRedisEndpoint(server_->url()));
  }
  RedisReply Redis(const RedisCommand& command) {
    auto reply = client_->Run(command);
    EXPECT_TRUE(reply) << ToString(reply.error());
    return reply ? *std::move(reply) : RedisReply{};
  }
  int64_t Entries() {
    const RedisReply keys = Redis({"KEYS", "*l:0:3"});
    return keys.list.empty() ? 0 : Redis({"XLEN", keys.list[0].text}).integer;
  }
  static RedisWindowOptions Options() {
    RedisWindowOptions options;
    options.scope = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.level = Level::kOpaque;
    options.partition_owned = true;
    return options;
  }
  static std::unique_ptr<Window> OpenAt(const std::string& url, const RedisWindowOptions& options) {
    auto window = OpenRedisWindow(url, options);
    EXPECT_TRUE(window) << ToString(window.error());
    return window ? *std::move(window) : nullptr;
  }
  // Opens the window, and owns the partition.
  Member Join() { return JoinAt(server_->url(), Options()); }
  Member JoinAt(const std::string& url, const RedisWindowOptions& options) {
    Member member{.window = OpenAt(url, options)};
    auto known = member.window->Open(name_);
    EXPECT_TRUE(known) << ToString(known.error());
    member.known = *std::move(known);
    Raise(member);
    return member;
  }
  static void Raise(Member& member) {
    const auto owner_epoch = member.window->RaiseOwnerEpoch(0, 3, 0);
    EXPECT_TRUE(owner_epoch) << ToString(owner_epoch.error());
    member.owner_epoch = owner_epoch.value_or(0);
  }
  static std::string Id(int64_t number) {
    return "0190f5a6-7b3c-7def-8123-" + std::to_string(number);
  }
  // A claim for each of the ids, which stand at their own offsets.
  std::vector<ClaimAnswer> Claim(const Member& member, const std::vector<std::string>& ids,
                                 int64_t first, std::vector<ClaimRequest>* sent = nullptr) {
    std::vector<ClaimRequest> claims;
    for (size_t i = 0; i < ids.size(); i++) {
      claims.push_back({.id = ids[i],
                        .token = {7, ++tokens_},
                        .at = {0, 3, first + static_cast<int64_t>(i)},
                        .owner_epoch = member.owner_epoch,
                        .time = kStamp});
    }
    std::vector<ClaimAnswer> answers(ids.size());
    const Status told = member.window->Claim(claims, answers);
    EXPECT_TRUE(told) << ToString(told.error());
    if (sent != nullptr) {
      *sent = std::move(claims);
    }
    return answers;
  }
  static std::vector<std::string> Ids(int64_t first, int64_t count) {
    std::vector<std::string> ids;
    for (int64_t i = first; i < first + count; i++) {
      ids.push_back(Id(i));
    }
    return ids;
  }
  void Finish(const Member& member, int64_t first, int64_t count) {
    const std::vector<std::string> ids = Ids(first, count);
    std::vector<ClaimRequest> claims;
    Claim(member, ids, first, &claims);
    std::vector<CompleteRequest> done;
    for (const ClaimRequest& claim : claims) {
      done.push_back({.id = claim.id, .token = claim.token, .at = claim.at, .time = claim.time});
    }
    std::vector<MarkerChange> changes(ids.size(), MarkerChange::kFenced);
    ASSERT_TRUE(member.window->Complete(done, changes));
    EXPECT_EQ(std::count(changes.begin(), changes.end(), MarkerChange::kMade), count);
  }
  static Status Announce(const Member& member, int64_t to) {
    const Announcement announced{.partition = 3,
                                 .to = to,
                                 .offset = to,
                                 .metadata = "of the owner",
                                 .owner_epoch = member.owner_epoch};
    return member.window->Announce({&announced, 1});
  }
  static void Commit(const Member& member, int64_t frontier, LogTime watermark) {
    const Progress progress{.partition = 3,
                            .owner_epoch = member.owner_epoch,
                            .frontier = frontier,
                            .watermark = watermark};
    MarkerChange change{};
    ASSERT_TRUE(member.window->Committed({&progress, 1}, {&change, 1}));
    EXPECT_EQ(change, MarkerChange::kMade);
  }
  // The answer to each of so many ids, if it is the same for all.
  ClaimVerdict AnswerTo(const Member& member, int64_t first, int64_t count) {
    const std::vector<ClaimAnswer> answers = Claim(member, Ids(first, count), first);
    for (const ClaimAnswer& answer : answers) {
      EXPECT_EQ(answer.answer, answers[0].answer);
      EXPECT_TRUE(answer.answer != ClaimVerdict::kDuplicate || answer.same_delivery);
    }
    return answers[0].answer;
  }
  static uint64_t Finished(Window& window) {
    const auto stat = window.Stat();
    EXPECT_TRUE(stat) << ToString(stat.error());
    return stat ? (*stat)[0].history : 0;
  }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<RedisClient> client_;
  const StoreName name_{.source = 9, .partition = 3, .topic = "payments", .owner = "us"};
  uint64_t tokens_ = 0;
};

// The former owner is gone without a word.
TEST_F(RedisOwned, TheHeirKnowsAllThatWasAnnouncedAndNoMore) {
  const Member dead = Join();
  EXPECT_EQ(dead.known.source, 0u) << "the store numbers topics";
  Finish(dead, 0, 20'000);
  std::vector<ClaimRequest> claims;
  Claim(dead, {"parked", "doubt"}, 20'000, &claims);
  MarkerChange change{};
  const ParkRequest park{"parked", claims[0].token, 7, claims[0].at};
  ASSERT_TRUE(dead.window->Park({&park, 1}, {&change, 1}));
  const ReleaseRequest doubt{"doubt", claims[1].token, true, claims[1].at};
  ASSERT_TRUE(dead.window->Release({&doubt, 1}, {&change, 1}));
  ASSERT_TRUE(Announce(dead, 20'000));
  Finish(dead, 30'000, 100);
  const Member heir = Join();
  EXPECT_FALSE(heir.known.lost_writes);
  EXPECT_EQ(heir.known.to, 20'000);
  EXPECT_EQ(heir.known.metadata, "of the owner");
  EXPECT_EQ(heir.known.incarnation, dead.known.incarnation);
  EXPECT_EQ(AnswerTo(heir, 0, 20'000), ClaimVerdict::kDuplicate);
  EXPECT_EQ(AnswerTo(heir, 30'000, 100), ClaimVerdict::kGranted);
  const auto kept = Claim(heir, {"parked", "doubt"}, 40'000);
  EXPECT_EQ(kept[0].answer, ClaimVerdict::kAttached);
  EXPECT_EQ(kept[0].entry, 7u);
  EXPECT_EQ(kept[1].answer, ClaimVerdict::kGranted);
  EXPECT_TRUE(kept[1].uncertain);
}

// The commit comes later, and the last one still holds (rule 39).
TEST_F(RedisOwned, TheHeirKnowsAnEndThatPersists) {
  const Member dead = Join();
  std::vector<ClaimRequest> claims;
  Claim(dead, {"parked"}, 7, &claims);
  MarkerChange change{};
  const ParkRequest park{"parked", claims[0].token, 8, claims[0].at};
  ASSERT_TRUE(dead.window->Park({&park, 1}, {&change, 1}));
  ASSERT_TRUE(Announce(dead, 8));
  ClaimRequest redrive = claims[0];
  redrive.id = "parked";
  redrive.token = {8, 1};
  redrive.parked_entry = 8;
  ClaimAnswer answer;
  ASSERT_TRUE(dead.window->Claim({&redrive, 1}, {&answer, 1}));
  ASSERT_EQ(answer.answer, ClaimVerdict::kGranted);
  const CompleteRequest done{.id = "parked", .token = redrive.token, .at = redrive.at};
  change = MarkerChange::kFenced;
  ASSERT_TRUE(dead.window->Complete({&done, 1}, {&change, 1}));
  ASSERT_EQ(change, MarkerChange::kMade);
  Finish(dead, 10'000, 5'000);
  const Announcement kept{.partition = 3, .commits = false};
  ASSERT_TRUE(dead.window->Announce({&kept, 1}));
  EXPECT_TRUE(Redis({"KEYS", "*k:0:3"}).list.empty()) << "its parked marker stays";
  const Member heir = Join();
  EXPECT_EQ(heir.known.to, 8);
  EXPECT_EQ(heir.known.metadata, "of the owner");
  EXPECT_EQ(Claim(heir, {"parked"}, 20'000)[0].answer, ClaimVerdict::kDuplicate);
  EXPECT_EQ(AnswerTo(heir, 10'000, 5'000), ClaimVerdict::kDuplicate);
  const Status refused = dead.window->Announce({&kept, 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFenced);
}

// Rule 10: its effects are the target's to refuse, or counted; its announcement is refused here.
TEST_F(RedisOwned, AFormerOwnerAnnouncesNothing) {
  const Member former = Join();
  Finish(former, 0, 10);
  const Member heir = Join();
  const Status refused = Announce(former, 10);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kFenced);
  EXPECT_EQ(Entries(), 0);
  Finish(heir, 0, 10);
  ASSERT_TRUE(Announce(heir, 10));
  EXPECT_FALSE(Announce(former, 10));
  EXPECT_EQ(Entries(), 1);
  EXPECT_EQ(AnswerTo(Join(), 0, 10), ClaimVerdict::kDuplicate);
}

TEST_F(RedisOwned, WhatIsAnnouncedUntilTheOwnershipRisesIsRead) {
  const Member former = Join();
  Finish(former, 0, 200);
  ASSERT_TRUE(Announce(former, 200));
  Member heir{.window = OpenAt(server_->url(), Options())};
  ASSERT_TRUE(heir.window->Open(name_));
  Finish(former, 200, 200);
  ASSERT_TRUE(Announce(former, 400));
  Raise(heir);
  EXPECT_EQ(AnswerTo(heir, 0, 400), ClaimVerdict::kDuplicate);
}

// It opens the partition again, with its ids, announced or not.
TEST_F(RedisOwned, AnOwnerThatComesBackKnowsWhatCameBetween) {
  Member first = Join();
  Finish(first, 0, 300);
  ASSERT_TRUE(Announce(first, 300));
  Finish(first, 300, 10);
  const Member second = Join();
  Finish(second, 500, 300);
  ASSERT_TRUE(Announce(second, 800));
  EXPECT_FALSE(Announce(first, 310));
  ASSERT_TRUE(first.window->Open(name_));
  Raise(first);
  EXPECT_EQ(AnswerTo(first, 0, 310), ClaimVerdict::kDuplicate);
  EXPECT_EQ(AnswerTo(first, 500, 300), ClaimVerdict::kDuplicate);
  ASSERT_TRUE(Announce(first, 810));
  const Member last = Join();
  EXPECT_EQ(AnswerTo(last, 0, 310), ClaimVerdict::kDuplicate);
  EXPECT_EQ(AnswerTo(last, 500, 300), ClaimVerdict::kDuplicate);
  EXPECT_EQ(Finished(*last.window), 610u);
}

TEST_F(RedisOwned, ALostAnswerIsAskedForAgainAndNothingIsThereTwice) {
  TcpProxy proxy(server_->port());
  auto options = Options();
  options.call = milliseconds(500);
  const Member owner = JoinAt("redis://127.0.0.1:" + std::to_string(proxy.port()), options);
  Finish(owner, 0, 1);
  ASSERT_TRUE(Announce(owner, 1));  // the server knows the script
  Finish(owner, 1, 1'000);
  proxy.Set(TcpProxy::Mode::kSwallowReplies);
  const Status lost = Announce(owner, 1'001);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().effect, ::oncemq::Effect::kUnknown);
  proxy.Set(TcpProxy::Mode::kPass);
  proxy.Cut();
  EXPECT_TRUE(
      Eventually(std::chrono::seconds(20), [&] { return Announce(owner, 1'001).has_value(); }));
  EXPECT_EQ(Entries(), 1 + (1'000 + 171) / 172);
  EXPECT_EQ(Finished(*owner.window), 1'001u);
  EXPECT_EQ(AnswerTo(Join(), 0, 1'001), ClaimVerdict::kDuplicate);
}

TEST_F(RedisOwned, AFlushedServerIsRecognised) {
  Member owner = Join();
  Finish(owner, 0, 10);
  ASSERT_TRUE(Announce(owner, 10));
  Redis({"FLUSHALL"});
  Finish(owner, 10, 10);  // nobody asks the server for it
  EXPECT_EQ(Announce(owner, 20).error().code, Code::kLostWrites);
  const ClaimRequest next{.id = "next", .token = {7, ++tokens_}, .at = {0, 3, 20}};
  ClaimAnswer answer;
  EXPECT_EQ(owner.window->Claim({&next, 1}, {&answer, 1}).error().code, Code::kLostWrites);
  EXPECT_EQ(owner.window->RaiseOwnerEpoch(0, 3, 0).error().code, Code::kLostWrites);
  const auto anew = owner.window->Open(name_);
  ASSERT_TRUE(anew) << ToString(anew.error());
  EXPECT_TRUE(anew->lost_writes);
  EXPECT_EQ(anew->offset, -1) << "what was announced is gone, and told";
  EXPECT_FALSE(owner.window->Open(name_)->lost_writes) << "it is told once";
  Raise(owner);
  EXPECT_EQ(AnswerTo(owner, 0, 20), ClaimVerdict::kGranted) << "the log tells what was finished";
}

TEST_F(RedisOwned, AScopeKeepsItsKindOfIds) {
  const auto expect = [&](const RedisWindowOptions& options, const char* words) {
    const auto refused = OpenRedisWindow(server_->url(), options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalid);
    EXPECT_NE(refused.error().message.find(words), std::string::npos) << refused.error().message;
  };
  auto options = Options();
  static_cast<void>(OpenAt(server_->url(), options));
  options.partition_owned = false;
  expect(options, "was made for ids that their partition owns; say so (`ids: partition_owned`)");
  options.scope += " crossing";
  static_cast<void>(OpenAt(server_->url(), options));
  options.partition_owned = true;
  expect(options, "was made for ids that cross partitions; say so (`ids: crossing`)");
}

// Rules 22 and 26.
TEST_F(RedisOwned, WhatHasAgedIsForgottenAndIsNeverNew) {
  auto options = Options();
  options.remember = milliseconds(3'600'000);
  options.skew = milliseconds(0);
  const Member owner = JoinAt(server_->url(), options);
  Commit(owner, 0, kStamp);
  Finish(owner, 0, 1'000);
  ASSERT_TRUE(Announce(owner, 1'000));
  const int64_t all = Entries();
  const auto left = [&](int64_t frontier) {
    Commit(owner, frontier, kStamp + 2 * options.remember);
    return Entries();
  };
  EXPECT_EQ(left(3), all) << "some of each entry are not below the frontier";
  EXPECT_EQ(left(500), all - 2);
  EXPECT_EQ(left(1'000), 0);
  EXPECT_EQ(Finished(*owner.window), 0u);
  EXPECT_EQ(AnswerTo(owner, 0, 1'000), ClaimVerdict::kOutsideWindow);
  EXPECT_EQ(AnswerTo(JoinAt(server_->url(), options), 0, 1'000), ClaimVerdict::kOutsideWindow);
}

// Rule 26.
TEST_F(RedisOwned, ACopyThatCameLaterKeepsItsIdFromAgeing) {
  auto options = Options();
  options.remember = milliseconds(3'600'000);
  options.skew = milliseconds(0);
  const Member owner = JoinAt(server_->url(), options);
  Commit(owner, 0, kStamp);
  Finish(owner, 0, 2);
  ASSERT_TRUE(Announce(owner, 2));
  const std::string id = Id(0);
  const auto request = [&](const Member& member, LogTime time) {
    const ClaimRequest copy{.id = id,
                            .token = {7, ++tokens_},
                            .at = {0, 3, 5},
                            .owner_epoch = member.owner_epoch,
                            .time = time};
    ClaimAnswer answer;
    EXPECT_TRUE(member.window->Claim({&copy, 1}, {&answer, 1}));
    return answer.answer;
  };
  const LogTime later = kStamp + options.remember * 9 / 10;
  EXPECT_EQ(request(owner, later), ClaimVerdict::kDuplicate);
  ASSERT_TRUE(Announce(owner, 6));
  EXPECT_EQ(Entries(), 2);
  Commit(owner, 6, kStamp + options.remember * 3 / 2);
  EXPECT_EQ(Entries(), 1) << "the originals have aged";
  EXPECT_EQ(request(owner, later), ClaimVerdict::kDuplicate);
  EXPECT_EQ(AnswerTo(owner, 1, 1), ClaimVerdict::kOutsideWindow) << "it has no copy";
  EXPECT_EQ(request(JoinAt(server_->url(), options), later), ClaimVerdict::kDuplicate);
}

// Its owner has the times in force from the answer before.
TEST_F(RedisOwned, AScopeThatRemembersForLongerByNowLosesNothing) {
  TcpProxy network(server_->port());
  auto options = Options();
  options.remember = milliseconds(3'600'000);
  options.skew = milliseconds(0);
  options.call = milliseconds(20'000);
  const Member owner = JoinAt("redis://127.0.0.1:" + std::to_string(network.port()), options);
  Commit(owner, 0, kStamp - 200 * options.remember);  // the first watermark keeps nothing
  Finish(owner, 0, 10);
  ASSERT_TRUE(Announce(owner, 10));
  network.Set(TcpProxy::Mode::kHoldReplies);
  std::thread commit([&] { Commit(owner, 10, kStamp + 2 * options.remember); });
  const std::string row = Redis({"KEYS", "*p:0:3"}).list.at(0).text;
  EXPECT_TRUE(Eventually(milliseconds(15'000), [&] {
    return Redis({"HGET", row, "frontier"}).text == "10";
  }));
  auto longer = options;
  longer.remember = 100 * options.remember;
  EXPECT_NE(OpenAt(server_->url(), longer), nullptr);
  network.Set(TcpProxy::Mode::kPass);
  commit.join();
  EXPECT_GT(Entries(), 0);
  EXPECT_EQ(AnswerTo(owner, 0, 10), ClaimVerdict::kDuplicate);
}

TEST_F(RedisOwned, APartitionThatIsNotOpenIsNotOurs) {
  const Member owner = Join();
  for (const int32_t partition : {4, kNoPartition}) {
    const ClaimRequest claim{.id = "x", .token = {7, ++tokens_}, .at = {0, partition, 1}};
    ClaimAnswer answer;
    ASSERT_TRUE(owner.window->Claim({&claim, 1}, {&answer, 1}));
    EXPECT_EQ(answer.answer, ClaimVerdict::kFenced);
  }
  owner.window->Close(0, 3);
  EXPECT_EQ(AnswerTo(owner, 0, 1), ClaimVerdict::kFenced);
  EXPECT_FALSE(Announce(owner, 1));
  EXPECT_FALSE(owner.window->RaiseOwnerEpoch(0, 3, 0));
}

TEST_F(RedisOwned, ALookFromOutsideSeesWhatWasAnnounced) {
  const Member owner = Join();
  Finish(owner, 0, 1'000);
  std::vector<ClaimRequest> claims;
  Claim(owner, {"parked"}, 1'000, &claims);
  MarkerChange change{};
  const ParkRequest park{"parked", claims[0].token, 7, claims[0].at};
  ASSERT_TRUE(owner.window->Park({&park, 1}, {&change, 1}));
  ASSERT_TRUE(Announce(owner, 1'000));
  Finish(owner, 2'000, 1);
  auto options = Options();
  options.existing_only = true;
  const auto outside = OpenAt(server_->url(), options);
  const std::string known = Id(17);
  const std::string later = Id(2'000);
  const std::vector<std::string_view> ids{known, "parked", later, known};
  std::vector<MarkerView> views(ids.size());
  ASSERT_TRUE(outside->Peek(ids, views));
  EXPECT_EQ(views[0].state, MarkerState::kDone);
  EXPECT_EQ(views[0].at, (Coordinates{0, 3, 17}));
  EXPECT_EQ(views[1].state, MarkerState::kParked);
  EXPECT_EQ(views[2].state, MarkerState::kNone) << "its owner has not announced it";
  EXPECT_EQ(views[3].at, views[0].at);
  const auto stat = outside->Stat();
  ASSERT_TRUE(stat) << ToString(stat.error());
  EXPECT_EQ((*stat)[0].history, 1'000u);
  EXPECT_EQ((*stat)[0].parked, 1u);
  EXPECT_EQ((*stat)[0].partitions.at(0).known_to, 1'000);
  EXPECT_EQ((*owner.window->Stat())[0].recent, 1u);
  std::vector<MarkerChange> changes(ids.size());
  EXPECT_EQ(outside->ForgetByHand(ids, changes).error().code, Code::kInvalid);
  EXPECT_EQ(outside->DropAged(milliseconds(1)).error().code, Code::kInvalid);
}

TEST_F(RedisOwned, AFinishedIdTakes25Bytes) {
  const Member owner = Join();
  const auto used = [&] {
    const std::string info = Redis({"INFO", "memory"}).text;
    return ParseDecimal(RedisInfo(info, "used_memory")).value_or(0);
  };
  constexpr int64_t kIds = 200'000;
  const int64_t before = used();
  for (int64_t i = 0; i < kIds; i += 5'000) {
    Finish(owner, i, 5'000);
    ASSERT_TRUE(Announce(owner, i + 5'000));
  }
  const double bytes = static_cast<double>(used() - before) / kIds;
  const double here = static_cast<double>((*owner.window->Stat())[0].memory_bytes) / kIds;
  std::printf("bytes of a finished id: %.1f in Redis, %.1f here\n", bytes, here);
  EXPECT_LT(bytes, 26);
  EXPECT_LT(here, 64);
  EXPECT_EQ(AnswerTo(Join(), 0, kIds), ClaimVerdict::kDuplicate);
}

TEST_F(RedisOwned, AMissingRightIsNamed) {
  const std::string address = server_->url().substr(std::string("redis://").size());
  Redis({"ACL", "SETUSER", "app", "on", ">secret", "~oncemq:*", "+@all", "-xadd", "-xdel"});
  const auto refused = OpenRedisWindow("redis://app:secret@" + address, Options());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("XADD, XDEL"), std::string::npos)
      << refused.error().message;
  auto crossing = Options();
  crossing.partition_owned = false;
  EXPECT_NE(OpenAt("redis://app:secret@" + address, crossing), nullptr);
}

}  // namespace
}  // namespace oncemq::testing
