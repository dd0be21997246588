// SPDX-License-Identifier: Apache-2.0
// Names of handlers that still run when something around them ends.
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "handler_locks_fixture.h"

namespace oncemq::testing {
namespace {

class HandlerLocksEndTest : public HandlerLocksTest {
 protected:
  // What belongs to the runtime goes; who uses it beyond that is found by the address sanitizer.
  void EndRuntime(Prepared& run) {
    EXPECT_TRUE(run.job->watch.Abandon());
    domain_.reset();
    elided_ = {};
  }
  void UntilParties(std::string_view name, size_t count) {
    while (engine_->Read(name)->parties.size() < count) {
      std::this_thread::yield();
    }
  }
  template <class Locked>
  static void ExpectGone(const Result<Locked>& locked) {
    EXPECT_TRUE(!locked.has_value() && locked.error().code == Code::kUnavailable);
  }
  // Hangs in `handler` until the runtime has ended.
  void ExpectOutlives(const std::function<void(Context&, const std::function<void()>&)>& handler) {
    const auto run = Prepare();
    std::latch inside(1);
    std::latch gone(1);
    std::jthread worker([&] {
      EXPECT_EQ(Drive(*run,
                      [&](const Message&, Context& context) -> Outcome {
                        handler(context, [&] {
                          inside.count_down();
                          gone.wait();
                        });
                        return Done{};
                      }),
                Driven::kAbandoned);
    });
    inside.wait();
    EndRuntime(*run);
    gone.count_down();
  }
};

TEST_F(HandlerLocksEndTest, AHandlerThatOutlivesTheRuntimeIsToldThatItsLocksAreGone) {
  ExpectOutlives([](Context& context, const std::function<void()>& hang) {
    const Lease* lease = &**context.Lock("x");
    EXPECT_TRUE(lease->StillMine());
    hang();
    EXPECT_FALSE(lease->StillMine());
    ExpectGone(context.Lock("y"));
  });
  EXPECT_FALSE(Held("x"));
}

TEST_F(HandlerLocksEndTest, AHandlerThatOutlivesAnElisionIsToldToo) {
  UseElision();
  ExpectOutlives([](Context& context, const std::function<void()>& hang) {
    hang();
    ExpectGone(context.Lock("x"));
    ExpectGone(context.LockAll(std::vector<std::string>{"x", "y"}));
  });
}

TEST_F(HandlerLocksEndTest, ACallThatWaitsWhenTheRuntimeEndsKeepsItsDomainUntilItReturns) {
  const std::weak_ptr<LockDomain> domain = domain_;
  const AcquireRequest other{.name = "x",
                             .token = {1, 1},
                             .lease = milliseconds(60'000),
                             .queue_lease = milliseconds(60'000)};
  ASSERT_EQ(engine_->Request(other)->kind, LockAnswer::Kind::kGranted);
  std::stop_source stop;
  const auto run = Prepare();
  std::jthread worker([&] {
    EXPECT_EQ(Drive(*run,
                    [&](const Message&, Context& context) -> Outcome {
                      const auto lease = context.Lock("x", {.stop = stop.get_token()});
                      EXPECT_TRUE(lease.has_value() && !*lease);
                      return Done{};
                    }),
              Driven::kAbandoned);
  });
  UntilParties("x", 2);
  EndRuntime(*run);
  EXPECT_FALSE(domain.expired());
  stop.request_stop();
  worker.join();
  EXPECT_TRUE(domain.expired());
}

TEST_F(HandlerLocksEndTest, AWaitEndsWithTheRightToRunAndWithWhatTheHandlerSays) {
  using Lock = std::function<bool(Context&, const AcquireOptions&)>;
  const Lock ways[] = {
      [](Context& context, const AcquireOptions& how) {
        return context.Lock("x", how)->has_value();
      },
      [](Context& context, const AcquireOptions& how) {
        return context.LockAll(std::vector<std::string>{"x", "y"}, how)->has_value();
      }};
  for (const Lock& lock : ways) {
    for (const bool by_its_own : {false, true}) {
      auto other = *domain_->Acquire("x");
      const auto run = Prepare();
      std::stop_source own;
      std::jthread worker([&] {
        Drive(*run, [&](const Message&, Context& context) -> Outcome {
          EXPECT_FALSE(lock(context, {.stop = own.get_token()}));
          EXPECT_EQ(context.stop().stop_requested(), !by_its_own);
          return Done{};
        });
      });
      UntilParties("x", 2);
      const BatchWatch::Due due =
          run->job->watch.Tick(SystemClock::Instance().Boot(), std::chrono::hours(1));
      (by_its_own ? own : std::stop_source(due.stop)).request_stop();
      other->Release();  // it is the turn of whoever waits still
    }
  }
}

TEST_F(HandlerLocksEndTest, AnElidedNameFollowsTheAssignmentForAsLongAsItIsHeld) {
  UseElision();
  const BootTime now = SystemClock::Instance().Boot();
  const auto run = Prepare(1, nullptr, now + milliseconds(10'000));
  Drive(*run, [&](const Message&, Context& context) -> Outcome {
    const Lease* lease = &**context.Lock("x");
    EXPECT_LE(lease->safe_until(), now + milliseconds(10'000));
    run->job->watch.SetStopAt(now + milliseconds(20'000));
    EXPECT_GT(lease->safe_until(), now + milliseconds(10'000)) << "a commit was acknowledged";
    EXPECT_GT((*context.Lock("y"))->safe_until(), now + milliseconds(10'000)) << "later ones too";
    run->job->watch.SetStopAt(now);
    EXPECT_FALSE(lease->StillMine()) << "the partition is given back";
    EXPECT_FALSE(*context.Lock("z"));
    run->job->watch.SetStopAt(now + milliseconds(20'000));
    EXPECT_FALSE(lease->StillMine()) << "what is lost stays lost";
    return Done{};
  });
}

TEST_F(HandlerLocksEndTest, AnElidedNameEndsWhenItsClaimIsSomebodyElses) {
  UseElision();
  const BootTime now = SystemClock::Instance().Boot();
  const auto run = Prepare();
  Drive(*run, [&](const Message&, Context& context) -> Outcome {
    const Lease* lease = &**context.Lock("x");
    EXPECT_TRUE(lease->StillMine());
    EXPECT_TRUE(run->job->watch.NotifyStop(run->job->watch.Tick(now, std::chrono::hours(1)).stop));
    EXPECT_FALSE(lease->StillMine());
    run->job->watch.SetStopAt(now + milliseconds(20'000));
    EXPECT_FALSE(*context.Lock("y")) << "what commits say of the partition is no matter";
    return Done{};
  });
}

TEST_F(HandlerLocksEndTest, OfSeveralElidedNamesNoneIsHadBehindTheEndOfTheAssignment) {
  UseElision();
  const auto run = Prepare();
  Drive(*run, [&](const Message&, Context& context) -> Outcome {
    run->job->watch.SetStopAt(SystemClock::Instance().Boot());
    EXPECT_FALSE(*context.LockAll(std::vector<std::string>{"x", "y"}));
    for (const char* name : {"x", "y"}) {
      EXPECT_TRUE(elided_.domain->engine().Read(name)->parties.empty());
    }
    return Done{};
  });
}

}  // namespace
}  // namespace oncemq::testing
