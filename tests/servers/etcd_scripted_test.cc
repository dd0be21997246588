// SPDX-License-Identifier: Apache-2.0
// The client and the locks against what looks like an etcd and is none, or not a good one.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>

#include "etcd/etcd_keys.h"
#include "etcd/etcd_session.h"
#include "oncemq/base/bytes.h"
#include "oncemq/clients/etcd_client.h"
#include "oncemq/locks/etcd_locks.h"
#include "scripted_etcd.h"
#include "support/eventually.h"

namespace oncemq::testing {
namespace {

constexpr EtcdTimes kPatientScript{milliseconds(20'000), milliseconds(20'000)};
constexpr EtcdTimes kShortScript{milliseconds(1'500), milliseconds(1'500)};
constexpr std::chrono::seconds kDripsFor{12};

std::string Status(const std::string& version = "3.4.23") {
  return "{" + ScriptedEtcd::Header(1, 2) + R"(,"version":")" + version + "\"}";
}

TEST(ScriptedEtcdTest, AnOlderOneIsRefused) {
  for (const char* version : {"3.3.27", "2.9.9", "", "rubbish", "3"}) {
    const ScriptedEtcd etcd([&](const auto&, const auto&) { return Status(version); });
    const auto client = EtcdClient::Open(*ParseEtcdEndpoint(etcd.url()), kPatientScript);
    ASSERT_FALSE(client.has_value()) << version;
    EXPECT_EQ(client.error().code, Code::kInvalid) << version;
  }
  for (const char* version : {"3.4.0", "3.10.1", "4.0.0"}) {
    const ScriptedEtcd etcd([&](const auto&, const auto&) { return Status(version); });
    EXPECT_TRUE(EtcdClient::Open(*ParseEtcdEndpoint(etcd.url()), kPatientScript)) << version;
  }
}

TEST(ScriptedEtcdTest, WhatIsNoAnswerIsAnErrorAndWhatWasDoneIsNotKnown) {
  const std::string huge(size_t{33} << 20, ' ');
  for (const std::string& answer :
       {std::string(), std::string("rubbish"), std::string("[]"), huge}) {
    const ScriptedEtcd etcd([&](const std::string& path, const auto&) {
      return path == "/v3/kv/txn" ? answer : Status();
    });
    const auto client = EtcdClient::Open(*ParseEtcdEndpoint(etcd.url()), kPatientScript);
    ASSERT_TRUE(client.has_value());
    const auto txn = (*client)->Run(EtcdOp{.kind = EtcdOp::Kind::kPut, .key = "k"});
    ASSERT_FALSE(txn.has_value());
    EXPECT_EQ(txn.error().effect, Effect::kUnknown);
  }
}

TEST(ScriptedEtcdTest, AHeadThatComesByteByByteIsCutOffInTime) {
  ScriptedEtcd etcd([](const auto&, const auto&) { return Status(); });
  const auto client = EtcdClient::Open(*ParseEtcdEndpoint(etcd.url()), kShortScript);
  ASSERT_TRUE(client.has_value());
  etcd.Drip();
  const Clock& clock = SystemClock::Instance();
  const BootTime began = clock.Boot();
  const auto slow = (*client)->Run(EtcdOp{.kind = EtcdOp::Kind::kPut, .key = "k"});
  ASSERT_FALSE(slow.has_value());
  EXPECT_EQ(slow.error().effect, Effect::kUnknown);
  EXPECT_LT(clock.Boot() - began, kDripsFor * 2 / 3);
}

// One that was leader until a moment ago acknowledges the session; the request is answered in the
// term of the next leader, who may have ended it.
TEST(ScriptedEtcdTest, AnAcknowledgementOfAnEarlierTermIsAskedForAgain) {
  std::atomic<int> kept{0};
  std::atomic<int> kept_before{0};  // the second ask; a session is kept by itself, too
  std::atomic<int> asked{0};
  const ScriptedEtcd etcd([&](const std::string& path, const std::string& json) -> std::string {
    if (path == "/v3/lease/grant") {
      return "{" + ScriptedEtcd::Header(5, 2) + R"(,"ID":"77","TTL":"40"})";
    }
    if (path == "/v3/lease/keepalive") {
      kept++;
      return R"({"result":{)" + ScriptedEtcd::Header(9, 3) + R"(,"ID":"77","TTL":"40"}})";
    }
    if (path != "/v3/kv/txn") {
      return Status();
    }
    if (json.find("request_range") == std::string::npos) {  // the key of the session
      return "{" + ScriptedEtcd::Header(6, 2) +
             R"(,"succeeded":true,"responses":[{"response_put":{}}]})";
    }
    if (++asked == 1) {  // the short way
      return "{" + ScriptedEtcd::Header(9, 3) +
             R"(,"succeeded":true,"responses":[{"response_put":{}}]})";
    }
    kept_before = kept.load();
    constexpr std::string_view kPut = R"("request_put":{"key":")";
    const size_t at = json.find(kPut) + kPut.size();
    const std::string mine = R"({"response_range":{"kvs":[{"key":")" +
                             json.substr(at, json.find('"', at) - at) +
                             R"(","create_revision":"9","lease":"77",)" +
                             R"("value":"MAAAAAAAAAAAAAAAAA=="}],"count":"1"}})";
    return "{" + ScriptedEtcd::Header(9, 3) +
           R"(,"succeeded":true,"responses":[{"response_txn":{"responses":[)" + mine + "]}}," +
           mine + "]}";
  });
  const auto locks =
      OpenEtcdLocks(etcd.url(), {.connect = kPatientScript.connect, .call = kPatientScript.call});
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  const AcquireRequest request{.name = "x",
                               .token = {1, 1},
                               .lease = milliseconds(9'000),
                               .queue_lease = milliseconds(9'000)};
  const auto answer = (*locks)->Request(request);
  ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
  EXPECT_EQ(answer->kind, LockAnswer::Kind::kGranted);
  EXPECT_EQ(answer->fence.token, 9u);
  EXPECT_GE(kept_before, 1);
  EXPECT_EQ(asked, 2);
}

// The first try makes the key, in another term than the session was acknowledged in; before the
// second one somebody seals the store.
TEST(ScriptedEtcdTest, WhatAnAskMadeBeforeTheStoreWasSealedIsRemoved) {
  std::atomic<int> asked{0};
  std::atomic<bool> removed{false};
  const ScriptedEtcd etcd([&](const std::string& path, const std::string& json) -> std::string {
    if (path == "/v3/lease/grant") {
      return "{" + ScriptedEtcd::Header(5, 2) + R"(,"ID":"77","TTL":"40"})";
    }
    if (path == "/v3/lease/keepalive") {
      return R"({"result":{)" + ScriptedEtcd::Header(9, 3) + R"(,"ID":"77","TTL":"40"}})";
    }
    if (path != "/v3/kv/txn") {
      return Status();
    }
    const std::string done =
        "{" + ScriptedEtcd::Header(9, 3) + R"(,"succeeded":true,"responses":[)";
    if (json.find("request_delete_range") != std::string::npos) {
      removed = true;
      return done + R"({"response_put":{}},{"response_delete_range":{"deleted":"1"}}]})";
    }
    if (json.find("request_range") == std::string::npos) {  // the key of the session
      return "{" + ScriptedEtcd::Header(6, 2) +
             R"(,"succeeded":true,"responses":[{"response_put":{}}]})";
    }
    if (++asked == 1) {
      return done + R"({"response_put":{}}]})";
    }
    return "{" + ScriptedEtcd::Header(10, 3) +
           R"(,"responses":[{"response_range":{"count":"1","kvs":[{"key":"cw==","value":")" +
           Base64Encode("5") + R"("}]}},{"response_range":{}}]})";
  });
  const auto locks =
      OpenEtcdLocks(etcd.url(), {.connect = kPatientScript.connect, .call = kPatientScript.call});
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  const auto answer = (*locks)->Request({.name = "x",
                                         .token = {1, 1},
                                         .lease = milliseconds(9'000),
                                         .queue_lease = milliseconds(9'000)});
  ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
  EXPECT_EQ(answer->kind, LockAnswer::Kind::kSealed);
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(Eventually(std::chrono::seconds(30), [&] { return removed.load(); }));
}

// The server would find a watch from an earlier revision late, a tenth of a second as a rule.
TEST(ScriptedEtcdTest, AWaiterWatchesFromNowOn) {
  const AcquireRequest request{.name = "x",
                               .token = {1, 2},
                               .lease = milliseconds(9'000),
                               .queue_lease = milliseconds(9'000)};
  const EtcdLockKeys keys("");
  const auto entry = [](const std::string& key, const std::string& facts) {
    return R"({"key":")" + Base64Encode(key) + R"(",)" + facts + "}";
  };
  const std::string line =
      entry(keys.Request(request.name, request.mode, {1, 1}), R"("create_revision":"8")") + "," +
      entry(keys.Request(request.name, request.mode, request.token), R"("create_revision":"9")");
  const std::string session = entry(keys.Session(77), R"("mod_revision":"6")");
  std::atomic<int> asked{0};
  std::atomic<int> watches{0};
  std::atomic<int> from_the_past{0};
  const ScriptedEtcd etcd([&](const std::string& path, const std::string& json) -> std::string {
    if (path == "/v3/lease/grant") {
      return "{" + ScriptedEtcd::Header(5, 2) + R"(,"ID":"77","TTL":"40"})";
    }
    if (path == "/v3/lease/keepalive") {
      return R"({"result":{)" + ScriptedEtcd::Header(9, 2) + R"(,"ID":"77","TTL":"40"}})";
    }
    if (path == "/v3/watch") {
      watches++;
      from_the_past += json.find("start_revision") == std::string::npos ? 0 : 1;
      return R"({"result":{)" + ScriptedEtcd::Header(9, 2) + R"(,"created":true}})" + "\n";
    }
    if (path != "/v3/kv/txn") {
      return Status();
    }
    if (json.find("request_range") == std::string::npos) {  // the key of the session
      return "{" + ScriptedEtcd::Header(6, 2) +
             R"(,"succeeded":true,"responses":[{"response_put":{}}]})";
    }
    if (json.find("request_put") == std::string::npos) {  // whoever was ahead is gone
      return "{" + ScriptedEtcd::Header(9, 2) +
             R"(,"succeeded":true,"responses":[{"response_range":{}}]})";
    }
    if (++asked == 1) {  // the short way
      return "{" + ScriptedEtcd::Header(8, 2) +
             R"(,"responses":[{"response_range":{}},{"response_range":{"count":"1","kvs":[)" +
             session + "]}}]}";
    }
    return "{" + ScriptedEtcd::Header(9, 2) +
           R"(,"succeeded":true,"responses":[{"response_txn":{"succeeded":true,"responses":)" +
           R"([{"response_put":{}}]}},{"response_range":{"count":"2","kvs":[)" + line + "]}}]}";
  });
  const auto locks =
      OpenEtcdLocks(etcd.url(), {.connect = milliseconds(20'000), .call = milliseconds(20'000)});
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  const auto answer = (*locks)->Request(request);
  ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
  ASSERT_EQ(answer->kind, LockAnswer::Kind::kQueued);
  const BootTime until = SystemClock::Instance().Boot() + std::chrono::seconds(30);
  const auto waited = (*locks)->Await(request, until, {});
  EXPECT_TRUE(waited.has_value()) << ToString(waited.error());
  EXPECT_EQ(watches, 1);
  EXPECT_EQ(from_the_past, 0);
}

// A short lease has little time for an answer. A long one that waited next to it asks by itself.
TEST(ScriptedEtcdTest, AnAcknowledgementThatCameTooLateForAShortLeaseIsAskedForAgainByALongOne) {
  constexpr milliseconds kShortLived{1'000};
  std::atomic<int> kept{0};
  std::atomic<bool> over{false};
  const ScriptedEtcd etcd([&](const std::string& path, const std::string&) -> std::string {
    if (path == "/v3/lease/grant") {
      return "{" + ScriptedEtcd::Header(5, 2) + R"(,"ID":"77","TTL":"40"})";
    }
    if (path == "/v3/lease/keepalive") {
      for (const bool hangs = ++kept == 1; hangs && !over;) {
        SleepFor(milliseconds(1));
      }
      return R"({"result":{)" + ScriptedEtcd::Header(9, 2) + R"(,"ID":"77","TTL":"40"}})";
    }
    if (path != "/v3/kv/txn") {
      return Status();
    }
    return "{" + ScriptedEtcd::Header(6, 2) +
           R"(,"succeeded":true,"responses":[{"response_put":{}}]})";
  });
  const auto client = EtcdClient::Open(*ParseEtcdEndpoint(etcd.url()), kPatientScript);
  ASSERT_TRUE(client.has_value());
  const EtcdLockKeys keys("");
  HoldListeners listeners;
  EtcdSession session(**client, keys, std::chrono::seconds(40), kPatientScript.call, listeners);
  const Clock& clock = SystemClock::Instance();
  ASSERT_TRUE(session.Until(clock.Boot()));
  // No acknowledgement from before now is enough for it.
  const BootTime until = EtcdLivesUntil(clock.Boot(), std::chrono::seconds(40));
  auto of_short = std::async(std::launch::async, [&] { return session.Until(until, kShortLived); });
  EXPECT_TRUE(Eventually(std::chrono::seconds(20), [&] { return kept == 1; }));
  const auto of_long = session.Until(until);
  over = true;
  EXPECT_TRUE(of_long.has_value()) << ToString(of_long.error());
  of_short.wait();
  EXPECT_EQ(kept, 2);
}

}  // namespace
}  // namespace oncemq::testing
