// SPDX-License-Identifier: Apache-2.0
// A planned switch to a target that hangs costs no hold, however short its lease is compared with
// the longest one: the switch is called off in time.
#include <algorithm>

#include "support/forwarding_locks.h"
#include "switched_locks_fixture.h"

namespace oncemq::testing {
namespace {

constexpr milliseconds kCall{2'000};  // as long as an engine waits by itself

// A store that is paused: each call takes all of its time, and is not answered.
class SilentStore final : public ForwardingLocks {
 public:
  SilentStore(std::shared_ptr<LockEngine> inner, ManualClock& clock)
      : ForwardingLocks(std::move(inner)), clock_(clock) {}

  Result<LockAnswer> Request(const AcquireRequest& request) override {
    requests++;
    const Status heard = Answers(kCall);
    return heard ? ForwardingLocks::Request(request) : Result<LockAnswer>(heard.error());
  }
  Status Extend(std::span<const LockClaim> claims, std::span<Extended> answers) override {
    for (const LockClaim& claim : claims) {
      within = std::min(kCall, claim.answer_within);
    }
    const Status heard = Answers(within);
    return heard ? ForwardingLocks::Extend(claims, answers) : heard;
  }
  Status Free(std::span<const LockClaim> claims, std::span<Freed> answers) override {
    const Status heard = Answers(kCall);
    return heard ? ForwardingLocks::Free(claims, answers) : heard;
  }
  // Aside, where nobody waits for it.
  Result<uint32_t> Seal(uint32_t epoch) override {
    const Status heard = Answers(milliseconds(0));
    return heard ? ForwardingLocks::Seal(epoch) : Result<uint32_t>(heard.error());
  }

  bool silent = false;
  int requests = 0;
  milliseconds within{0};

 private:
  Status Answers(milliseconds time) {
    if (!silent) {
      return {};
    }
    clock_.Advance(time);
    return Error{Code::kTimeout, Effect::kUnknown, "no reply"};
  }

  ManualClock& clock_;
};

class SwitchedSilenceTest : public SwitchedLocksTest {
 protected:
  SwitchedSilenceTest() { stores_["b"] = b_; }

  // Without a question to a store.
  SwitchMode Mode() {
    MutexLock lock(shared_->mutex);
    return ParseSwitchRecord(shared_->text.text)->mode;
  }
  AcquireRequest Hold(Process& process, milliseconds lease, std::string_view name = "x") {
    AcquireRequest request = New(name);
    request.lease = lease;
    EXPECT_EQ(Request(process, request), Kind::kGranted);
    return request;
  }
  // One renewal; true: it was acknowledged.
  static bool Renewed(Process& process, const AcquireRequest& request, milliseconds within) {
    const LockClaim claim{request.name, request.token, request.lease, within};
    Extended answer{};
    return process.locks->Extend({&claim, 1}, {&answer, 1}) && answer == Extended::kYes;
  }
  // As a watchdog renews: after a third of the lease, waiting a sixth for the answer, and a
  // twentieth after a failure, waiting for as long as it can. Whether the hold is renewed in time.
  bool Outlives(Process& process, const AcquireRequest& request, BootTime requested_at) {
    const BootTime believed_until = requested_at + request.lease * 89 / 100;
    clock_.Advance(request.lease / 3);
    process.view->Turn();  // looks at the record
    milliseconds within = request.lease / 6;
    while (clock_.Boot() < believed_until) {
      if (Renewed(process, request, within)) {
        return clock_.Boot() < believed_until;
      }
      clock_.Advance(request.lease / 20);
      within = std::chrono::floor<milliseconds>(
          std::max(believed_until - clock_.Boot(), microseconds(0)));
    }
    return false;
  }

  const std::shared_ptr<SilentStore> b_ =
      std::make_shared<SilentStore>(MakeMemoryLocks({}, clock_), clock_);
};

TEST_F(SwitchedSilenceTest, AHoldOutlivesASwitchToATargetThatHangs) {
  for (const int seconds : {3, 5, 10, 15, 30}) {
    Process p = Open();
    const BootTime requested_at = clock_.Boot();
    const AcquireRequest held = Hold(p, std::chrono::seconds(seconds));
    ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
    b_->silent = true;
    EXPECT_TRUE(Outlives(p, held, requested_at)) << seconds;
    EXPECT_EQ(Mode(), SwitchMode::kSingle) << seconds;
    b_->silent = false;
    Free(p, held);
  }
}

// The next renewal is far away.
TEST_F(SwitchedSilenceTest, ItsHolderAsksTheTargetBetweenRenewals) {
  Process p = Open();
  const milliseconds lease{30'000};
  const AcquireRequest held = Hold(p, lease);
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  b_->silent = true;
  const BootTime silent_at = clock_.Boot();
  while (Mode() != SwitchMode::kSingle && clock_.Boot() < silent_at + lease) {
    Pass(kTurn, {&p});
  }
  EXPECT_LE(clock_.Boot() - silent_at, lease / 2);
  EXPECT_EQ(Extend(p, held), Extended::kYes);
}

TEST_F(SwitchedSilenceTest, WhoHoldsNothingAsksNothing) {
  Process p = Open();
  const AcquireRequest held = Hold(p, kLease);
  Free(p, held);
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  const int requests = b_->requests;
  b_->silent = true;
  Pass(milliseconds(20'000), {&p});
  EXPECT_EQ(b_->requests, requests);
  EXPECT_EQ(Mode(), SwitchMode::kBoth);
}

TEST_F(SwitchedSilenceTest, ALostReplyCostsNoSwitch) {
  Process p = Open();
  const AcquireRequest held = Hold(p, milliseconds(5'000));
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  clock_.Advance(held.lease / 3);
  b_->silent = true;
  EXPECT_FALSE(Renewed(p, held, held.lease / 6));
  b_->silent = false;
  clock_.Advance(held.lease / 20);
  EXPECT_TRUE(Renewed(p, held, held.lease / 3));
  clock_.Advance(held.lease / 3);
  b_->silent = true;
  EXPECT_FALSE(Renewed(p, held, held.lease / 6));
  EXPECT_EQ(Mode(), SwitchMode::kBoth);
}

// Else one with a long lease, which may wait for longer, would keep the other from its renewal.
TEST_F(SwitchedSilenceTest, EveryRenewalWaitsForTheTargetAsTheShortestLeaseNeedsIt) {
  Process p = Open();
  const AcquireRequest held = Hold(p, kLease, "long");
  const AcquireRequest shorter = Hold(p, milliseconds(6'000), "short");
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  EXPECT_EQ(Extend(p, held), Extended::kYes);
  EXPECT_EQ(b_->within, milliseconds(1'000));
  Free(p, shorter);
  EXPECT_EQ(Extend(p, held), Extended::kYes);
  EXPECT_EQ(b_->within, kCall);
}

TEST_F(SwitchedSilenceTest, WhatIsGivenBackTellsOfItToo) {
  Process p = Open();
  Hold(p, milliseconds(5'000));
  const AcquireRequest given_back = Hold(p, milliseconds(5'000), "y");
  ASSERT_TRUE(p.locks->SwitchTo("b", "").has_value());
  ASSERT_TRUE(Renewed(p, given_back, kCall));
  b_->silent = true;
  const LockClaim claim{given_back.name, given_back.token};
  Freed answer{};
  EXPECT_FALSE(p.locks->Free({&claim, 1}, {&answer, 1}));
  EXPECT_EQ(Mode(), SwitchMode::kBoth);
  EXPECT_FALSE(p.locks->Free({&claim, 1}, {&answer, 1}));
  EXPECT_EQ(Mode(), SwitchMode::kSingle);
}

}  // namespace
}  // namespace oncemq::testing
