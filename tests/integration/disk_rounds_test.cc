// SPDX-License-Identifier: Apache-2.0
// Short rounds over stores on disk, each drawn from its seed (seeded_rounds.h): members on one host
// join, leave and are killed with -9 in their handlers; the broker dies in some rounds, and the
// power goes in some. A fifth of the ids comes twice. ONCEMQ_SHORT_ROUNDS says how many.
#include <gtest/gtest.h>

#include <random>

#include "crash_storm.h"
#include "seeded_rounds.h"
#include "support/kafka_broker.h"
#include "support/require_backend.h"

namespace oncemq::testing {
namespace {

constexpr uint32_t kActs = 3;
constexpr size_t kMost = 4;  // members; each gets a partition

// What it is about, so that a few rounds already have it all, goes by the seed's own number; the
// rest is chance.
class ShortRound {
 public:
  ShortRound(KafkaBroker& kafka, uint64_t seed)
      : kafka_(kafka),
        seed_(seed),
        random_(seed),
        storm_(kafka.bootstrap(), "short-round-" + std::to_string(seed),
               {.ids = 200'000,
                .keys = 50 + Draw(450),
                .far = 50 + Draw(200),
                .partitions = static_cast<int32_t>(kMost + Draw(3)),
                .feed = 5,
                .open_end = true},
               seed, {.window = WindowOf(seed), .session = std::chrono::milliseconds(1'000)}) {}

  void Play() {
    const uint32_t death = Draw(kActs);
    const uint32_t broker = seed_ % 5 == 4 ? (death + 1) % kActs : kActs;
    if (seed_ % 4 == 2) {
      storm_.LoseThePower();
    }
    if (!Failed()) {
      storm_.Begin(2 + Draw(2), kActs);
    }
    for (uint32_t act = 0; act < kActs && !Failed(); act++) {
      if (act == death) {
        storm_.KillOne(static_cast<Death>(seed_ / 3 % kDeaths));
      } else if (act == broker) {
        storm_.KillTheBroker(kafka_);
      } else {
        AnyAct();
      }
    }
    if (!Failed()) {
      storm_.End();
    }
  }

  const StormSights& sights() const { return storm_.sights(); }

 private:
  static bool Failed() { return ::testing::Test::HasFatalFailure(); }
  static MemberWindow WindowOf(uint64_t seed) {
    constexpr MemberWindow kDisks[] = {MemberWindow::kOpaque, MemberWindow::kGuarded,
                                       MemberWindow::kAtomic};
    return kDisks[seed % 3];
  }
  uint32_t Draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  void AnyAct() {
    const uint32_t act = Draw(3);
    if (act == 0) {
      storm_.KillOne(static_cast<Death>(Draw(kDeaths)));
    } else if (storm_.members() == 1 || (act == 1 && storm_.members() < kMost)) {
      storm_.JoinOne();
    } else {
      storm_.LeaveOne();
    }
  }

  KafkaBroker& kafka_;
  const uint64_t seed_;
  std::mt19937_64 random_;
  CrashStorm storm_;
};

void ExpectAllSeen(const StormSights& seen, uint64_t rounds) {
  for (const int deaths : seen.deaths) {
    EXPECT_GT(deaths, 0) << "no member died like that";
  }
  EXPECT_GT(seen.left, 0) << "nobody left";
  EXPECT_GT(seen.joined, 0) << "nobody joined";
  EXPECT_GT(seen.broker_deaths, 0) << "the broker never died";
  EXPECT_GT(seen.power_losses, 0) << "the power never went";
  EXPECT_GT(seen.copies, 0) << "nothing was suppressed";
  EXPECT_GT(seen.called_again, 0) << "nothing was under way at a death";
  EXPECT_GT(seen.reported, 0) << "no handler was told of an earlier call";
  EXPECT_LE(static_cast<uint64_t>(seen.thought_dead), rounds / 2)
      << "this machine is too busy to judge most rounds";
}

TEST(KafkaDiskRounds, MembersComeGoAndDieOverStoresOnDiskByTheSeed) {
  ONCEMQ_REQUIRE_KAFKA();
  KafkaBroker& kafka = SharedKafka::Get();
  StormSights seen;
  const uint64_t rounds = ForEachSeed("ONCEMQ_SHORT_ROUNDS", 20, [&](uint64_t seed) {
    ShortRound round(kafka, seed);
    round.Play();
    seen.Add(round.sights());
  });
  constexpr uint64_t kEnoughForAll = 20;
  if (rounds >= kEnoughForAll && !HasFailure()) {
    ExpectAllSeen(seen, rounds);
  }
}

}  // namespace
}  // namespace oncemq::testing
