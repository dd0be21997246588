// SPDX-License-Identifier: Apache-2.0
// A window in a real Redis, and short calls of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "oncemq/base/bytes.h"
#include "oncemq/clients/redis_client.h"
#include "oncemq/dedup/redis_window.h"
#include "oncemq/dedup/store_stat.h"
#include "support/eventually.h"
#include "support/redis_server.h"

namespace oncemq::testing {

inline constexpr LogTime kThen{milliseconds(1'600'000'000'000)};

class RedisWindowTest : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_REDIS(); }
  void Start(std::vector<std::string> arguments = {}) {
    server_ = RedisServer::Start(std::move(arguments));
    Connect();
  }
  void Connect() { client_ = *RedisClient::Open(*ParseRedisEndpoint(server_->url())); }
  RedisReply Redis(const RedisCommand& command) {
    auto reply = client_->Run(command);
    EXPECT_TRUE(reply) << ToString(reply.error());
    return reply ? *std::move(reply) : RedisReply{};
  }
  // How many scripts have read ids.
  int64_t IdReads() {
    const std::string stats = Redis({"INFO", "commandstats"}).text;
    const std::string_view mget = RedisInfo(stats, "cmdstat_mget");
    constexpr std::string_view kCalls = "calls=";
    return mget.starts_with(kCalls)
               ? ParseDecimal(mget.substr(kCalls.size(), mget.find(',') - kCalls.size()))
                     .value_or(-1)
               : 0;
  }
  static RedisWindowOptions Options(Level level = Level::kGuarded) {
    RedisWindowOptions options;
    options.scope = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    options.level = level;
    return options;
  }
  std::unique_ptr<Window> Open() { return OpenAt(server_->url(), Options()); }
  static std::unique_ptr<Window> OpenAt(const std::string& url, const RedisWindowOptions& options) {
    auto window = OpenRedisWindow(url, options);
    EXPECT_TRUE(window) << ToString(window.error());
    return window ? *std::move(window) : nullptr;
  }
  static std::string UrlAt(uint16_t port) { return "redis://127.0.0.1:" + std::to_string(port); }
  ClaimRequest Request(std::string_view id, int64_t offset = 0) {
    return {.id = id, .token = {7, ++tokens_}, .at = {0, 3, offset}, .time = kThen};
  }
  static Result<ClaimAnswer> Claim(Window& window, const ClaimRequest& request) {
    ClaimAnswer answer;
    const Status done = window.Claim({&request, 1}, {&answer, 1});
    return done ? Result<ClaimAnswer>(answer) : done.error();
  }
  static ClaimVerdict AnswerTo(Window& window, const ClaimRequest& request) {
    const auto answer = Claim(window, request);
    EXPECT_TRUE(answer) << ToString(answer.error());
    return answer ? answer->answer : ClaimVerdict::kIncomplete;
  }
  static Result<MarkerChange> Complete(Window& window, const ClaimRequest& claim,
                                       std::string_view result = {}) {
    const CompleteRequest request{
        .id = claim.id, .token = claim.token, .at = claim.at, .result = result, .time = claim.time};
    MarkerChange change{};
    const Status done = window.Complete({&request, 1}, {&change, 1});
    return done ? Result<MarkerChange>(change) : done.error();
  }
  // Claims and completes as many ids, in batches.
  void Finish(Window& window, size_t count, const std::string& name) {
    for (size_t first = 0; first < count; first += 2'000) {
      std::vector<std::string> ids;
      std::vector<ClaimRequest> claims;
      std::vector<CompleteRequest> done;
      for (size_t i = first; i < std::min(count, first + 2'000); i++) {
        ids.push_back(name + std::to_string(i));
      }
      for (size_t i = 0; i < ids.size(); i++) {
        claims.push_back(Request(ids[i], static_cast<int64_t>(first + i)));
        done.push_back({.id = ids[i], .token = claims[i].token, .at = claims[i].at, .time = kThen});
      }
      std::vector<ClaimAnswer> answers(ids.size());
      std::vector<MarkerChange> changes(ids.size(), MarkerChange::kFenced);
      ASSERT_TRUE(window.Claim(claims, answers));
      ASSERT_TRUE(window.Complete(done, changes));
      EXPECT_EQ(std::count(changes.begin(), changes.end(), MarkerChange::kMade),
                static_cast<std::ptrdiff_t>(ids.size()));
    }
  }
  void ExpectLossIsReported(Window& window, OwnerEpoch owner_epoch);

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<RedisClient> client_;
  const StoreName name_{.source = 9, .partition = 3, .topic = "payments", .owner = "us"};
  uint64_t tokens_ = 0;
};

// Rule 31. The window was opened, and owns the partition, before the server lost its changes.
inline void RedisWindowTest::ExpectLossIsReported(Window& window, OwnerEpoch owner_epoch) {
  const Announcement further{.partition = 3, .to = 2, .offset = 2, .owner_epoch = owner_epoch};
  Status status;
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] {
    status = window.Announce({&further, 1});
    return status || status.error().code == Code::kLostWrites;
  }));
  EXPECT_FALSE(status) << "a lost store is announced as whole";
  window.Close(0, 3);
  ClaimRequest next = Request("y", 1);
  next.owner_epoch = owner_epoch;
  const auto refused = Claim(window, next);
  ASSERT_FALSE(refused) << "it would go on with less than it had";
  EXPECT_EQ(refused.error().code, Code::kLostWrites);
  EXPECT_EQ(window.RaiseOwnerEpoch(0, 3, 0).error().code, Code::kLostWrites);
  const auto anew = window.Open(name_);
  ASSERT_TRUE(anew) << ToString(anew.error());
  EXPECT_TRUE(anew->lost_writes);
  EXPECT_TRUE(anew->lost_since && *anew->lost_since <= BootNow());
  EXPECT_EQ(anew->offset, -1) << "what was announced is gone, and told";
  EXPECT_FALSE(window.Open(name_)->lost_writes) << "it is told once";
  const auto raised = window.RaiseOwnerEpoch(0, 3, 0);
  ASSERT_TRUE(raised);
  EXPECT_GT(*raised, owner_epoch);
  next.owner_epoch = *raised;
  EXPECT_EQ(AnswerTo(window, next), ClaimVerdict::kGranted);
}

}  // namespace oncemq::testing
