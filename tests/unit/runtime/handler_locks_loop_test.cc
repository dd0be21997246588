// SPDX-License-Identifier: Apache-2.0
// Names that handlers take, in a service that runs.
#include <gtest/gtest.h>

#include <latch>

#include "lock_use.h"
#include "oncemq/locks/memory_locks.h"
#include "poll_loop_fixture.h"

namespace oncemq::testing {
namespace {

class HandlerLocksLoopTest : public PollLoopTest {
 protected:
  // One handler that has taken an elided name, until Free().
  class Elided {
   public:
    Elided(const RuntimeOptions& options, ShakyWindow& window)
        : loop_(
              options, &window, [this](const Message&, Context& context) { return Hold(context); },
              nullptr, locks_.source) {
      loop_.script().Append(0, "id", "key");
      loop_.script().Assign(0);
      held_.wait();
    }
    ~Elided() { Free(); }

    RunningLoop& loop() { return loop_; }
    const Lease& lease() const { return *lease_; }
    void Free() {
      if (!free_.try_wait()) {
        free_.count_down();
      }
    }

   private:
    Outcome Hold(Context& context) {
      if (!held_.try_wait()) {
        lease_ = &**context.Lock("x");
        held_.count_down();
        free_.wait();
      }
      return Done{};
    }

    const OpenedLocks locks_ =
        *OpenLocks({.elided = true, .names_partition_owned = true}, Level::kAtomic);
    std::latch held_{1};
    std::latch free_{1};
    const Lease* lease_ = nullptr;
    RunningLoop loop_;
  };
  static RuntimeOptions Worker() {
    RuntimeOptions options = Options();
    options.workers = 1;
    return options;
  }
};

TEST_F(HandlerLocksLoopTest, HandlersOfDifferentKeysTakeTurnsAtOneName) {
  const std::shared_ptr<LockDomain> domain = *LockDomain::Open(MakeMemoryLocks());
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  RuntimeOptions options = Options();
  options.workers = 4;
  RunningLoop loop(options, &window_,
                   [&](const Message&, Context& context) -> Outcome {
                     const auto lease = context.Lock("the same");
                     if (!lease || !*lease) {
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
  options.policy.retry.first = milliseconds(1);
  RunningLoop loop(options, &window_,
                   [&](const Message&, Context& context) -> Outcome {
                     const auto lease = context.Lock("x");
                     if (!lease || !*lease) {
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

TEST_F(HandlerLocksLoopTest, AnElidedNameLastsAsLongAsCommitsKeepThePartition) {
  RuntimeOptions options = Worker();
  options.core.session_timeout = milliseconds(3'000);
  options.core.session_margin = milliseconds(500);
  Elided held(options, window_);
  const BootTime first = held.lease().safe_until();
  EXPECT_TRUE(Holds([&] { return held.lease().safe_until() > first; }));
  held.loop().script().AnswerCommits(CommitReply::kUnknown);
  EXPECT_TRUE(Holds([&] { return !held.lease().StillMine(); })) << "and no longer";
  held.loop().script().AnswerCommits(CommitReply::kAcknowledged);
}

TEST_F(HandlerLocksLoopTest, AnElidedNameIsOverWhenItsPartitionIsGivenBack) {
  RuntimeOptions options = Worker();
  options.drain_deadline = milliseconds(200);
  Elided held(options, window_);
  held.loop().script().Revoke(0);
  EXPECT_TRUE(Holds([&] { return !held.loop().script().seen().given_back.empty(); }));
  EXPECT_FALSE(held.lease().StillMine());
}

// What is finished could not be stored any more, so nobody waits for the handler.
TEST_F(HandlerLocksLoopTest, AnElidedNameIsOverWhenAPartitionThatIsStoppedIsGivenBack) {
  RuntimeOptions options = Worker();
  options.core.session_timeout = milliseconds(6'000);
  options.core.session_margin = milliseconds(500);
  Elided held(options, window_);
  held.loop().script().AnswerCommits(CommitReply::kRefused);
  EXPECT_TRUE(Holds([&] {
    return held.loop().Now().partitions.front().status.phase == PartitionPhase::kStopped;
  }));
  EXPECT_TRUE(held.lease().StillMine()) << "the session lasts";
  held.loop().script().Revoke(0);
  EXPECT_TRUE(Holds([&] { return !held.loop().script().seen().given_back.empty(); }));
  EXPECT_FALSE(held.lease().StillMine());
}

}  // namespace
}  // namespace oncemq::testing
