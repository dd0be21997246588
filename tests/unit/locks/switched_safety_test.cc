// SPDX-License-Identifier: Apache-2.0
// Ways to two holders: stores that cannot be sealed, and processes that cannot read the record.
#include <utility>

#include "support/forwarding_locks.h"
#include "switched_locks_fixture.h"

namespace oncemq::testing {
namespace {

// As memcached: it knows no seal, and names of different epochs never meet.
class LocksByEpoch final : public ForwardingLocks {
 public:
  using ForwardingLocks::ForwardingLocks;

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    epochs_[request.token] = request.epoch;
    const std::string name = Named(request.name, request.token);
    AcquireRequest inner = request;
    inner.name = name;
    inner.epoch = 0;
    return ForwardingLocks::Request(inner);
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    for (size_t i = 0; i < claims.size(); i++) {
      const std::string name = Named(claims[i].name, claims[i].token);
      const LockClaim claim{name, claims[i].token, claims[i].lease};
      static_cast<void>(ForwardingLocks::Extend({&claim, 1}, answers.subspan(i, 1)));
    }
    return {};
  }

 private:
  std::string Named(std::string_view name, const Token& token) {
    return std::to_string(epochs_[token]) + ":" + std::string(name);
  }

  std::map<Token, uint32_t> epochs_;
};

class SwitchedSafetyTest : public SwitchedLocksTest {};

// Somebody else may have had it in between, and freed it in both.
TEST_F(SwitchedSafetyTest, WhatTheSecondStoreGrantsWhenTheFirstMayHaveEndedIsNoGrant) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  milliseconds takes{999};
  p.stores["b"]->on_its_way = [&] { clock_.Advance(std::exchange(takes, milliseconds(0))); };
  AcquireRequest request = New();
  request.lease = milliseconds(1'000);
  const auto late = p.locks->Request(request);
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error().effect, Effect::kUnknown) << "it is given back by who gives up";
  takes = milliseconds(998);
  EXPECT_EQ(Request(p, request), Kind::kGranted);
}

// Another one may have had it in between, and freed it in both.
TEST_F(SwitchedSafetyTest, AHoldThatReachesTheSecondStoreWhenTheFirstMayHaveEndedIsTakenBack) {
  Process p = Open();
  Process q = Open();
  AcquireRequest request = New();
  request.lease = milliseconds(1'000);
  ASSERT_EQ(Request(p, request), Kind::kGranted);
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  q.view->Turn();
  bool takes = true;
  p.stores["b"]->on_its_way = [&] {
    if (std::exchange(takes, false)) {
      clock_.Advance(milliseconds(1'000));
      const AcquireRequest other = New();
      EXPECT_EQ(Request(q, other), Kind::kGranted);
      EXPECT_EQ(Free(q, other), Freed::kYes);
    }
  };
  EXPECT_EQ(Extend(p, request), Extended::kLater);
  EXPECT_FALSE(takes);
  EXPECT_FALSE(Held("b"));
  EXPECT_EQ(Free(p, request), Freed::kNotHeld);
}

TEST_F(SwitchedSafetyTest, WhatOnlyTheSecondStoreHoldsWasNotHeldToTheEnd) {
  Process p = Open();
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  const AcquireRequest request = New();
  ASSERT_EQ(Request(p, request), Kind::kGranted);
  const LockClaim claim{request.name, request.token};
  Freed ended{};
  ASSERT_TRUE(stores_.at("a")->Free({&claim, 1}, {&ended, 1}));  // as by the end of its lease
  EXPECT_EQ(Free(p, request), Freed::kNotHeld);
  EXPECT_FALSE(Held("b"));
}

TEST_F(SwitchedSafetyTest, ADrainOfMemcachedThatIsNotCalledOffLetsNoTwoHold) {
  stores_["a"] = std::make_shared<LocksByEpoch>(MakeMemoryLocks({}, clock_));
  LockCapabilities can = MemoryLockCapabilities();
  can.seals = can.fence = false;
  Process p = Open(can);
  Process q = Open(can);
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_EQ(q.locks->SwitchTo("b", "")->phase, SwitchMode::kDrain);
  const auto called_off = q.locks->CallOff("changed our minds");
  p.view->Turn();
  q.view->Turn();
  EXPECT_FALSE(Request(q, New()) == Kind::kGranted && Extend(p, held) == Extended::kYes);
  ASSERT_FALSE(called_off.has_value());
  EXPECT_EQ(called_off.error().code, Code::kInvalid);
  Pass(milliseconds(42'000), {&p, &q});
  EXPECT_EQ(Request(q, New()), Kind::kGranted) << "by the other one, when nobody believes";
}

// What it holds is not extended from the beginning of the switch on, and nobody else's before its
// end.
TEST_F(SwitchedSafetyTest, WhoGoesOnBlindlyStopsBeforeAPlannedSwitchEnds) {
  Process p = Open(MemoryLockCapabilities(), WhenBlind::kAvailable);
  Process q = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  p.view->Cut(true);
  BootTime believed;
  const auto extend = [&] {
    if (Extend(p, held) == Extended::kYes) {
      believed = clock_.Boot() + kLease;
    }
  };
  Pass(milliseconds(60'000), {&p, &q}, extend);
  EXPECT_EQ(believed, clock_.Boot() + kLease) << "it goes on";
  ASSERT_EQ(q.locks->SwitchTo("b", "")->phase, SwitchMode::kBoth);
  Pass(milliseconds(42'000), {&p, &q}, extend);
  ASSERT_EQ(q.locks->Progress().in_force, "b");
  ASSERT_EQ(Request(q, New()), Kind::kGranted);
  extend();
  EXPECT_LE(believed, clock_.Boot()) << "two hold";
}

// Whoever begins it is cut off from the store; another one sees the news and seals it.
TEST_F(SwitchedSafetyTest, WhoGoesOnBlindlyStopsBeforeADrainEndsThatSomebodySealedTheStoreFor) {
  Process p = Open(MemoryLockCapabilities(), WhenBlind::kAvailable);
  Process q = Open();
  Process r = Open();
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  p.view->Cut(true);
  Pass(milliseconds(20'000), {&p, &q, &r}, [&] { EXPECT_EQ(Extend(p, held), Extended::kYes); });
  q.stores["a"]->cut = true;
  ASSERT_EQ(q.locks->SwitchTo("b", "")->phase, SwitchMode::kDrain);
  EXPECT_EQ(Extend(p, held), Extended::kYes) << "nobody has sealed it yet";
  Pass(milliseconds(42'000), {&p, &q, &r}, [&] { EXPECT_NE(Extend(p, held), Extended::kYes); });
  EXPECT_EQ(Request(q, New()), Kind::kGranted);
}

// A record that was lost, and begun anew by somebody who knows of no long leases. No switch waits
// for what is held longer than it says.
TEST_F(SwitchedSafetyTest, WhatIsHeldLongerThanTheRecordAllowsNowIsNotExtended) {
  Process p = Open();
  AcquireRequest shorter = New("y");
  shorter.lease = kLease / 2;
  const AcquireRequest held = New();
  ASSERT_EQ(Request(p, held), Kind::kGranted);
  ASSERT_EQ(Request(p, shorter), Kind::kGranted);
  {
    MutexLock lock(shared_->mutex);
    SwitchRecord less = *ParseSwitchRecord(shared_->text.text);
    less.epoch++;
    less.longest = kLease / 2;
    shared_->text = {Format(less), shared_->text.version + 1};
  }
  p.view->Turn();
  const std::vector<LockClaim> claims = {{"x", held.token, held.lease},
                                         {"y", shorter.token, shorter.lease}};
  std::vector<Extended> answers(2);
  ASSERT_TRUE(p.locks->Extend(claims, answers));
  EXPECT_EQ(answers, (std::vector<Extended>{Extended::kLater, Extended::kYes}));
}

}  // namespace
}  // namespace oncemq::testing
