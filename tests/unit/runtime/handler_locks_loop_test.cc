// SPDX-License-Identifier: Apache-2.0
// Names that handlers take, in a service that runs.
#include <gtest/gtest.h>

#include "oncemq/locks/memory_locks.h"
#include "poll_loop_fixture.h"

namespace oncemq::testing {
namespace {

class HandlerLocksLoopTest : public PollLoopTest {};

TEST_F(HandlerLocksLoopTest, HandlersOfDifferentKeysTakeTurnsAtOneName) {
  const std::shared_ptr<LockDomain> domain = *LockDomain::Open(MakeMemoryLocks());
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  RuntimeOptions options = Options();
  options.workers = 4;
  RunningLoop loop(options, &window_,
                   [&](const Message&, Context& context) -> Outcome {
                     const auto lease = context.Lock("the same");
                     if (!lease || *lease == nullptr) {
                       return Retry{};
                     }
                     most = std::max(most.load(), ++inside);
                     std::this_thread::yield();
                     inside--;
                     return Done{};
                   },
                   nullptr, {LockSource::Kind::kDomain, domain});
  for (int i = 0; i < 200; i++) {
    loop.script().Append(0, "id" + std::to_string(i), "key" + std::to_string(i));
  }
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 200; }));
  EXPECT_EQ(most, 1);
  EXPECT_TRUE(loop.Stop().clean);
}

// What was handled under a lease that is lost comes again, by itself, until it is not.
TEST_F(HandlerLocksLoopTest, WhatCameAgainIsDoneInTheEnd) {
  const auto engine = MakeMemoryLocks();
  const std::shared_ptr<LockDomain> domain = *LockDomain::Open(engine);
  std::atomic<int> lost{0};
  RuntimeOptions options = Options();
  options.policy.backoff_first = milliseconds(1);
  RunningLoop loop(options, &window_,
                   [&](const Message&, Context& context) -> Outcome {
                     const auto lease = context.Lock("x");
                     if (!lease || *lease == nullptr) {
                       return Retry{};
                     }
                     if (context.attempt() < 3) {
                       EXPECT_EQ(context.uncertain(), context.attempt() > 1);
                       static_cast<void>(engine->Evict("x", (*lease)->fence()));
                       static_cast<void>((*lease)->Confirm());
                       lost++;
                     }
                     return Done{};
                   },
                   nullptr, {LockSource::Kind::kDomain, domain});
  loop.script().Append(0, "id", "key");
  loop.script().Assign(0);
  EXPECT_TRUE(Holds([&] { return loop.Now().counts.applied == 1; }));
  EXPECT_EQ(lost, 2);
  EXPECT_TRUE(loop.Stop().clean);
}

}  // namespace
}  // namespace oncemq::testing
