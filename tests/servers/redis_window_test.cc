// SPDX-License-Identifier: Apache-2.0
// The window in Redis where the conformance suite does not look: servers that lost changes, lost
// answers, races, ageing, and the size of a finished id.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "redis_window_fixture.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

TEST_F(RedisWindowTest, AFlushedServerIsRecognised) {
  Start();
  const auto window = Open();
  const auto other = Open();
  const auto known = window->Open(name_);
  ASSERT_TRUE(known);
  EXPECT_EQ(known->source, 0u) << "the store numbers topics";
  const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
  const Announcement announced{
      .partition = 3, .to = 1, .offset = 1, .metadata = "m\n", .owner_epoch = owner_epoch};
  ASSERT_TRUE(window->Announce({&announced, 1}));
  EXPECT_EQ(other->Open(name_)->metadata, "m\n");
  Redis({"FLUSHALL"});
  ExpectLossIsReported(*window, owner_epoch);
  EXPECT_EQ(Claim(*other, Request("z")).error().code, Code::kLostWrites) << "it has opened it, too";
  EXPECT_NE(other->Open(name_)->incarnation, known->incarnation);
  EXPECT_EQ(AnswerTo(*other, Request("y", 1)), ClaimVerdict::kInFlight)
      << "the secret is the new one";
}

TEST_F(RedisWindowTest, AScopeOfAnotherServiceNamesBothAndTheirDifferenceFirst) {
  Start();
  const auto window = Open();
  ASSERT_TRUE(window->Open({.partition = 3, .topic = "t", .owner = "group g, id from header a"}));
  const auto other = window->Open({.partition = 4, .topic = "t", .owner = "group g, id from key"});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Code::kInvalid);
  EXPECT_TRUE(other.error().message.ends_with(
      " belongs to \"id from header a\", not to \"id from key\"; it was written for \"group g, id "
      "from header a\" and is opened for \"group g, id from key\""))
      << other.error().message;
}

TEST_F(RedisWindowTest, ARestartThatLosesTheLastChangesIsRecognised) {
  Start();
  const auto window = Open();
  EXPECT_FALSE(window->capabilities().survives_restart);
  ASSERT_TRUE(window->Open(name_));
  Redis({"SAVE"});  // an older copy, with the scope
  const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
  const Announcement announced{
      .partition = 3, .to = 1, .offset = 1, .metadata = "m", .owner_epoch = owner_epoch};
  ASSERT_TRUE(window->Announce({&announced, 1}));
  server_->Kill9();
  server_->Restart();
  ExpectLossIsReported(*window, owner_epoch);
}

bool Sleeps(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  std::string line;
  while (std::getline(status, line) && !line.starts_with("State:")) {
  }
  return line.find('S', line.find(':')) != std::string::npos;
}

// Rule 31. It knew of less than was acknowledged when it was sent, so the script cannot tell.
TEST_F(RedisWindowTest, ACallThatWaitedForItsConnectionDoesNotHideALoss) {
  Start();
  TcpProxy proxy(server_->port());
  auto options = Options();
  options.max_connections = 1;
  options.call = std::chrono::seconds(20);
  const auto window = OpenAt(UrlAt(proxy.port()), options);
  ASSERT_TRUE(window->Open(name_));
  Finish(*window, 1, "before");
  const std::string counter = Redis({"KEYS", "*n:*"}).list.at(0).text;
  const std::string before = Redis({"GET", counter}).text;
  proxy.Set(TcpProxy::Mode::kHoldReplies);
  const ClaimRequest lost = Request("lost");
  const ClaimRequest late = Request("late", 1);
  Result<ClaimAnswer> first = Error{};
  Result<ClaimAnswer> second = Error{};
  std::thread acknowledged([&] { first = Claim(*window, lost); });
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    return Redis({"GET", counter}).text != before;
  }));
  std::atomic<pid_t> waiter{0};
  std::thread waits([&] {
    waiter = gettid();
    second = Claim(*window, late);
  });
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] { return Sleeps(waiter); }));
  // As a replica without the last change.
  Redis({"SET", counter, before});
  Redis({"DEL", Redis({"KEYS", "*i:*"}).list.at(0).text});
  proxy.Set(TcpProxy::Mode::kPass);
  acknowledged.join();
  waits.join();
  if (first) {
    EXPECT_EQ(first->answer, ClaimVerdict::kGranted);
  } else {
    EXPECT_EQ(first.error().code, Code::kLostWrites) << "the second one was answered before";
  }
  ASSERT_FALSE(second) << "the store has as many changes as before, but not the same";
  EXPECT_EQ(second.error().code, Code::kLostWrites);
  const bool made = !Redis({"KEYS", "*i:*"}).list.empty();
  EXPECT_EQ(second.error().effect == ::oncemq::Effect::kUnknown, made) << "of its claim";
  EXPECT_TRUE(window->Open(name_)->lost_writes);
  EXPECT_EQ(AnswerTo(*window, late), ClaimVerdict::kGranted);
}

TEST_F(RedisWindowTest, ARestartWithAnAppendOnlyFileLosesNothing) {
  Start({"--appendonly", "yes", "--appendfsync", "always"});
  const auto window = Open();
  EXPECT_TRUE(window->capabilities().survives_restart);
  ASSERT_TRUE(window->Open(name_));
  const ClaimRequest claim = Request("x");
  ASSERT_EQ(AnswerTo(*window, claim), ClaimVerdict::kGranted);
  server_->Kill9();
  server_->Restart();
  Result<MarkerChange> made = Error{};
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    made = Complete(*window, claim, "kept");
    return made || made.error().code == Code::kLostWrites;
  }));
  ASSERT_TRUE(made) << ToString(made.error());
  EXPECT_EQ(*made, MarkerChange::kMade);
  EXPECT_EQ(Claim(*window, Request("x", 9))->result, "kept");
}

// Its count would be gone, and look like a loss.
TEST_F(RedisWindowTest, AProcessThatOnlyLooksIsNotForgotten) {
  Start();
  const auto window = Open();
  ASSERT_TRUE(window->Open(name_));
  Finish(*window, 1, "x");
  const std::string counter = Redis({"KEYS", "*n:*"}).list.at(0).text;
  const auto fades = [&] { Redis({"PEXPIRE", counter, "100000"}); };
  const auto kept = [&] { return Redis({"PTTL", counter}).integer > 600'000'000; };
  EXPECT_TRUE(kept());
  fades();
  const ClaimRequest copy = Request("x0", 9);
  EXPECT_EQ(AnswerTo(*window, copy), ClaimVerdict::kDuplicate);
  EXPECT_TRUE(kept());
  fades();
  EXPECT_EQ(*Complete(*window, copy), MarkerChange::kFenced);
  EXPECT_TRUE(kept());
}

TEST_F(RedisWindowTest, AnAnswerThatIsLostIsAskedForAgain) {
  Start();
  TcpProxy proxy(server_->port());
  auto options = Options();
  options.call = milliseconds(500);
  const auto window = OpenAt(UrlAt(proxy.port()), options);
  const auto loses = [&](auto call) {
    proxy.Set(TcpProxy::Mode::kSwallowReplies);
    const auto lost = call();
    EXPECT_FALSE(lost);
    EXPECT_EQ(lost.error().effect, ::oncemq::Effect::kUnknown);
    proxy.Set(TcpProxy::Mode::kPass);
    proxy.Cut();
  };
  Finish(*window, 1, "before");  // the server knows the scripts
  const ClaimRequest claim = Request("x");
  loses([&] { return Claim(*window, claim); });
  EXPECT_EQ(AnswerTo(*window, Request("x", 9)), ClaimVerdict::kInFlight) << "the claim was made";
  EXPECT_EQ(AnswerTo(*window, claim), ClaimVerdict::kGranted);
  loses([&] { return Complete(*window, claim); });
  EXPECT_EQ(*Complete(*window, claim), MarkerChange::kMade);
  EXPECT_EQ(AnswerTo(*window, Request("x", 9)), ClaimVerdict::kDuplicate);
  EXPECT_EQ((*window->Stat())[0].history, 2u);
}

// Both find the id without a holder. The second one judges an old look.
TEST_F(RedisWindowTest, AClaimThatWasJudgedTooEarlyIsJudgedAgain) {
  Start();
  TcpProxy proxy(server_->port());
  const auto slow = OpenAt(UrlAt(proxy.port()), Options());
  const auto fast = Open();
  const ClaimRequest first = Request("x");
  ASSERT_EQ(AnswerTo(*fast, first), ClaimVerdict::kGranted);
  const ReleaseRequest doubt{.id = "x", .token = first.token, .uncertain = true};
  MarkerChange change{};
  ASSERT_TRUE(fast->Release({&doubt, 1}, {&change, 1}));
  proxy.Set(TcpProxy::Mode::kHoldReplies);
  const int64_t before = IdReads();
  const ClaimRequest late = Request("x", 9);
  Result<ClaimAnswer> answer = Error{};
  std::thread copy([&] { answer = Claim(*slow, late); });
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] { return IdReads() != before; }));
  EXPECT_EQ(AnswerTo(*fast, Request("x", 5)), ClaimVerdict::kGranted);
  proxy.Set(TcpProxy::Mode::kPass);
  copy.join();
  ASSERT_TRUE(answer) << ToString(answer.error());
  EXPECT_EQ(answer->answer, ClaimVerdict::kInFlight);
}

TEST_F(RedisWindowTest, OfTwoWindowsThatRaceEachIdIsGrantedOnce) {
  Start();
  constexpr size_t kIds = 300;
  std::vector<std::string> ids;
  for (size_t i = 0; i < kIds; i++) {
    ids.push_back("id-" + std::to_string(i));
  }
  std::vector<int> granted(2 * kIds);
  const auto run = [&](uint64_t who) {
    const auto window = Open();
    for (size_t i = 0; i < kIds; i++) {
      std::vector<ClaimRequest> claims;
      for (size_t j = i; j < std::min(kIds, i + 20); j++) {
        claims.push_back({.id = ids[j], .token = {who, i * kIds + j + 1}, .at = {0, 3, 0}});
      }
      std::vector<ClaimAnswer> answers(claims.size());
      ASSERT_TRUE(window->Claim(claims, answers));
      for (size_t j = 0; j < claims.size(); j++) {
        if (answers[j].answer == ClaimVerdict::kGranted) {
          granted[who * kIds + i + j]++;
        }
      }
    }
  };
  std::thread other([&] { run(1); });
  run(0);
  other.join();
  for (size_t i = 0; i < kIds; i++) {
    EXPECT_EQ(granted[i] + granted[kIds + i], 1) << ids[i];
  }
}

// Rules 22, 24 and 26: a generation goes as a whole, when all of it lies below the frontier.
TEST_F(RedisWindowTest, WhatHasAgedIsDroppedAndIsNeverNew) {
  Start();
  auto options = Options();
  options.remember = milliseconds(3'600'000);
  options.skew = milliseconds(0);
  const auto window = OpenAt(server_->url(), options);
  const OwnerEpoch owner_epoch = *window->RaiseOwnerEpoch(0, 3, 0);
  Progress progress{.partition = 3, .owner_epoch = owner_epoch, .watermark = kThen};
  MarkerChange change{};
  ASSERT_TRUE(window->Committed({&progress, 1}, {&change, 1})) << "its log time is known";
  Finish(*window, 10'000, "id-");
  progress.frontier = 3;
  progress.watermark = kThen + 2 * options.remember;
  const auto kept = [&] {
    EXPECT_TRUE(window->Committed({&progress, 1}, {&change, 1}));
    EXPECT_EQ(change, MarkerChange::kMade);
    EXPECT_TRUE(window->DropAged(std::chrono::seconds(20)));
    return (*window->Stat())[0].history;
  };
  EXPECT_EQ(kept(), 10'000u) << "some of each lot are not below the frontier";
  progress.frontier = 10'000;
  ASSERT_TRUE(window->RaiseOwnerEpoch(0, 4, 0));
  EXPECT_EQ(kept(), 10'000u) << "another partition is behind";
  Progress other{.partition = 4,
                 .owner_epoch = *window->RaiseOwnerEpoch(0, 4, 0),
                 .frontier = 0,
                 .watermark = progress.watermark};
  ASSERT_TRUE(window->Committed({&other, 1}, {&change, 1}));
  other.watermark = kNoLogTime;  // as each assignment commits: what is known of it stays
  ASSERT_TRUE(window->Committed({&other, 1}, {&change, 1}));
  EXPECT_EQ(kept(), 0u);
  EXPECT_EQ(AnswerTo(*window, Request("id-5", 20'000)), ClaimVerdict::kOutsideWindow);
  EXPECT_LT(Redis({"DBSIZE"}).integer, 10) << "nothing of it is left";
}

// Its time is in its record; the TTL only frees the space.
TEST_F(RedisWindowTest, AnIdWithoutAPartitionIsAKeyOfItsOwnWithItsTime) {
  Start();
  const auto window = Open();
  const auto finish = [&](std::string_view id, milliseconds keep) {
    const ClaimRequest claim{.id = id, .token = {7, ++tokens_}};
    ASSERT_EQ(AnswerTo(*window, claim), ClaimVerdict::kGranted);
    const CompleteRequest request{
        .id = id, .token = claim.token, .result = "the answer", .keep = keep};
    MarkerChange change{};
    ASSERT_TRUE(window->Complete({&request, 1}, {&change, 1}));
    EXPECT_EQ(change, MarkerChange::kMade);
  };
  const auto ttls = [&] {
    std::vector<int64_t> all;
    for (const RedisReply& key : Redis({"KEYS", "*i:*"}).list) {
      all.push_back(Redis({"PTTL", key.text}).integer);
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  constexpr milliseconds kWeek = std::chrono::hours(24 * 7);
  finish("for ever", kForEver);
  finish("a week", kWeek);
  std::vector<int64_t> left = ttls();
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left[0], -1) << "for ever";
  EXPECT_GT(left[1], (kWeek - std::chrono::minutes(1)).count());
  EXPECT_LE(left[1], kWeek.count());
  finish("a moment", milliseconds(1));
  EXPECT_TRUE(Eventually(std::chrono::seconds(10), [&] { return ttls().size() == 2; }));
  EXPECT_EQ(AnswerTo(*window, {.id = "a moment", .token = {7, ++tokens_}}), ClaimVerdict::kGranted);
  const std::string_view forgotten = "a week";
  MarkerChange change{};
  ASSERT_TRUE(window->ForgetByHand({&forgotten, 1}, {&change, 1}));
  EXPECT_EQ(change, MarkerChange::kMade);
  EXPECT_EQ(AnswerTo(*window, {.id = "a week", .token = {7, ++tokens_}}), ClaimVerdict::kGranted);
  EXPECT_EQ((*window->Stat())[0].open, 2u);
  EXPECT_EQ((*window->Stat())[0].parked, 0u);
}

// 32 MB of them: the server would make all wait for such an answer, and the client refuses a longer
// one.
TEST_F(RedisWindowTest, ManyLongResultsComeInSeveralAnswers) {
  Start();
  const auto window = Open();
  const std::string result(window->capabilities().max_result_bytes, 'r');
  for (const int32_t partition : {3, kNoPartition}) {
    std::vector<std::string> ids;
    for (size_t i = 0; i < 500; i++) {
      ids.push_back(std::to_string(partition) + "/" + std::to_string(i));
    }
    std::vector<ClaimRequest> claims;
    std::vector<CompleteRequest> done;
    for (const std::string& id : ids) {
      claims.push_back({.id = id, .token = {7, ++tokens_}, .at = {0, partition, 1}, .time = kThen});
      done.push_back({.id = id,
                      .token = claims.back().token,
                      .at = claims.back().at,
                      .result = result,
                      .time = kThen});
    }
    std::vector<ClaimAnswer> answers(ids.size());
    std::vector<MarkerChange> changes(ids.size());
    ASSERT_TRUE(window->Claim(claims, answers));
    ASSERT_TRUE(window->Complete(done, changes));
    for (ClaimRequest& copy : claims) {
      copy.token = {8, ++tokens_};
      copy.at.offset = 2;
    }
    const int64_t before = IdReads();
    const Status told = window->Claim(claims, answers);
    ASSERT_TRUE(told) << ToString(told.error());
    EXPECT_GE(IdReads() - before, 4);
    for (const ClaimAnswer& answer : answers) {
      ASSERT_EQ(answer.answer, ClaimVerdict::kDuplicate);
      EXPECT_EQ(answer.result, result);
    }
  }
}

TEST_F(RedisWindowTest, AFinishedIdTakesFewBytes) {
  Start();
  const auto window = Open();
  const auto used = [&] {
    const std::string info = Redis({"INFO", "memory"}).text;
    return ParseDecimal(RedisInfo(info, "used_memory")).value_or(0);
  };
  constexpr size_t kIds = 100'000;
  const int64_t before = used();
  Finish(*window, kIds, "0190f5a6-7b3c-7def-8123-456789");
  const double bytes = static_cast<double>(used() - before) / kIds;
  std::printf("bytes of a finished id: %.1f\n", bytes);
  EXPECT_LT(bytes, 90);
  EXPECT_EQ((*window->Stat())[0].history, kIds);
  for (size_t i = 0; i < kIds; i += 997) {
    EXPECT_EQ(
        AnswerTo(*window, Request("0190f5a6-7b3c-7def-8123-456789" + std::to_string(i), 500'000)),
        ClaimVerdict::kDuplicate);
  }
}

TEST_F(RedisWindowTest, AnAnnouncementWaitsForReplicas) {
  Start({"--repl-diskless-sync-delay", "0"});
  auto options = Options();
  options.replicas = 1;
  options.call = milliseconds(400);
  const auto window = OpenAt(server_->url(), options);
  ASSERT_TRUE(window->Open(name_));
  const Announcement announced{.partition = 3, .to = 1, .offset = 1};
  const Status alone = window->Announce({&announced, 1});
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, Code::kUnavailable);
  const auto replica =
      RedisServer::Start({"--replicaof", "127.0.0.1", std::to_string(server_->port())});
  EXPECT_TRUE(Eventually(std::chrono::seconds(30), [&] {
    return window->Announce({&announced, 1}).has_value();
  }));
  EXPECT_FALSE(OpenRedisWindow(replica->url(), Options())) << "a replica takes no changes";
}

// It has no commit that an announcement goes before.
TEST_F(RedisWindowTest, AnIdWithoutAPartitionWaitsForReplicas) {
  Start({"--repl-diskless-sync-delay", "0"});
  auto options = Options();
  options.replicas = 1;
  options.call = milliseconds(400);
  const auto window = OpenAt(server_->url(), options);
  const ClaimRequest owned = Request("owned");
  const ClaimRequest alone{.id = "alone", .token = {7, ++tokens_}};
  const ClaimRequest parked{.id = "parked", .token = {7, ++tokens_}};
  for (const ClaimRequest& claim : {owned, alone, parked}) {
    ASSERT_EQ(AnswerTo(*window, claim), ClaimVerdict::kGranted);
  }
  const auto park = [&]() -> Status {
    const ParkRequest request{.id = parked.id, .token = parked.token};
    MarkerChange change{};
    return window->Park({&request, 1}, {&change, 1});
  };
  EXPECT_EQ(*Complete(*window, owned), MarkerChange::kMade) << "its commit waits";
  for (int i = 0; i < 5; i++) {
    const auto short_of = Complete(*window, alone);
    ASSERT_FALSE(short_of);
    EXPECT_EQ(short_of.error().code, Code::kUnavailable);
    EXPECT_EQ(short_of.error().effect, ::oncemq::Effect::kUnknown);
    EXPECT_NE(short_of.error().message.find("0 of 1 replicas"), std::string::npos)
        << "the server answers: " << short_of.error().message;
  }
  EXPECT_EQ(park().error().code, Code::kUnavailable);
  const auto replica =
      RedisServer::Start({"--replicaof", "127.0.0.1", std::to_string(server_->port())});
  EXPECT_TRUE(Eventually(std::chrono::seconds(30), [&] {
    const auto change = Complete(*window, alone);
    return change && *change == MarkerChange::kMade;
  }));
}

TEST_F(RedisWindowTest, WhatIsMissingIsSaidWithItsRemedy) {
  Start();
  const auto expect = [&](const std::string& url, const RedisWindowOptions& options,
                          const char* word) {
    const auto refused = OpenRedisWindow(url, options);
    ASSERT_FALSE(refused) << word;
    EXPECT_EQ(refused.error().code, Code::kInvalid) << ToString(refused.error());
    EXPECT_NE(refused.error().message.find(word), std::string::npos) << refused.error().message;
  };
  static_cast<void>(Open());
  expect(server_->url(), Options(Level::kOpaque), "another level");
  expect(server_->url(), Options(Level::kAtomic), "atomic");
  auto braces = Options();
  braces.prefix = "a{b}";
  expect(server_->url(), braces, "braces");
  auto longest = Options();
  longest.remember = std::chrono::hours(24 * 365 * 100);
  EXPECT_NE(OpenAt(server_->url(), longest), nullptr);
  longest.skew = longest.remember + milliseconds(1);
  expect(server_->url(), longest, "century");
  longest = Options();
  longest.remember = milliseconds::max();
  expect(server_->url(), longest, "century");
  auto existing = Options();
  existing.existing_only = true;
  existing.scope = "nobody's";
  EXPECT_EQ(OpenRedisWindow(server_->url(), existing).error().code, Code::kNotFound);
  const std::string address = server_->url().substr(std::string("redis://").size());
  Redis({"ACL", "SETUSER", "app", "on", ">secret", "~oncemq:*", "+@all", "-zadd"});
  expect("redis://app:secret@" + address, Options(), "ZADD");
  Redis({"ACL", "SETUSER", "app", "+zadd", "resetkeys", "~other:*"});
  expect("redis://app:secret@" + address, Options(), "key");
  auto other = Options();
  other.prefix = "other";
  EXPECT_NE(OpenAt("redis://app:secret@" + address, other), nullptr);
  Redis({"ACL", "SETUSER", "app", "-wait"});
  EXPECT_NE(OpenAt("redis://app:secret@" + address, other), nullptr);
  other.replicas = 1;
  expect("redis://app:secret@" + address, other, "WAIT");
  Redis({"CONFIG", "SET", "maxmemory", "1mb"});
  EXPECT_EQ(OpenRedisWindow(server_->url(), Options()).error().code, Code::kFull);
  Redis({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  expect(server_->url(), Options(), "noeviction");
}

}  // namespace
}  // namespace oncemq::testing
