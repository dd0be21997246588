// SPDX-License-Identifier: Apache-2.0
// Locks in SQL databases that forget, hang, die and come back; and those who want the same row.
// What every engine does, the conformance suite asks.
#include <atomic>
#include <stop_token>
#include <thread>

#include "sql_fixture.h"
#include "support/eventually.h"
#include "support/tcp_proxy.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kLease{60'000};  // longer than a machine stands still

class SqlLocksTest : public SqlTest {
 protected:
  static std::unique_ptr<LockDomain> Domain(std::shared_ptr<LockEngine> engine,
                                            const LockOptions& options = {.lease = kLease}) {
    auto domain = LockDomain::Open(std::move(engine), options);
    EXPECT_TRUE(domain.has_value()) << ToString(domain.error());
    return domain ? *std::move(domain) : nullptr;
  }
  static Granted<Lease> Acquired(LockDomain& domain, std::string_view name = "x",
                                 const AcquireOptions& how = {}) {
    auto lease = domain.Acquire(name, how);
    EXPECT_TRUE(lease.has_value()) << ToString(lease.error());
    return lease ? *std::move(lease) : kNotGranted;
  }
  static void AwaitStop(const std::stop_token& stop) {
    std::atomic<bool> told{false};
    const std::stop_callback callback(stop, [&] {
      told = true;
      told.notify_all();
    });
    told.wait(false);
  }
  static bool Waits(LockEngine& locks, size_t parties = 2) {
    return Eventually(kPatience, [&] {
      const auto view = locks.Read("x");
      return view.has_value() && view->parties.size() == parties;
    });
  }
  void Forget() {
    client();
    Sql("DELETE FROM oncemq_locks_v1 WHERE " + Here(), {std::string_view(space_)});
  }
};

TEST_P(SqlLocksTest, NamesOfDifferentSpacesHaveNothingToDoWithEachOther) {
  const auto one = Domain(OpenLocks());
  space_ += "x";
  const auto two = Domain(OpenLocks());
  ASSERT_TRUE(Acquired(*one));
  const auto first = Acquired(*one);
  const auto second = two->TryAcquire("x");
  ASSERT_TRUE(second.has_value() && second->has_value());
  EXPECT_EQ(one->engine().Names("", 10)->size(), 1u);
}

TEST_P(SqlLocksTest, ASpaceThatFitsNoIndexIsRefused) {
  for (const size_t length : {255u, 256u}) {
    const auto locks =
        world_->OpenLocks(world_->url(), std::string(length, '\xff'), milliseconds(5'000), 1);
    ASSERT_EQ(locks.has_value(), length == 255u);
    if (locks) {
      AcquireRequest request = RequestOf(1);
      const std::string longest(kLongestLockName, '\xff');
      request.name = longest;
      ASSERT_TRUE((*locks)->Request(request));
      EXPECT_EQ((*locks)->Names("", 10)->size(), 1u);
    }
  }
}

TEST_P(SqlLocksTest, NamesAreBytesAndNothingElse) {
  const auto locks = OpenLocks();
  std::vector<std::string> names{std::string("\0", 1),
                                 "%",
                                 "'; DROP TABLE oncemq_locks_v1; --",
                                 "/",
                                 "//",
                                 "\\",
                                 "\\'",
                                 "a",
                                 "a ",
                                 "A",
                                 "\xc3\x28",
                                 std::string(kLongestLockName, '\xff')};
  uint64_t attempt = 0;
  for (const std::string& name : names) {
    const auto answer = locks->Request(RequestOf(++attempt, name));
    ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
    EXPECT_EQ(answer->kind, LockAnswer::Kind::kGranted);
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(*locks->Names("", 100), names);
}

TEST_P(SqlLocksTest, AFenceDoesNotGoBackWhenTheServerForgetsEverything) {
  const auto domain = Domain(OpenLocks());
  Fence last;
  for (int i = 0; i < 5; i++) {
    const auto lease = Acquired(*domain);
    ASSERT_TRUE(lease);
    EXPECT_GT(lease->fence(), last);
    last = lease->fence();
    Forget();
  }
}

TEST_P(SqlLocksTest, AHolderIsToldWhenTheServerForgotIt) {
  // By its next renewal, a third of this later.
  const auto domain = Domain(OpenLocks(), {.lease = milliseconds(6'000)});
  const auto lease = Acquired(*domain);
  ASSERT_TRUE(lease);
  Forget();
  AwaitStop(lease->stop());
  EXPECT_EQ(lease->lost(), LeaseLoss::kTaken);
}

TEST_P(SqlLocksTest, ARowThatIsNotOursIsAnErrorAndStays) {
  const auto locks = OpenLocks();
  ASSERT_TRUE(locks->Request(RequestOf(1)));
  client();
  const std::string nonsense("\x01\xff\xff\xff\xff\xff", 6);
  const std::string where = client().dialect() == SqlDialect::kPostgres
                                ? "state = $1 WHERE space = $2 AND name = $3"
                                : "state = ? WHERE space = ? AND name = ?";
  Sql("UPDATE oncemq_locks_v1 SET " + where,
      {std::string_view(nonsense), std::string_view(space_), std::string_view("x")});
  const auto answer = locks->Request(RequestOf(2));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kCorrupt);
  EXPECT_EQ(answer.error().effect, Effect::kNone);
}

TEST_P(SqlLocksTest, WaitersAreLimited) {
  const auto locks = OpenLocks(milliseconds(20'000), 1);
  ASSERT_TRUE(locks->Request(RequestOf(1)));
  ASSERT_TRUE(locks->Request(RequestOf(2)));
  const auto third = locks->Request(RequestOf(3));
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().code, Code::kFull);
  EXPECT_EQ(locks->Read("x")->parties.size(), 2u);
  const auto second = locks->Request(RequestOf(2));
  ASSERT_TRUE(second.has_value()) << "who waits already may ask again";
  EXPECT_EQ(second->kind, LockAnswer::Kind::kQueued);
}

// Each engine is a process for the database.
TEST_P(SqlLocksTest, ManyWhoSwapOneRowHoldItOneAtATimeAndInTheOrderOfTheirFences) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 12;
  const std::vector<std::unique_ptr<LockDomain>> domains = [&] {
    std::vector<std::unique_ptr<LockDomain>> made;
    for (int i = 0; i < kThreads / 2; i++) {
      made.push_back(Domain(OpenLocks(milliseconds(20'000)), {.lease = milliseconds(60'000)}));
    }
    return made;
  }();
  std::atomic<int> inside{0};
  std::vector<Fence> fences;  // written by who is inside
  std::stop_source broken;    // then others may wait for what nobody gives back
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; t++) {
      threads.emplace_back([&, t] {
        for (int round = 0; round < kRounds; round++) {
          const BootTime until = SystemClock::Instance().Boot() + kPatience;
          auto lease = Acquired(*domains[static_cast<size_t>(t) / 2], "x",
                                {.until = until, .stop = broken.get_token()});
          const bool alone = lease && ++inside == 1;
          if (!alone) {
            broken.request_stop();
          }
          ASSERT_TRUE(alone) << (lease ? "two are inside" : "it did not get the name");
          fences.push_back(lease->fence());
          std::this_thread::yield();
          --inside;
          EXPECT_EQ(lease->Release(), Released::kYes);
        }
      });
    }
  }
  EXPECT_EQ(fences.size(), static_cast<size_t>(kThreads * kRounds));
  EXPECT_TRUE(std::is_sorted(fences.begin(), fences.end()));
}

TEST_P(SqlLocksTest, AReleaseInOneProcessLetsAWaiterInAnotherOneGo) {
  const auto one = Domain(OpenLocks());
  const auto locks = OpenLocks();
  // Asking again in time would come after the test's patience.
  const auto two = Domain(locks, {.queue_lease = milliseconds(600'000)});
  for (int round = 0; round < 3 && !HasFailure(); round++) {
    auto holder = Acquired(*one, "x", {.lease = milliseconds(600'000)});
    ASSERT_TRUE(holder);
    const BootTime until = SystemClock::Instance().Boot() + std::chrono::seconds(25);
    std::jthread waits([&] {
      EXPECT_TRUE(Acquired(*two, "x", {.until = until, .lease = milliseconds(600'000)}));
    });
    ASSERT_TRUE(Waits(*locks));
    EXPECT_EQ(holder->Release(), Released::kYes);
  }
}

TEST_P(SqlLocksTest, WaitersOfOneProcessForOneNameAllHaveTheirTurn) {
  const auto one = Domain(OpenLocks());
  const auto locks = OpenLocks();
  const auto two = Domain(locks, {.queue_lease = milliseconds(600'000)});
  auto holder = Acquired(*one);
  ASSERT_TRUE(holder);
  std::vector<std::jthread> waits;
  const BootTime until = SystemClock::Instance().Boot() + kPatience;
  for (int i = 0; i < 4; i++) {
    waits.emplace_back([&] { EXPECT_TRUE(Acquired(*two, "x", {.until = until})); });
  }
  ASSERT_TRUE(Waits(*locks, 5));
  EXPECT_EQ(holder->Release(), Released::kYes);
}

TEST_P(SqlLocksTest, AClientWhoseNetworkIsSilentKeepsNobodyFromAnything) {
  TcpProxy proxy(world_->port());
  const auto locks = OpenLocksAt(proxy.port(), milliseconds(3'000));
  ASSERT_TRUE(locks);
  ASSERT_TRUE(locks->Read("x"));
  proxy.Set(TcpProxy::Mode::kSilent);
  const BootTime began = SystemClock::Instance().Boot();
  std::jthread hangs([&] {
    const auto answer = locks->Request(RequestOf(1));
    ASSERT_FALSE(answer.has_value());
    EXPECT_LT(SystemClock::Instance().Boot() - began, kPatience);
  });
  const auto other = OpenLocks();
  for (uint64_t attempt = 2; attempt < 6; attempt++) {
    AcquireRequest request = RequestOf(attempt);
    request.queue = false;
    const auto answer = other->Request(request);
    ASSERT_TRUE(answer.has_value()) << ToString(answer.error());
    EXPECT_EQ(answer->kind, LockAnswer::Kind::kGranted);
    const LockClaim claim{"x", request.token};
    Freed freed{};
    ASSERT_TRUE(other->Free({&claim, 1}, {&freed, 1}));
    EXPECT_EQ(freed, Freed::kYes);
  }
}

TEST_P(SqlLocksTest, ASwapWhoseAnswerIsLostMayHaveBeenDone) {
  TcpProxy proxy(world_->port());
  auto store = world_->OpenStore(world_->UrlAt(proxy.port()), space_, milliseconds(3'000), false);
  ASSERT_TRUE(store.has_value()) << ToString(store.error());
  const std::string_view name = "x";
  const auto seen = (*store)->Read({&name, 1}, kSqlWholeCall);
  ASSERT_TRUE(seen.has_value()) << ToString(seen.error());
  SqlSwap swap{.name = "another",
               .to = 5,
               .fence = 17,
               .ends = seen->front().now,
               .judged = seen->front().now,
               .epoch = 0};
  ASSERT_TRUE((*store)->Swap({&swap, 1}, kSqlWholeCall)) << "the statement is known from now on";
  swap.name = name;
  proxy.Set(TcpProxy::Mode::kSwallowReplies);
  const auto swapped = (*store)->Swap({&swap, 1}, kSqlWholeCall);
  ASSERT_FALSE(swapped.has_value());
  EXPECT_EQ(swapped.error().effect, Effect::kUnknown);
  const auto direct = OpenStore();
  EXPECT_TRUE(Eventually(kPatience, [&] {
    const auto now = direct->Read({&name, 1}, kSqlWholeCall);
    return now.has_value() && now->front().version == 5 && now->front().fence == 17;
  }));
  // What is read again in vain has no effect.
  const auto again = (*store)->Read({&name, 1}, kSqlWholeCall);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().effect, Effect::kNone);
}

TEST_P(SqlLocksTest, AnAskWhoseAnswersAreLostIsRepeatedAndIsTheSameOne) {
  TcpProxy proxy(world_->port());
  const auto locks = OpenLocksAt(proxy.port(), milliseconds(3'000));
  const auto first = locks->Request(RequestOf(1));
  ASSERT_TRUE(first.has_value()) << ToString(first.error());
  proxy.Set(TcpProxy::Mode::kSwallowReplies);
  EXPECT_FALSE(locks->Request(RequestOf(1)).has_value());
  proxy.Set(TcpProxy::Mode::kPass);
  const auto again = locks->Request(RequestOf(1));
  ASSERT_TRUE(again.has_value()) << ToString(again.error());
  EXPECT_EQ(again->fence, first->fence);
  EXPECT_EQ(locks->Read("x")->parties.size(), 1u);
}

TEST_P(SqlLocksTest, AHolderIsToldInTimeWhenTheServerHangs) {
  StartOwn();
  const auto domain = Domain(OpenLocks(), {.lease = milliseconds(600)});
  const auto lease = Acquired(*domain);
  ASSERT_TRUE(lease);
  world_->Pause();  // its calls hang for longer than it has
  AwaitStop(lease->stop());
  EXPECT_EQ(lease->lost(), LeaseLoss::kDeadline);
  world_->Continue();
  EXPECT_TRUE(Acquired(*domain)) << "when its lease has run out there";
}

TEST_P(SqlLocksTest, WhatIsHeldStaysHeldWhenTheServerIsKilledAndComesBack) {
  StartOwn();
  const auto locks = OpenLocks();
  const auto first = locks->Request(RequestOf(1));
  ASSERT_TRUE(first.has_value()) << ToString(first.error());
  const auto domain = Domain(locks, {.patience = std::chrono::minutes(3)});
  std::jthread waits([&] { EXPECT_TRUE(Acquired(*domain)); });
  ASSERT_TRUE(Waits(*locks));
  world_->Kill9();
  world_->Restart();
  const LockClaim claim{"x", {7, 1}, milliseconds(60'000)};
  Extended extended{};
  const Status done = locks->Extend({&claim, 1}, {&extended, 1});
  ASSERT_TRUE(done.has_value()) << ToString(done.error());
  EXPECT_EQ(extended, Extended::kYes);
  Freed freed{};
  ASSERT_TRUE(locks->Free({&claim, 1}, {&freed, 1}));
  EXPECT_EQ(freed, Freed::kYes);
}

INSTANTIATE_TEST_SUITE_P(Sql, SqlLocksTest, ::testing::ValuesIn(SqlWorlds()),
                         [](const auto& tested) { return std::string(tested.param.name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SqlLocksTest);

}  // namespace
}  // namespace oncemq::testing
