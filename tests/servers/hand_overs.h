// SPDX-License-Identifier: Apache-2.0
// A name that goes through the hands of many who wait for it, in several engines, each of which is
// a process to the store.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "oncemq/locks/lock_engine.h"

namespace oncemq::testing {

using LockEngines = std::vector<std::shared_ptr<LockEngine>>;

inline constexpr milliseconds kWaitsFor{60'000};  // only a wake ends such a wait

inline AcquireRequest WaiterOf(uint64_t attempt, std::string_view name = "x") {
  return {.name = name, .token = {0xC0DE, attempt}, .lease = kWaitsFor, .queue_lease = kWaitsFor};
}

inline LockAnswer::Kind AnswerKind(LockEngine& engine, const AcquireRequest& request) {
  const auto answer = engine.Request(request);
  EXPECT_TRUE(answer.has_value()) << ToString(answer.error());
  return answer ? answer->kind : LockAnswer::Kind::kSealed;
}

inline void FreedBy(LockEngine& engine, const AcquireRequest& request) {
  const LockClaim claim{request.name, request.token};
  Freed freed{};
  EXPECT_TRUE(engine.Free({&claim, 1}, {&freed, 1}));
}

inline void AwaitedBy(LockEngine& engine, const AcquireRequest& request) {
  EXPECT_TRUE(engine.Await(request, SystemClock::Instance().Boot() + kWaitsFor, {}));
}

// Whoever waits first begins to listen, and all who wait are woken when the engine hears: so that
// wake is nobody's any more.
inline void UntilEachHears(const LockEngines& engines) {
  for (const auto& engine : engines) {
    const AcquireRequest holder = WaiterOf(1'000'001, "hears");
    const AcquireRequest waiter = WaiterOf(1'000'002, "hears");
    ASSERT_EQ(AnswerKind(*engine, holder), LockAnswer::Kind::kGranted);
    ASSERT_EQ(AnswerKind(*engine, waiter), LockAnswer::Kind::kQueued);
    AwaitedBy(*engine, waiter);
    FreedBy(*engine, waiter);
    FreedBy(*engine, holder);
  }
}

struct HandOvers {
  size_t wakes = 0;
  std::vector<size_t> order;  // in which they had it, by the order in which they came
};

// The first of the engines holds the name; then each of the waiters, who come in turn to each.
inline HandOvers HandThrough(const LockEngines& engines, size_t waiters) {
  const AcquireRequest holder = WaiterOf(1'000'000);
  EXPECT_EQ(AnswerKind(*engines[0], holder), LockAnswer::Kind::kGranted);
  for (size_t i = 0; i < waiters; i++) {
    EXPECT_EQ(AnswerKind(*engines[i % engines.size()], WaiterOf(i)), LockAnswer::Kind::kQueued);
  }
  HandOvers seen;
  std::atomic<size_t> wakes{0};
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < waiters && !::testing::Test::HasFailure(); i++) {
    threads.emplace_back([&, i] {
      LockEngine& engine = *engines[i % engines.size()];
      do {
        AwaitedBy(engine, WaiterOf(i));
        wakes++;
      } while (AnswerKind(engine, WaiterOf(i)) != LockAnswer::Kind::kGranted &&
               !::testing::Test::HasFailure());
      seen.order.push_back(i);  // by its holder
      FreedBy(engine, WaiterOf(i));
    });
  }
  FreedBy(*engines[0], holder);
  threads.clear();
  seen.wakes = wakes;
  return seen;
}

// Each was woken once, in its turn.
inline void ExpectOneWakeEach(const HandOvers& seen, size_t waiters) {
  EXPECT_EQ(seen.wakes, waiters);
  ASSERT_EQ(seen.order.size(), waiters);
  for (size_t i = 0; i < waiters; i++) {
    EXPECT_EQ(seen.order[i], i);
  }
}

}  // namespace oncemq::testing
