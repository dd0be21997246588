// SPDX-License-Identifier: Apache-2.0
// Locks over five masters that are killed, paused, emptied and cut off; the rest is in the suite.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "oncemq/clients/redis_client.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/redlock_locks.h"
#include "support/eventually.h"
#include "support/names_of_any_bytes.h"
#include "support/redis_masters.h"

namespace oncemq::testing {
namespace {

using Kind = LockAnswer::Kind;

constexpr milliseconds kLong{60'000};
constexpr milliseconds kPatience{20'000};
// Of calls to masters that hang. Those that do not are to answer within it on a slow machine, too.
constexpr milliseconds kCall{2'000};

class RedlockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ONCEMQ_REQUIRE_REDIS();
    masters_ = std::make_unique<RedisMasters>(5);
  }

  static std::shared_ptr<LockEngine> Open(const std::string& url, milliseconds call = kCall) {
    auto locks = OpenRedlock(url, {.connect = call, .call = call});
    EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    return locks ? *std::move(locks) : nullptr;
  }
  std::shared_ptr<LockEngine> Open() { return Open(masters_->url()); }
  static RedlockOptions Patient() { return {.connect = kPatience, .call = kPatience}; }
  AcquireRequest New(milliseconds lease = kLong, std::string_view name = "x", uint32_t epoch = 0) {
    return {.name = name,
            .token = {7, ++requests_},
            .lease = lease,
            .queue_lease = lease,
            .who = "a test",
            .epoch = epoch};
  }
  static Kind AnswerKind(LockEngine& locks, const AcquireRequest& request) {
    const auto answer = locks.Request(request);
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer ? answer->kind : Kind::kQueued;
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
  std::string Redis(size_t master, const RedisCommand& command) {
    const auto client =
        RedisClient::Open(*ParseRedisEndpoint((*masters_)[master].url()), {kPatience, kPatience});
    EXPECT_TRUE(client.has_value()) << ToString(client.error());
    const auto reply = (*client)->Run(command);
    EXPECT_TRUE(reply.has_value()) << ToString(reply.error());
    return reply->text;
  }
  // Whether somebody holds "x" there.
  bool HeldAt(size_t master) {
    const std::string state = Redis(master, {"GET", "oncemq:redlock:0::x"});
    return !state.empty() && state[0] != '-';
  }
  // A grant is one when a majority has said so; the others may still be on their way.
  void UntilHeldAt(std::initializer_list<size_t> which) {
    for (const size_t master : which) {
      ASSERT_TRUE(Eventually(kPatience, [&] { return HeldAt(master); })) << master;
    }
  }
  void Forget(std::initializer_list<size_t> which) {
    for (const size_t master : which) {
      Redis(master, {"FLUSHALL"});
    }
  }
  // Many times, so that a wait for those that are away would be seen: each takes a call's time.
  void TakeAndGiveBack(LockEngine& locks) {
    const BootTime began = BootNow();
    for (int i = 0; i < 50; i++) {
      const AcquireRequest request = New();
      ASSERT_EQ(AnswerKind(locks, request), Kind::kGranted);
      ASSERT_EQ(Free(locks, request), Freed::kYes);
    }
    const auto took = std::chrono::duration_cast<milliseconds>(BootNow() - began);
    RecordProperty("pairs_50_ms", std::to_string(took.count()));
    EXPECT_LT(took, kCall * 20);
  }

  std::unique_ptr<RedisMasters> masters_;
  uint64_t requests_ = 0;
};

// Its clock may be slower than the masters' by a hundredth, and it counts on all of its lease.
TEST_F(RedlockTest, MastersKeepAHoldForLongerThanItsHolderCountsOnIt) {
  const auto locks = Open();
  const AcquireRequest request = New(std::chrono::hours(20));
  ASSERT_EQ(AnswerKind(*locks, request), Kind::kGranted);
  EXPECT_GT(locks->Read("x")->parties.at(0).left, request.lease * 201 / 200);
}

TEST_F(RedlockTest, TwoMastersThatAreGoneHoldNobodyUp) {
  const auto locks = Open();
  (*masters_)[0].Kill9();
  (*masters_)[1].Kill9();
  TakeAndGiveBack(*locks);
  TakeAndGiveBack(*Open());
}

TEST_F(RedlockTest, TwoMastersThatHangHoldNobodyUpAndAreToldLater) {
  const auto locks = Open();
  TakeAndGiveBack(*locks);  // they know the scripts then, so what waits for them will be done
  (*masters_)[0].process().Pause();
  (*masters_)[1].process().Pause();
  TakeAndGiveBack(*locks);
  EXPECT_TRUE(locks->Read("x")->parties.empty());
  (*masters_)[0].process().Continue();
  (*masters_)[1].process().Continue();
  EXPECT_TRUE(Eventually(kPatience, [&] { return !HeldAt(0) && !HeldAt(1); }));
}

// What hung gets a request that waited in its socket, and then what was given back meanwhile.
TEST_F(RedlockTest, AMasterThatHungIsToldWhatWasGivenBackMeanwhile) {
  const auto locks = Open();
  TakeAndGiveBack(*locks);
  (*masters_)[0].process().Pause();
  const AcquireRequest request = New();
  ASSERT_EQ(AnswerKind(*locks, request), Kind::kGranted);
  ASSERT_EQ(Free(*locks, request), Freed::kYes);
  (*masters_)[0].process().Continue();
  EXPECT_TRUE(Eventually(kPatience, [&] { return !HeldAt(0) && !HeldAt(1); }));
}

TEST_F(RedlockTest, WithoutAMajorityNothingIsGrantedAndNothingLeftBehind) {
  const auto locks = Open();
  for (const size_t master : {0u, 1u, 2u}) {
    (*masters_)[master].Kill9();
  }
  for (int i = 0; i < 3; i++) {
    const auto answer = locks->Request(New());
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, Code::kUnavailable);
    EXPECT_FALSE(HeldAt(3));
    EXPECT_FALSE(HeldAt(4));
  }
  EXPECT_FALSE(locks->Seal(1).has_value());
  EXPECT_FALSE(locks->Read("x").has_value());
  EXPECT_FALSE(locks->Names("", 10).has_value());
  const auto late = OpenRedlock(masters_->url(), Patient());
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().code, Code::kUnavailable);
  (*masters_)[0].Restart();
  EXPECT_TRUE(Eventually(kPatience, [&] { return locks->Request(New()).has_value(); }));
}

// More than once, as those who granted may also answer too late to be heard.
TEST_F(RedlockTest, ATryThatLosesLeavesNothingWhereItWon) {
  const auto locks = Open();
  const AcquireRequest holder = New();
  for (int round = 0; round < 10; round++) {
    ASSERT_EQ(AnswerKind(*locks, holder), Kind::kGranted);
    UntilHeldAt({0, 1, 2, 3, 4});
    Forget({3, 4});
    EXPECT_EQ(AnswerKind(*locks, New()), Kind::kBusy);
    ASSERT_TRUE(HeldAt(0) && !HeldAt(3) && !HeldAt(4));
  }
}

TEST_F(RedlockTest, AVoteThatSplitIsNobodysAndTheNameComesFree) {
  const auto locks = Open();
  const AcquireRequest one = New();
  const AcquireRequest two = New();
  const AcquireRequest three = New();
  ASSERT_EQ(AnswerKind(*locks, one), Kind::kGranted);
  UntilHeldAt({0, 1, 2, 3, 4});
  Forget({2, 3, 4});
  ASSERT_EQ(AnswerKind(*locks, two), Kind::kGranted) << "a majority forgot the first one";
  UntilHeldAt({2, 3, 4});
  Forget({4});
  EXPECT_EQ(AnswerKind(*locks, three), Kind::kBusy);
  EXPECT_TRUE(locks->Read("x")->parties.empty());
  EXPECT_EQ(Extend(*locks, one), Extended::kGone);
  EXPECT_EQ(Extend(*locks, two), Extended::kGone);
  EXPECT_EQ(AnswerKind(*locks, three), Kind::kGranted) << "what was of no use is given back";
}

TEST_F(RedlockTest, ThoseWhoSplitTheMastersGoOnInTheEnd) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 15;
  std::atomic<int> inside{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&] {
      const auto locks = Open();
      const auto domain = LockDomain::Open(locks);
      for (int i = 0; i < kRounds; i++) {
        auto lease = (*domain)->Acquire("x");
        ASSERT_TRUE(lease.has_value()) << ToString(lease.error());
        ASSERT_TRUE(lease->has_value());
        EXPECT_EQ(++inside, 1);
        inside--;
      }
    });
  }
}

TEST_F(RedlockTest, AHoldThatAMinorityForgotGoesOnAndReturnsToIt) {
  const auto locks = Open();
  const AcquireRequest request = New();
  ASSERT_EQ(AnswerKind(*locks, request), Kind::kGranted);
  UntilHeldAt({0, 1, 2, 3, 4});
  Forget({0, 1});
  EXPECT_EQ(Extend(*locks, request), Extended::kYes);
  EXPECT_TRUE(Eventually(kPatience, [&] { return HeldAt(0) && HeldAt(1); }));
  Forget({3, 4});
  EXPECT_EQ(Extend(*locks, request), Extended::kYes);
  EXPECT_EQ(Free(*locks, request), Freed::kYes);
  EXPECT_TRUE(Eventually(kPatience, [&] { return !HeldAt(0) && !HeldAt(3); }));
}

TEST_F(RedlockTest, AHoldThatAMajorityForgotIsGoneEverywhere) {
  const auto locks = Open();
  const AcquireRequest request = New();
  ASSERT_EQ(AnswerKind(*locks, request), Kind::kGranted);
  UntilHeldAt({0, 1, 2, 3, 4});
  Forget({0, 1, 2});
  EXPECT_EQ(Extend(*locks, request), Extended::kGone);
  EXPECT_TRUE(Eventually(kPatience, [&] { return !HeldAt(3) && !HeldAt(4); }));
  EXPECT_FALSE(HeldAt(0)) << "an extension brings nothing back";
  EXPECT_EQ(Extend(*locks, request), Extended::kGone);
}

TEST_F(RedlockTest, AHoldThatOneMasterForgotIsNotLostWhileOthersAreAway) {
  const auto locks = Open();
  const AcquireRequest request = New();
  ASSERT_EQ(AnswerKind(*locks, request), Kind::kGranted);
  UntilHeldAt({0, 1, 2, 3, 4});
  Forget({0});
  (*masters_)[3].process().Pause();
  (*masters_)[4].process().Pause();
  EXPECT_EQ(Extend(*locks, request), Extended::kLater) << "those who are away may have it";
  (*masters_)[3].process().Continue();
  (*masters_)[4].process().Continue();
  EXPECT_TRUE(Eventually(kPatience, [&] { return Extend(*locks, request) == Extended::kYes; }));
}

// The masters have it for a little longer than its holder, who must not count on that: for 32 ms,
// which a machine that is busy may let pass. So there are several, whose ends are not at one time.
TEST_F(RedlockTest, AHoldHasEndedWhenItsHolderSaysSo) {
  constexpr milliseconds kLease{3'000};
  const auto locks = Open();
  std::vector<std::pair<AcquireRequest, BootTime>> holds;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    const AcquireRequest request = New(kLease, name);
    ASSERT_EQ(AnswerKind(*locks, request), Kind::kGranted);
    holds.emplace_back(request, BootNow() + kLease);
    SleepFor(kLease / 30);
  }
  for (const auto& [request, ended] : holds) {
    SleepFor(std::chrono::ceil<milliseconds>(ended - BootNow()));
    EXPECT_EQ(Extend(*locks, request), Extended::kGone) << request.name;
  }
}

TEST_F(RedlockTest, GrantsWhoseRepliesWereLostAreTakenBack) {
  const auto locks = Open(masters_->url_through_networks());
  TakeAndGiveBack(*locks);
  for (const size_t master : {0u, 1u, 2u}) {
    masters_->network(master).Set(TcpProxy::Mode::kSwallowReplies);
  }
  const auto answer = locks->Request(New());
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().effect, Effect::kUnknown);
  EXPECT_FALSE(HeldAt(3));
  EXPECT_FALSE(HeldAt(4));
  for (const size_t master : {0u, 1u, 2u}) {
    masters_->network(master).Set(TcpProxy::Mode::kPass);
  }
  ASSERT_TRUE(Eventually(kPatience, [&] { return !HeldAt(0) && !HeldAt(1) && !HeldAt(2); }));
  EXPECT_TRUE(Eventually(kPatience, [&] { return locks->Request(New()).has_value(); }));
}

TEST_F(RedlockTest, AGrantThatComesWhenItsLeaseIsOverIsNone) {
  const auto locks = Open(masters_->url(), milliseconds(10'000));
  TakeAndGiveBack(*locks);
  for (const size_t master : {0u, 1u, 2u}) {
    (*masters_)[master].process().Pause();
  }
  constexpr milliseconds kLease{200};
  std::jthread requests([&] {
    const auto answer = locks->Request(New(kLease));
    ASSERT_FALSE(answer.has_value());
    EXPECT_EQ(answer.error().code, Code::kTimeout);
    EXPECT_EQ(answer.error().effect, Effect::kNone) << "it is taken back before the answer";
  });
  UntilHeldAt({3, 4});  // so it has been sent
  SleepFor(kLease);
  for (const size_t master : {0u, 1u, 2u}) {
    (*masters_)[master].process().Continue();
  }
}

TEST_F(RedlockTest, AHolderIsToldInTimeWhenAMajorityHangs) {
  const auto locks = Open(masters_->url(), milliseconds(1'000));
  auto domain = LockDomain::Open(locks, {.lease = milliseconds(4'000)});
  auto lease = (*domain)->Acquire("x");
  ASSERT_TRUE(lease.has_value() && lease->has_value());
  for (const size_t master : {0u, 1u, 2u}) {
    (*masters_)[master].process().Pause();
  }
  std::atomic<bool> told{false};
  const std::stop_callback callback((*lease)->stop(), [&] {
    told = true;
    told.notify_all();
  });
  told.wait(false);
  EXPECT_EQ((*lease)->lost(), LeaseLoss::kDeadline);
  const BootTime began = BootNow();
  (*domain).reset();
  EXPECT_LT(BootNow() - began, kPatience) << "masters that hang do not keep us";
}

TEST_F(RedlockTest, AMasterThatWasAwayHearsOfTheSeal) {
  const auto locks = Open();
  (*masters_)[0].Kill9();
  (*masters_)[1].Kill9();
  ASSERT_EQ(locks->Seal(7).value_or(0u), 7u);
  (*masters_)[0].Restart();
  (*masters_)[1].Restart();
  EXPECT_TRUE(Eventually(kPatience, [&] {
    const AcquireRequest request = New(kLong, "x", 7);
    EXPECT_EQ(AnswerKind(*locks, request), Kind::kGranted);
    EXPECT_EQ(Free(*locks, request), Freed::kYes);
    return Redis(0, {"GET", "oncemq:redlock:seal:"}) == "7" &&
           Redis(1, {"GET", "oncemq:redlock:seal:"}) == "7";
  }));
  EXPECT_EQ(AnswerKind(*locks, New()), Kind::kSealed);
}

TEST_F(RedlockTest, ASealThatOnlyAMinorityHeardOfIsToldToAll) {
  const auto locks = Open();
  Redis(4, {"SET", "oncemq:redlock:seal:", "9"});
  EXPECT_EQ(AnswerKind(*locks, New()), Kind::kGranted) << "four masters do not know it";
  EXPECT_EQ(locks->Seal(0).value_or(0u), 9u);
  EXPECT_EQ(Redis(0, {"GET", "oncemq:redlock:seal:"}), "9");
  EXPECT_EQ(AnswerKind(*locks, New()), Kind::kSealed);
}

TEST_F(RedlockTest, NamesOfAnyBytesAreKeptApartAlsoBetweenEngines) {
  const auto locks = Open();
  const auto other = Open();
  const std::vector<std::string> names = NamesOfAnyBytes();
  for (const std::string& name : names) {
    ASSERT_EQ(AnswerKind(*locks, New(kLong, name)), Kind::kGranted) << name;
  }
  for (const std::string& name : names) {
    EXPECT_EQ(AnswerKind(*other, New(kLong, name)), Kind::kBusy) << name;
  }
}

TEST_F(RedlockTest, TwoAddressesThatLeadToOneServerAreRefused) {
  const std::string url = masters_->url();
  const auto locks = OpenRedlock(
      url.substr(0, url.rfind(':') + 1) + std::to_string(masters_->network(0).port()), Patient());
  ASSERT_FALSE(locks.has_value());
  EXPECT_EQ(locks.error().code, Code::kInvalid);
}

TEST_F(RedlockTest, AMasterThatMayEvictIsRefusedAndNoPasswordIsRepeated) {
  Redis(2, {"CONFIG", "SET", "maxmemory", "100mb"});
  Redis(2, {"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
  const auto evicts = OpenRedlock(masters_->url(), Patient());
  ASSERT_FALSE(evicts.has_value());
  EXPECT_EQ(evicts.error().code, Code::kInvalid);
  const std::string hosts = masters_->url().substr(std::string("redlock://").size());
  const auto wrong = OpenRedlock("redlock://nobody:secret@" + hosts, Patient());
  ASSERT_FALSE(wrong.has_value());
  EXPECT_EQ(wrong.error().code, Code::kRefused);
  EXPECT_EQ(ToString(wrong.error()).find("secret"), std::string::npos);
}

}  // namespace
}  // namespace oncemq::testing
