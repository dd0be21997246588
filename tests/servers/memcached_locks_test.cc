// SPDX-License-Identifier: Apache-2.0
// Locks in a memcached that forgets, hangs, dies and is full. What every engine does, the
// conformance suite asks.
#include "oncemq/locks/memcached_locks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "oncemq/clients/memcached_client.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/switched_locks.h"
#include "support/eventually.h"
#include "support/memcached_server.h"
#include "support/names_of_any_bytes.h"
#include "support/switch_store.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

using Kind = LockAnswer::Kind;

constexpr milliseconds kLong{60'000};
// Of holds that are to be lost: long against a moment in which the machine does something else.
constexpr milliseconds kLease{3'000};
// Of calls that end by it. Enough for those that are to be answered, on a slow machine.
constexpr milliseconds kCall{1'500};
constexpr std::chrono::seconds kPatience{20};

class MemcachedLocksTest : public ::testing::Test {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_MEMCACHED(); }

  static std::shared_ptr<LockEngine> Open(const std::string& url, MemcachedLockOptions options = {},
                                          milliseconds call = kPatience) {
    options.connect = call;
    options.call = call;
    auto locks = OpenMemcachedLocks(url, options);
    EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    return locks ? *std::move(locks) : nullptr;
  }
  void Start(std::vector<std::string> arguments = {"-M"}) {
    server_ = MemcachedServer::Start(std::move(arguments));
    locks_ = Open(server_->url());
  }
  AcquireRequest New(milliseconds lease = kLong, std::string_view name = "x") {
    return {.name = name,
            .token = {9, ++requests_},
            .lease = lease,
            .queue_lease = lease,
            .who = "a test"};
  }
  static Kind AnswerKind(LockEngine& locks, const AcquireRequest& request) {
    const auto answer = locks.Request(request);
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer ? answer->kind : Kind::kSealed;
  }
  static Extended Extend(LockEngine& locks, const AcquireRequest& request) {
    const LockClaim claim{request.name, request.token, request.lease};
    Extended answer = Extended::kGone;
    const Status done = locks.Extend({&claim, 1}, {&answer, 1});
    EXPECT_TRUE(done.has_value()) << ToString(done.error());
    return answer;
  }
  static Freed Free(LockEngine& locks, const AcquireRequest& request) {
    const LockClaim claim{request.name, request.token, {}};
    Freed answer = Freed::kNotHeld;
    const Status done = locks.Free({&claim, 1}, {&answer, 1});
    EXPECT_TRUE(done.has_value()) << ToString(done.error());
    return answer;
  }
  static void AwaitStop(const std::stop_token& stop) {
    std::atomic<bool> told{false};
    const std::stop_callback callback(stop, [&] {
      told = true;
      told.notify_all();
    });
    told.wait(false);
  }
  // Until there is room for nothing, of any size that a lock has.
  void Fill() {
    const auto client =
        *MemcachedClient::Open(*ParseMemcachedEndpoint(server_->url()), {kPatience, kPatience});
    for (size_t size = 20'000; size >= 1; size = size * 9 / 10) {
      const std::string value(size, 'v');
      for (int i = 0;; i++) {
        const std::string key = "fill:" + std::to_string(size) + ":" + std::to_string(i);
        const auto stored = client->Run({MemcachedCommand::Kind::kAdd, key, value});
        if (!stored) {
          ASSERT_EQ(stored.error().code, Code::kFull) << ToString(stored.error());
          break;
        }
      }
    }
  }

  // Of what Fill() stored, all that is about as long as a hold.
  void MakeRoomForHolds() {
    for (size_t size = 20'000; size >= 60; size = size * 9 / 10) {
      for (int i = 0; size <= 600 && i < 10; i++) {
        server_->Say("delete fill:" + std::to_string(size) + ":" + std::to_string(i));
      }
    }
  }

  std::unique_ptr<MemcachedServer> server_;
  std::shared_ptr<LockEngine> locks_;
  uint64_t requests_ = 0;
};

TEST_F(MemcachedLocksTest, AServerThatMayEvictIsRefusedUnlessTheAddressAllowsIt) {
  const auto server = MemcachedServer::Start({});
  const auto locks = OpenMemcachedLocks(server->url());
  ASSERT_FALSE(locks.has_value());
  EXPECT_EQ(locks.error().code, Code::kInvalid);
  EXPECT_TRUE(OpenMemcachedLocks(server->url() + "?evicts=allowed").has_value());
  EXPECT_EQ(OpenMemcachedLocks(server->url() + "?evicts=yes").error().code, Code::kInvalid);
}

TEST_F(MemcachedLocksTest, AServerWithoutVersionsIsRefused) {
  const auto server = MemcachedServer::Start({"-M", "-C"});
  const auto locks = OpenMemcachedLocks(server->url());
  ASSERT_FALSE(locks.has_value());
  EXPECT_EQ(locks.error().code, Code::kInvalid);
}

// The server's clock has whole seconds: what is kept for one is gone at the next tick.
TEST_F(MemcachedLocksTest, NobodyElseIsGrantedANameBeforeItsLeaseIsOver) {
  Start();
  const auto other = Open(server_->url());
  for (int round = 0; round < 2; round++) {
    SleepFor(milliseconds(350));  // behind the server's tick, so that the next one comes too early
    const BootTime sent = BootNow();
    ASSERT_EQ(AnswerKind(*locks_, New(milliseconds(1'000))), Kind::kGranted);
    const AcquireRequest next = New(milliseconds(1'000));
    EXPECT_TRUE(Eventually(kPatience, [&] { return AnswerKind(*other, next) == Kind::kGranted; }));
    EXPECT_GE(BootNow() - sent, milliseconds(1'000)) << round;
    ASSERT_EQ(Free(*other, next), Freed::kYes);
  }
}

// What waits for a server that is paused is served by a clock that stands where the pause began.
TEST_F(MemcachedLocksTest, AGrantJustBehindAPauseOfTheServerLastsForItsLease) {
  Start();
  const auto other = Open(server_->url());
  ASSERT_EQ(AnswerKind(*locks_, New(kLong, "before")), Kind::kGranted);
  server_->process().Pause();
  SleepFor(milliseconds(6'000));
  const AcquireRequest request = New(milliseconds(1'000));
  BootTime until;
  std::jthread requests([&] {
    for (bool granted = false; !granted;) {
      until = BootNow() + request.lease;
      const auto answer = locks_->Request(request);
      granted = answer && answer->kind == Kind::kGranted;
    }
  });
  SleepFor(milliseconds(100));
  server_->process().Continue();
  requests.join();
  const AcquireRequest next = New();
  ASSERT_TRUE(Eventually(kPatience, [&] { return AnswerKind(*other, next) == Kind::kGranted; }));
  EXPECT_GE(BootNow(), until);
}

TEST_F(MemcachedLocksTest, ADeadHoldersNameComesFreeSoonAfterItsLease) {
  Start();
  ASSERT_EQ(AnswerKind(*locks_, New(milliseconds(500))), Kind::kGranted);
  const auto other = Open(server_->url());
  EXPECT_TRUE(Eventually(kPatience, [&] { return AnswerKind(*other, New()) == Kind::kGranted; }));
}

TEST_F(MemcachedLocksTest, AHoldThatEndedIsNotExtendedThoughTheServerHasItStill) {
  Start();
  const AcquireRequest request = New(milliseconds(200));
  ASSERT_EQ(AnswerKind(*locks_, request), Kind::kGranted);
  SleepFor(milliseconds(210));
  EXPECT_EQ(Extend(*locks_, request), Extended::kGone);
  EXPECT_TRUE(locks_->Read("x")->parties.empty());
}

// A former holder's release that comes late finds another one, also one of another process.
TEST_F(MemcachedLocksTest, ALateReleaseDoesNotHitTheNextHolder) {
  Start();
  const auto other = Open(server_->url());
  const AcquireRequest former = New(milliseconds(300));
  ASSERT_EQ(AnswerKind(*locks_, former), Kind::kGranted);
  const AcquireRequest next = New();
  ASSERT_TRUE(Eventually(kPatience, [&] { return AnswerKind(*other, next) == Kind::kGranted; }));
  EXPECT_EQ(Free(*locks_, former), Freed::kNotHeld);
  EXPECT_EQ(Extend(*other, next), Extended::kYes);
}

// A newer command (ms) would drop what lies there when there is no room for what is to come.
TEST_F(MemcachedLocksTest, AFullServerFreesNobodyAndGrantsNothing) {
  Start({"-M", "-m", "2", "-o", "no_lru_crawler"});
  const AcquireRequest holder = New();
  ASSERT_EQ(AnswerKind(*locks_, holder), Kind::kGranted);
  Fill();
  const auto other = Open(server_->url());
  for (int i = 0; i < 3; i++) {
    const auto answer = other->Request(New());
    EXPECT_TRUE(!answer.has_value() || answer->kind == Kind::kBusy);
  }
  ASSERT_EQ(other->Read("x")->parties.size(), 1u) << "the contender took the holder's place";
  const auto elsewhere = other->Request(New(kLong, "y"));
  ASSERT_FALSE(elsewhere.has_value());
  EXPECT_EQ(elsewhere.error().code, Code::kFull);
  EXPECT_EQ(elsewhere.error().effect, Effect::kNone);
  EXPECT_EQ(Free(*locks_, holder), Freed::kYes) << "giving back needs no room";
}

// There is room for holds, and none for the key by which the server's clock is looked at.
TEST_F(MemcachedLocksTest, AHoldThatIsStoredIsTakenBackWhenTheAskFailsBehindIt) {
  Start({"-M", "-m", "2", "-o", "no_lru_crawler"});
  Fill();
  MakeRoomForHolds();
  const AcquireRequest request = New();
  const auto failed = locks_->Request(request);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Code::kFull);
  EXPECT_EQ(failed.error().effect, Effect::kUnknown);
  EXPECT_EQ(locks_->Read("x")->parties.size(), 1u);
  EXPECT_EQ(Free(*locks_, request), Freed::kYes);
}

TEST_F(MemcachedLocksTest, TwoNamesWithOneKeyAreNeverConfused) {
  Start();
  ASSERT_EQ(AnswerKind(*locks_, New(kLong, "a")), Kind::kGranted);
  const auto client =
      *MemcachedClient::Open(*ParseMemcachedEndpoint(server_->url()), {kPatience, kPatience});
  const std::string of_a = MemcachedKey("oncemq:lock:0:", "0::a");
  const std::string of_b = MemcachedKey("oncemq:lock:0:", "0::b");
  const auto a = client->Run({MemcachedCommand::Kind::kGet, of_a});
  ASSERT_TRUE(a.has_value() && a->kind == MemcachedReply::Kind::kFound);
  ASSERT_TRUE(
      client->Run({MemcachedCommand::Kind::kAdd, of_b, a->value, std::chrono::seconds(60)}));
  const auto answer = locks_->Request(New(kLong, "b"));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kCorrupt);
  EXPECT_FALSE(locks_->Read("b").has_value());
}

TEST_F(MemcachedLocksTest, EpochsHaveNothingToDoWithEachOtherAndNothingIsSealed) {
  Start();
  ASSERT_EQ(AnswerKind(*locks_, New()), Kind::kGranted);
  AcquireRequest later = New();
  later.epoch = 3;
  EXPECT_EQ(AnswerKind(*locks_, later), Kind::kGranted);
  EXPECT_EQ(Extend(*locks_, later), Extended::kYes);
  EXPECT_EQ(*locks_->Recall("x"), 1u);
  EXPECT_EQ(Extend(*locks_, later), Extended::kRecalled);
  EXPECT_EQ(Free(*locks_, later), Freed::kYes);
  EXPECT_EQ(locks_->Seal(4).error().code, Code::kInvalid);
  EXPECT_EQ(locks_->Names("", 10).error().code, Code::kInvalid);
}

TEST_F(MemcachedLocksTest, NamesOfAnyBytesAreKeptApartAlsoBetweenEngines) {
  Start();
  const auto other = Open(server_->url());
  const std::vector<std::string> names = NamesOfAnyBytes();
  for (const std::string& name : names) {
    ASSERT_EQ(AnswerKind(*locks_, New(kLong, name)), Kind::kGranted) << name;
  }
  for (const std::string& name : names) {
    EXPECT_EQ(AnswerKind(*other, New(kLong, name)), Kind::kBusy) << name;
  }
}

TEST_F(MemcachedLocksTest, NamesOfDifferentSpacesHaveNothingToDoWithEachOther) {
  Start();
  const auto one = Open(server_->url(), {.space = "a"});
  const auto two = Open(server_->url(), {.space = "a:1:b"});
  EXPECT_EQ(AnswerKind(*one, New(kLong, "1:b:c")), Kind::kGranted);
  EXPECT_EQ(AnswerKind(*two, New(kLong, "c")), Kind::kGranted);
}

TEST_F(MemcachedLocksTest, AHolderIsToldWhenTheServerForgotIt) {
  Start();
  const auto domain = LockDomain::Open(locks_, {.lease = kLease});
  const auto lease = (*domain)->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  server_->Kill9();
  server_->Restart();
  AwaitStop((*lease)->stop());
  EXPECT_EQ((*lease)->lost(), LeaseLoss::kTaken);
  EXPECT_TRUE((*domain)->TryAcquire("x")->has_value());
}

TEST_F(MemcachedLocksTest, AHolderIsToldInTimeWhenTheServerHangs) {
  Start();
  locks_ = Open(server_->url(), {}, kCall);
  auto domain = LockDomain::Open(locks_, {.lease = kLease});
  const auto lease = (*domain)->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  server_->process().Pause();
  AwaitStop((*lease)->stop());
  EXPECT_EQ((*lease)->lost(), LeaseLoss::kDeadline);
  const BootTime began = BootNow();
  (*domain).reset();
  EXPECT_LT(BootNow() - began, kPatience);
  server_->process().Continue();
}

TEST_F(MemcachedLocksTest, AGrantWhoseReplyWasLostIsFoundAgainAndTakenBack) {
  Start();
  TcpProxy network(server_->port());
  const auto locks = Open("memcached://127.0.0.1:" + std::to_string(network.port()), {}, kCall);
  const AcquireRequest request = New();
  network.Set(TcpProxy::Mode::kSwallowReplies);
  const auto lost = locks->Request(request);
  ASSERT_FALSE(lost.has_value());
  EXPECT_EQ(lost.error().effect, Effect::kUnknown);
  ASSERT_EQ(locks_->Read("x")->parties.size(), 1u);
  network.Set(TcpProxy::Mode::kPass);
  EXPECT_EQ(AnswerKind(*locks, request), Kind::kGranted) << "it recognises itself";
  network.Set(TcpProxy::Mode::kSwallowReplies);
  const LockClaim claim{request.name, request.token, {}};
  Freed freed = Freed::kYes;
  EXPECT_FALSE(locks->Free({&claim, 1}, {&freed, 1}).has_value());
  network.Set(TcpProxy::Mode::kPass);
  static_cast<void>(Free(*locks, request));
  EXPECT_TRUE(locks_->Read("x")->parties.empty());
}

TEST_F(MemcachedLocksTest, TwoEnginesThatFightForANameTakeTurns) {
  Start();
  int balance = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      const auto domain = LockDomain::Open(Open(server_->url()));
      for (int i = 0; i < 15; i++) {
        const auto lease = (*domain)->Acquire("account");
        ASSERT_TRUE(lease.has_value() && lease->has_value());
        const int read = balance;
        std::this_thread::yield();
        balance = read + 1;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(balance, 60);
}

TEST_F(MemcachedLocksTest, WhatIsNoHoldOfOursIsReportedAndLeftAlone) {
  Start();
  const std::string key = MemcachedKey("oncemq:lock:0:", "0::x");
  ASSERT_TRUE(server_->Say("set " + key + " 0 60 4\r\njunk").starts_with("STORED"));
  EXPECT_EQ(locks_->Request(New()).error().code, Code::kCorrupt);
  EXPECT_TRUE(server_->Say("get " + key).starts_with("VALUE"));
}

// It keeps each epoch by itself, and an operator's process has asked for nothing.
TEST_F(MemcachedLocksTest, WhoOnlyLooksSeesWhatIsHeldInTheEpochOfTheSwitchboard) {
  Start();
  const auto record = std::make_shared<SharedSwitchStore>();
  {
    MutexLock lock(record->mutex);
    record->text.text = Format(SwitchRecord{.epoch = 7, .from = "main"});
  }
  const auto behind = [&] {
    return *SwitchedLocks::Open(
        {{"main", MemcachedLockCapabilities(), [&] { return OpenMemcachedLocks(server_->url()); }}},
        std::make_shared<SwitchStoreView>(record), {});
  };
  const auto holder = behind();
  AcquireRequest request = New(milliseconds(30'000));
  ASSERT_EQ(AnswerKind(*holder, request), Kind::kGranted);
  const auto reader = behind();
  EXPECT_EQ(reader->Read("x")->parties.size(), 1u);
  EXPECT_EQ(*reader->Recall("x"), 1u);
  EXPECT_EQ(Extend(*holder, request), Extended::kRecalled);
}

}  // namespace
}  // namespace oncemq::testing
