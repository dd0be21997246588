// SPDX-License-Identifier: Apache-2.0
// The museum: what is known to be wrong has to be convicted, by each judge that finds nothing in
// our engines; and what does the same without the flaw must not be.
#include <atomic>
#include <thread>

#include "lock_storm.h"
#include "museum.h"
#include "oncemq/locks/lock_domain.h"
#include "oncemq/locks/redis_locks.h"
#include "support/eventually.h"
#include "support/forwarding_locks.h"
#include "support/redis_server.h"

namespace oncemq::testing {
namespace {

class LockMuseum : public LockStorm {
 protected:
  void SetUp() override { ONCEMQ_REQUIRE_REDIS(); }

  void Join(const std::string& exhibit, milliseconds clock_error) {
    server_ = StormEngines().front().start(true);
    MakeNetworks(server_->ports());
    for (size_t i = 0; i < kPlayers; i++) {
      PlayerOptions player = NewPlayer();
      player.exhibit = exhibit;
      player.hold = milliseconds(900);
      player.names = 1;
      player.clock_error = i % 2 == 0 ? clock_error : -clock_error;
      server_->Put(player, PortsOf(i));
      LockStorm::Join(player);
    }
  }
  void ExpectConviction(const std::string& exhibit, milliseconds clock_error = milliseconds(0)) {
    Join(exhibit, clock_error);
    Trouble(
        milliseconds(0), [this] { AnyTrouble(*server_); },
        [this] { return !Overlaps(Beliefs()).empty(); });
    End();
    EXPECT_FALSE(NotLinear(Calls()).empty()) << "the other judge found nothing";
  }
  // Over the same load. ONCEMQ_LOCK_STORM_SECONDS=60 makes it longer than what convicts any.
  void ExpectNoConviction(const std::string& exhibit) {
    Join(exhibit, milliseconds(0));
    Trouble(
        HowLong(milliseconds(10'000)), [this] { AnyTrouble(*server_); },
        [this] { return Beliefs().size() > 50 && EverybodyHadATurn(); });
    End();
    EXPECT_EQ(Overlaps(Beliefs()), std::vector<std::string>());
    EXPECT_EQ(NotLinear(Calls()), std::vector<std::string>());
  }

  std::unique_ptr<StormServer> server_;
};

TEST_F(LockMuseum, ReadThenWriteIsConvicted) {
  ExpectConviction("read-then-write");
}

TEST_F(LockMuseum, BlindDeleteIsConvicted) {
  ExpectConviction("blind-delete");
}

TEST_F(LockMuseum, WhatTakesItInOneStepAndFreesByTokenIsNotConvicted) {
  ExpectNoConviction("no-fence");
}

TEST_F(LockMuseum, ClientClocksAreConvicted) {
  ExpectConviction("client-clocks", milliseconds(5'000));
}

TEST_F(LockMuseum, ReadersThatJudgeAreConvictedThoughTheirClocksAreRight) {
  ExpectConviction("readers-judge");
}

TEST_F(LockMuseum, ReadersWhoseClocksAgreeAndThatSwapWhatTheySawAreNotConvicted) {
  ExpectNoConviction("client-clocks");
}

// Counts how often somebody who waits is woken.
class CountingLocks final : public ForwardingLocks {
 public:
  struct Counts {
    std::atomic<int> waiting{0};  // now
    std::atomic<int> wakes{0};
  };
  CountingLocks(std::shared_ptr<LockEngine> inner, Counts& counts)
      : ForwardingLocks(std::move(inner)), counts_(counts) {}

  Status Await(const LockAsk& ask, BootTime until, const std::stop_token& stop) override {
    counts_.waiting++;
    const Status done = ForwardingLocks::Await(ask, until, stop);
    counts_.waiting--;
    counts_.wakes += SystemClock::Instance().Boot() < until ? 1 : 0;
    return done;
  }

 private:
  Counts& counts_;
};

constexpr int kWaiters = 12;

// Each has an engine of its own, as processes have, and gives the name on when all the others wait.
int WakesOfHandOvers(const std::function<Result<std::shared_ptr<LockEngine>>()>& open_engine) {
  CountingLocks::Counts counts;
  std::atomic<int> had_it{0};
  const auto take_and_give = [&] {
    const auto engine = open_engine();
    ASSERT_TRUE(engine.has_value()) << ToString(engine.error());
    const auto domain = *LockDomain::Open(std::make_shared<CountingLocks>(*engine, counts),
                                          {.place = milliseconds(9'000)});
    auto lease = domain->Acquire("x");
    ASSERT_TRUE(lease.has_value() && lease->has_value());
    const int others = kWaiters - had_it++;
    // All that were woken wait again, and those that will be soon.
    EXPECT_TRUE(Eventually(std::chrono::seconds(60), [&] {
      SleepFor(milliseconds(15));
      return counts.waiting == others;
    }));
    (*lease)->Release();
  };
  std::vector<std::jthread> all;
  for (int i = 0; i <= kWaiters; i++) {
    all.emplace_back(take_and_give);
  }
  all.clear();
  return counts.wakes;
}

TEST_F(LockMuseum, TheHerdIsConvictedByItsWakes) {
  const auto server = RedisServer::Start();
  // 12 + 11 + ... + 1, less those whose wakes came together because the machine was slow.
  int herd = 0;
  for (int round = 0; round < 12 && herd <= 4 * kWaiters; round++) {
    herd =
        WakesOfHandOvers([&] { return OpenExhibit("all-woken", server->url(), milliseconds(0)); });
  }
  EXPECT_GT(herd, 4 * kWaiters);
  // One for each hand-over, and one for each that began to listen.
  const RedisLockOptions patient{.connect = milliseconds(10'000), .call = milliseconds(10'000)};
  const int ours = WakesOfHandOvers([&] { return OpenRedisLocks(server->url(), patient); });
  EXPECT_LE(ours, 2 * kWaiters);
  EXPECT_GE(ours, kWaiters);
  RecordProperty("herd", herd);
  RecordProperty("ours", ours);
}

}  // namespace
}  // namespace oncemq::testing
