// SPDX-License-Identifier: Apache-2.0
// Several processes over the same two stores and the same record, by a clock that the test sets.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "oncemq/locks/memory_locks.h"
#include "oncemq/locks/switched_locks.h"
#include "support/remote_locks.h"
#include "support/switch_store.h"

namespace oncemq::testing {

inline constexpr milliseconds kLease{30'000};
inline constexpr milliseconds kTurn{2'000};

class SwitchedLocksTest : public ::testing::Test {
 protected:
  using Kind = LockAnswer::Kind;

  // One process: its view of the record, and of two stores.
  struct Process {
    std::shared_ptr<SwitchStoreView> view;
    std::map<std::string, std::shared_ptr<RemoteLocks>> stores;
    std::shared_ptr<SwitchedLocks> locks;
  };

  Process Open(LockCapabilities can = MemoryLockCapabilities(),
               WhenBlind when_blind = WhenBlind::kStrict) {
    Process process{std::make_shared<SwitchStoreView>(shared_), {}, nullptr};
    std::vector<NamedLocks> named;
    for (const char* name : {"a", "b"}) {
      const auto remote = std::make_shared<RemoteLocks>(stores_.at(name));
      process.stores[name] = remote;
      named.push_back(
          {name, can, [remote] { return Result<std::shared_ptr<LockEngine>>(remote); }});
    }
    auto locks = SwitchedLocks::Open(
        named, process.view,
        {.when_blind = when_blind, .breaker = {.failures = 1'000}, .aside = AtOnce}, clock_);
    EXPECT_TRUE(locks.has_value()) << ToString(locks.error());
    process.locks = *std::move(locks);
    process.view->UntilItWaits();
    return process;
  }

  // Nothing of a switchboard happens but when the test says so.
  static void AtOnce(const std::function<void()>& call) { call(); }

  AcquireRequest New(std::string_view name = "x") {
    return {.name = name,
            .token = {1, ++tokens_},
            .queue = false,
            .lease = kLease,
            .queue_lease = kLease,
            .who = "a test"};
  }
  static Kind Request(Process& process, const AcquireRequest& request) {
    const auto answer = process.locks->Request(request);
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer.value_or(LockAnswer{}).kind;
  }
  static Result<Extended> TryToExtend(Process& process, const AcquireRequest& request) {
    const LockClaim claim{request.name, request.token, request.lease};
    Extended answer{};
    const Status done = process.locks->Extend({&claim, 1}, {&answer, 1});
    return done ? Result<Extended>(answer) : done.error();
  }
  static Extended Extend(Process& process, const AcquireRequest& request) {
    const auto answer = TryToExtend(process, request);
    EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
    return answer.value_or(Extended::kGone);
  }
  static Freed Free(Process& process, const AcquireRequest& request) {
    const LockClaim claim{request.name, request.token};
    Freed answer{};
    const Status done = process.locks->Free({&claim, 1}, {&answer, 1});
    EXPECT_TRUE(done.has_value()) << ToString(done.error());
    return answer;
  }
  // Time passes; those who live renew what they hold.
  void Pass(
      milliseconds by, std::initializer_list<Process*> living,
      const std::function<void()>& renew = [] {}) {
    for (milliseconds passed{0}; passed < by; passed += kTurn) {
      clock_.Advance(kTurn);
      for (Process* process : living) {
        process->view->Turn();
      }
      renew();
    }
  }
  bool Held(const std::string& store) const {
    return !stores_.at(store)->Read("x")->parties.empty();
  }

  ManualClock clock_;
  std::map<std::string, std::shared_ptr<LockEngine>> stores_{{"a", MakeMemoryLocks({}, clock_)},
                                                             {"b", MakeMemoryLocks({}, clock_)}};
  const std::shared_ptr<SharedSwitchStore> shared_ = std::make_shared<SharedSwitchStore>();
  uint64_t tokens_ = 0;
};

}  // namespace oncemq::testing
