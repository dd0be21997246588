// SPDX-License-Identifier: Apache-2.0
#include "oncemq/locks/switched_locks.h"

#include <gtest/gtest.h>

#include <thread>

#include "oncemq/locks/lock_domain.h"
#include "switched_locks_fixture.h"

namespace oncemq::testing {
namespace {

TEST_F(SwitchedLocksTest, TheFirstStoreIsInForce) {
  Process p = Open();
  const AcquireRequest request = New();
  EXPECT_EQ(Request(p, request), Kind::kGranted);
  EXPECT_TRUE(Held("a"));
  EXPECT_FALSE(Held("b"));
  EXPECT_EQ(Free(p, request), Freed::kYes);
  EXPECT_FALSE(Held("a"));
}

TEST_F(SwitchedLocksTest, WhatAStoreDoubtsIsPassedOnToThoseWhoListen) {
  struct Counts final : HoldListener {
    void HoldsMayBeLost() override { told++; }
    int told = 0;
  } counts;
  Process p = Open();
  p.locks->Listen(counts);
  EXPECT_EQ(Request(p, New()), Kind::kGranted);
  p.stores["a"]->listeners.HoldsMayBeLost();
  EXPECT_EQ(counts.told, 1);
  p.locks->Unlisten(counts);
  p.stores["a"]->listeners.HoldsMayBeLost();
  EXPECT_EQ(counts.told, 1);
  p.locks.reset();
  p.stores["a"]->listeners.HoldsMayBeLost();
}

TEST_F(SwitchedLocksTest, TheRecordSaysHowLongALeaseMayBe) {
  Process p = Open();
  EXPECT_EQ(p.locks->capabilities().longest_lease, milliseconds(30'000));
  const auto domain = LockDomain::Open(p.locks, {.lease = milliseconds(30'000)}, clock_);
  ASSERT_TRUE(domain.has_value());
  EXPECT_FALSE(LockDomain::Open(p.locks, {.lease = milliseconds(30'001)}, clock_).has_value());
  const auto longer = (*domain)->TryAcquire("x", {.lease = milliseconds(30'001)});
  ASSERT_FALSE(longer.has_value());
  EXPECT_EQ(longer.error().code, Code::kInvalid);
}

TEST_F(SwitchedLocksTest, WhoKnowsNoSwitchboardIsRefusedByTheStore) {
  Process p = Open();
  ASSERT_EQ(Request(p, New()), Kind::kGranted);
  EXPECT_EQ(stores_.at("a")->Request(New("y"))->kind, Kind::kSealed);
}

TEST_F(SwitchedLocksTest, APlannedSwitchMovesALongHold) {
  Process p = Open();
  Process q = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  const auto begun = q.locks->SwitchTo("b", "an upgrade");
  ASSERT_TRUE(begun.has_value()) << ToString(begun.error());
  EXPECT_EQ(begun->in_force, "a");
  EXPECT_EQ(begun->target, "b");
  EXPECT_EQ(begun->phase, SwitchMode::kBoth);
  EXPECT_EQ(begun->holds_left, 1u);
  EXPECT_EQ(begun->left, milliseconds(40'000));
  Pass(milliseconds(42'000), {&p, &q}, [&] {
    EXPECT_EQ(Extend(p, held), Extended::kYes);
    EXPECT_NE(Request(q, New()), Kind::kGranted);
  });
  EXPECT_EQ(q.locks->Progress().in_force, "b");
  EXPECT_EQ(q.locks->Progress().phase, SwitchMode::kSingle);
  Pass(milliseconds(60'000), {&p, &q}, [&] { EXPECT_EQ(Extend(p, held), Extended::kYes); });
  EXPECT_FALSE(Held("a"));
  EXPECT_TRUE(Held("b"));
  EXPECT_EQ(Free(p, held), Freed::kYes);
  EXPECT_EQ(Request(q, New()), Kind::kGranted);
}

TEST_F(SwitchedLocksTest, HoldsThatHaveMovedAreNotLeft) {
  Process p = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_TRUE(p.locks->SwitchToNext("").has_value()) << "the next in order";
  EXPECT_EQ(p.locks->Progress().holds_left, 1u);
  EXPECT_EQ(Extend(p, held), Extended::kYes);
  EXPECT_EQ(p.locks->Progress().holds_left, 0u);
}

TEST_F(SwitchedLocksTest, CountedHoldsMoveAlsoWhereTheirLimitsDiffer) {
  Process p = Open();
  Process q = Open();
  const auto counted = [&](uint32_t limit) {
    AcquireRequest request = New();
    request.mode = LockMode::kCounted;
    request.limit = limit;
    return request;
  };
  const AcquireRequest first = counted(1);
  const AcquireRequest second = counted(2);
  ASSERT_EQ(Request(p, first), Kind::kGranted);
  ASSERT_EQ(Request(q, second), Kind::kGranted);
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  Pass(milliseconds(42'000), {&p, &q}, [&] {
    EXPECT_EQ(Extend(q, second), Extended::kYes);
    EXPECT_EQ(Extend(p, first), Extended::kYes) << "others were there before it";
    EXPECT_EQ(Request(q, counted(2)), Kind::kBusy);
    EXPECT_EQ(Request(q, New()), Kind::kBusy);
  });
  EXPECT_EQ(p.locks->Progress().in_force, "b");
  EXPECT_EQ(stores_.at("b")->Read("x")->parties.size(), 2u);
  EXPECT_EQ(Request(q, counted(2)), Kind::kBusy);
  EXPECT_EQ(Request(q, counted(3)), Kind::kGranted);
}

TEST_F(SwitchedLocksTest, NobodyWaitsLongForTheNumberOfHoldsThatAreLeft) {
  Process p = Open();
  for (int i = 0; i < 100; i++) {
    const std::string name = "name " + std::to_string(i);
    ASSERT_EQ(Request(p, New(name)), Kind::kGranted);
  }
  for (const auto& [name, store] : p.stores) {
    store->on_its_way = [this] { clock_.Advance(milliseconds(10)); };
  }
  const BootTime before = clock_.Boot();
  const auto begun = p.locks->SwitchTo("b", "");
  ASSERT_TRUE(begun.has_value()) << ToString(begun.error());
  EXPECT_FALSE(begun->holds_left.has_value());
  EXPECT_LT(clock_.Boot() - before, milliseconds(1'000));
  for (const auto& [name, store] : p.stores) {
    store->on_its_way = [] {};
  }
  EXPECT_EQ(p.locks->Progress().holds_left, 100u);
}

TEST_F(SwitchedLocksTest, AHoldThatEndedIsNotMoved) {
  Process p = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  clock_.Advance(kLease);
  p.view->Turn();
  EXPECT_EQ(Extend(p, held), Extended::kGone);
  EXPECT_FALSE(Held("b"));
}

TEST_F(SwitchedLocksTest, WhatIsGrantedByBothIsGivenBackToBoth) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  const AcquireRequest request = New();
  EXPECT_EQ(Request(p, request), Kind::kGranted);
  EXPECT_TRUE(Held("a"));
  EXPECT_TRUE(Held("b"));
  EXPECT_EQ(Free(p, request), Freed::kYes);
  EXPECT_FALSE(Held("a"));
  EXPECT_FALSE(Held("b"));
}

TEST_F(SwitchedLocksTest, ATryThatTheSecondStoreRefusesLeavesNothingInTheFirst) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  AcquireRequest other = New();
  other.epoch = *stores_.at("b")->Seal(0);
  ASSERT_EQ(stores_.at("b")->Request(other)->kind, Kind::kGranted);
  EXPECT_EQ(Request(p, New()), Kind::kBusy);
  EXPECT_FALSE(Held("a"));
}

TEST_F(SwitchedLocksTest, AnAskThatFailsAtTheSecondStoreLeavesNothingInTheFirst) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  p.stores["b"]->cut = true;
  const AcquireRequest request = New();
  const auto answer = p.locks->Request(request);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().effect, Effect::kUnknown) << "the first one has granted";
  EXPECT_TRUE(Held("a"));
  const auto domain = LockDomain::Open(p.locks, {.patience = milliseconds(0)}, clock_);
  ASSERT_TRUE(domain.has_value()) << ToString(domain.error());
  EXPECT_FALSE((*domain)->TryAcquire("y").has_value());
  EXPECT_TRUE(stores_.at("a")->Read("y")->parties.empty()) << "given back by who gave up";
}

TEST_F(SwitchedLocksTest, FencesOfALaterEpochAreGreaterWhateverTheStoreCounts) {
  Process p = Open();
  Fence last;
  for (int switches = 0; switches < 4; switches++) {
    for (int i = 0; i < 3; i++) {
      const AcquireRequest request = New();
      const auto answer = p.locks->Request(request);
      ASSERT_TRUE(answer.has_value());
      ASSERT_EQ(answer->kind, Kind::kGranted);
      EXPECT_GT(answer->fence, last);
      last = answer->fence;
      Free(p, request);
      Pass(milliseconds(22'000), {&p});
    }
    if (p.locks->Progress().phase == SwitchMode::kSingle) {
      ASSERT_TRUE(p.locks->SwitchToNext("").has_value());
    }
  }
}

TEST_F(SwitchedLocksTest, AGrantWhoseReplyWasLostBeforeASwitchIsAskedForAnew) {
  Process p = Open();
  ASSERT_EQ(Request(p, New("y")), Kind::kGranted) << "and so the store is sealed";
  const AcquireRequest request = New();
  p.stores["a"]->loses_replies = true;
  EXPECT_FALSE(p.locks->Request(request).has_value());
  p.stores["a"]->loses_replies = false;
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  const auto answer = p.locks->Request(request);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->kind, Kind::kGranted);
  EXPECT_EQ(answer->fence.epoch, 2u);
}

TEST_F(SwitchedLocksTest, AStoreThatIsGoneIsDrained) {
  Process p = Open();
  Process q = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  p.stores["a"]->cut = q.stores["a"]->cut = true;
  const auto begun = q.locks->SwitchTo("b", "the store is gone");
  ASSERT_TRUE(begun.has_value()) << ToString(begun.error());
  EXPECT_EQ(begun->phase, SwitchMode::kDrain);
  p.view->Turn();
  EXPECT_EQ(Extend(p, held), Extended::kLater) << "it runs out by itself";
  EXPECT_EQ(Request(q, New()), Kind::kBusy);
  AcquireRequest queued = New();
  queued.queue = true;
  EXPECT_EQ(Request(q, queued), Kind::kQueued);
  Pass(milliseconds(38'000), {&p, &q}, [&] { EXPECT_EQ(Request(q, New()), Kind::kBusy); });
  Pass(milliseconds(4'000), {&p, &q});
  EXPECT_EQ(Request(q, queued), Kind::kGranted);
  EXPECT_EQ(Extend(p, held), Extended::kGone);
}

TEST_F(SwitchedLocksTest, WhatIsFencedGoesOnAtOnce) {
  Process p = Open();
  AcquireRequest held = New();
  held.fenced = true;
  const auto before = p.locks->Request(held);
  p.stores["a"]->cut = true;
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  AcquireRequest next = New();
  next.fenced = true;
  const auto after = p.locks->Request(next);
  ASSERT_TRUE(after.has_value()) << ToString(after.error());
  EXPECT_EQ(after->kind, Kind::kGranted);
  EXPECT_GT(after->fence, before->fence);
  EXPECT_EQ(Extend(p, next), Extended::kYes);
  EXPECT_EQ(Extend(p, held), Extended::kLater);
}

TEST_F(SwitchedLocksTest, ATargetThatDoesNotAnswerIsNotSwitchedTo) {
  Process p = Open();
  p.stores["b"]->cut = true;
  const auto begun = p.locks->SwitchTo("b", "");
  ASSERT_FALSE(begun.has_value());
  EXPECT_EQ(begun.error().code, Code::kUnavailable);
  EXPECT_EQ(p.locks->SwitchTo("c", "").error().code, Code::kInvalid);
  EXPECT_EQ(p.locks->SwitchTo("a", "")->phase, SwitchMode::kSingle) << "it is in force";
}

TEST_F(SwitchedLocksTest, AskedForAgainASwitchIsAnsweredAsItStands) {
  Process p = Open();
  const auto begun = p.locks->SwitchTo("b", "an upgrade");
  ASSERT_TRUE(begun.has_value());
  for (const auto& again : {p.locks->SwitchTo("b", "once more"), p.locks->SwitchToNext("")}) {
    ASSERT_TRUE(again.has_value()) << ToString(again.error());
    EXPECT_EQ(again->epoch, begun->epoch);
    EXPECT_EQ(again->target, "b");
    EXPECT_EQ(again->why, "an upgrade");
  }
  EXPECT_EQ(p.locks->SwitchTo("a", "").error().code, Code::kInvalid) << "call it off first";
}

TEST_F(SwitchedLocksTest, AStoreWithoutSealsIsReachedByADrainOnly) {
  LockCapabilities can = MemoryLockCapabilities();
  can.seals = false;
  Process p = Open(can);
  EXPECT_EQ(p.locks->SwitchTo("b", "")->phase, SwitchMode::kDrain);
}

TEST_F(SwitchedLocksTest, ATargetThatFailsCostsTheSwitchAndNoHold) {
  Process p = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  p.stores["b"]->cut = true;
  for (int i = 0; i < 5; i++) {
    static_cast<void>(TryToExtend(p, held));
    clock_.Advance(kTurn);
    p.view->Turn();
  }
  EXPECT_EQ(p.locks->Progress().phase, SwitchMode::kSingle);
  EXPECT_EQ(p.locks->Progress().in_force, "a");
  EXPECT_EQ(Extend(p, held), Extended::kYes);
}

TEST_F(SwitchedLocksTest, WhoIsCutOffFromTheRecordGetsNothingMore) {
  Process p = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  p.view->Cut(true);
  Pass(milliseconds(12'000), {&p});
  EXPECT_EQ(p.locks->Request(New()).error().code, Code::kUnavailable);
  const LockClaim claim{held.name, held.token, held.lease};
  Extended answer{};
  EXPECT_FALSE(p.locks->Extend({&claim, 1}, {&answer, 1}).has_value());
  EXPECT_EQ(Free(p, held), Freed::kYes) << "giving back harms nobody";
}

TEST_F(SwitchedLocksTest, ALeaseLongerThanTheSwitchboardWaitsForIsRefused) {
  Process p = Open();
  AcquireRequest request = New();
  request.lease = kLease + milliseconds(1);
  EXPECT_EQ(p.locks->Request(request).error().code, Code::kInvalid);
}

TEST_F(SwitchedLocksTest, AChangeOfTheRecordEndsAWait) {
  Process p = Open();
  Process q = Open();
  ASSERT_EQ(Request(p, New()), Kind::kGranted);
  AcquireRequest waiter = New();
  waiter.queue = true;
  ASSERT_EQ(Request(q, waiter), Kind::kQueued);
  std::thread waits([&] {
    EXPECT_TRUE(q.locks->Await(waiter, clock_.Boot() + std::chrono::hours(1), {}).has_value());
  });
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  q.view->Turn();
  waits.join();
  EXPECT_EQ(Request(q, waiter), Kind::kQueued);
}

TEST_F(SwitchedLocksTest, ItCanDoWhatAllOfItsStoresCan) {
  LockCapabilities can = MemoryLockCapabilities();
  can.fence = false;
  Process p = Open(can);
  LockOptions options;
  options.needs.fence = true;
  EXPECT_EQ(LockDomain::Open(p.locks, options).error().code, Code::kInvalid);
  EXPECT_TRUE(LockDomain::Open(p.locks).has_value());
}

TEST_F(SwitchedLocksTest, AnEngineWithoutEpochsIsNoStoreOfASwitchboard) {
  const auto view = std::make_shared<SwitchStoreView>(shared_);
  const auto never = []() -> Result<std::shared_ptr<LockEngine>> {
    ADD_FAILURE() << "opened";
    return MakeMemoryLocks();
  };
  LockCapabilities can = MemoryLockCapabilities();
  can.epochs = false;
  for (const bool first : {true, false}) {
    std::vector<NamedLocks> stores{{"a", MemoryLockCapabilities(), never}};
    stores.insert(first ? stores.begin() : stores.end(), {"timeless", can, never});
    const auto locks = SwitchedLocks::Open(stores, view, {}, clock_);
    ASSERT_FALSE(locks.has_value());
    EXPECT_EQ(locks.error().code, Code::kInvalid);
    EXPECT_NE(locks.error().message.find("timeless"), std::string::npos);
  }
}

TEST_F(SwitchedLocksTest, AServiceStartsThoughItsMainStoreIsDown) {
  const auto view = std::make_shared<SwitchStoreView>(shared_);
  bool down = true;
  const auto open = [&]() -> Result<std::shared_ptr<LockEngine>> {
    if (down) {
      return Error{Code::kUnavailable, Effect::kNone, "down"};
    }
    return stores_.at("a");
  };
  const auto locks = SwitchedLocks::Open({{"a", MemoryLockCapabilities(), open}}, view, {}, clock_);
  ASSERT_TRUE(locks.has_value()) << ToString(locks.error());
  EXPECT_EQ((*locks)->Request(New()).error().code, Code::kUnavailable);
  down = false;
  EXPECT_EQ((*locks)->Request(New())->kind, Kind::kGranted);
}

}  // namespace
}  // namespace oncemq::testing
