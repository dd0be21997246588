// SPDX-License-Identifier: Apache-2.0
// The storms with other seeds (seeded_rounds.h); ONCEMQ_STORM_ROUNDS says how many.
#include <gtest/gtest.h>

#include <random>

#include "crash_storm.h"
#include "seeded_rounds.h"
#include "storm.h"
#include "support/kafka_broker.h"
#include "support/require_backend.h"

namespace oncemq::testing {
namespace {

constexpr const char* kRounds = "ONCEMQ_STORM_ROUNDS";

// One storm whose every turn is drawn from its seed: members that join and leave while others work,
// and one death of the broker.
class SeededStorm {
 public:
  SeededStorm(KafkaBroker& kafka, uint64_t seed)
      : kafka_(kafka),
        random_(seed),
        size_{.ids = 150'000 + Draw(100'000),
              .keys = 100 + Draw(5'000),
              .far = 1'000 + Draw(20'000),
              .partitions = static_cast<int32_t>(kMost + Draw(5))},
        storm_(kafka.bootstrap(), "storm-round-" + std::to_string(seed), size_),
        producer_(kafka.bootstrap(), "storm-round-" + std::to_string(seed), size_) {}

  void Play() {
    const uint32_t death = Draw(kSteps);
    Join();
    for (uint32_t step = 0; step < kSteps && !::testing::Test::HasFatalFailure(); step++) {
      if (step == death) {
        KillTheBroker();
      } else if (members_.size() == 1 || (members_.size() < kMost && Draw(2) == 0)) {
        Join();
      } else {
        LeaveOne();
      }
    }
    if (!::testing::Test::HasFatalFailure()) {
      End();
    }
  }

 private:
  static constexpr uint32_t kSteps = 7;
  static constexpr uint32_t kMost = 4;  // members; each gets a partition

  uint32_t Draw(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  // Each turn has its share of the messages.
  uint32_t NextEnd() { return size_.ids / (kSteps + 2) * ++turns_; }

  void Join() {
    members_.push_back(storm_.Join(/*workers=*/Draw(3)));
    const RunningMember& member = *members_.back();
    ASSERT_TRUE(producer_.FeedUntil(NextEnd(), [&] { return Storm::Works(member); }));
  }

  void LeaveOne() {
    producer_.SendUpTo(NextEnd());
    const uint32_t index = Draw(static_cast<uint32_t>(members_.size()));
    storm_.Leave(members_[index]);
    members_.erase(members_.begin() + index);
  }

  void KillTheBroker() {
    const size_t before = storm_.effects();
    kafka_.Kill9();
    if (members_.size() < kMost && Draw(2) == 0) {
      members_.push_back(storm_.Join());  // finds nobody at first
    }
    kafka_.Restart();
    ASSERT_TRUE(producer_.FeedUntil(NextEnd(), [&] { return storm_.effects() > before; }));
  }

  void End() {
    producer_.SendTheRest();
    EXPECT_TRUE(storm_.Reached(size_.ids));
    while (members_.size() > 1) {
      storm_.Leave(members_.back());
      members_.pop_back();
    }
    EXPECT_TRUE(storm_.AllCommitted(producer_.sent()));
    storm_.Leave(members_.back());
    storm_.Judge(producer_.sent());
  }

  KafkaBroker& kafka_;
  std::mt19937_64 random_;
  const StormSize size_;
  Storm storm_;
  StormProducer producer_;
  std::vector<std::unique_ptr<RunningMember>> members_;
  uint32_t turns_ = 0;
};

TEST(KafkaStormRounds, MembersComeAndGoAndTheBrokerDiesByTheSeed) {
  ONCEMQ_REQUIRE_KAFKA();
  KafkaBroker& kafka = SharedKafka::Get();
  ForEachSeed(kRounds, 3, [&](uint64_t seed) { SeededStorm(kafka, seed).Play(); });
}

TEST(KafkaStormRounds, ProcessesDieInTheirHandlersByTheSeed) {
  ONCEMQ_REQUIRE_KAFKA();
  KafkaBroker& kafka = SharedKafka::Get();
  ForEachSeed(kRounds, 3, [&](uint64_t seed) {
    const StormSize size{.ids = 30'000 + static_cast<uint32_t>(seed * 7'919 % 20'000),
                         .keys = 50 + static_cast<uint32_t>(seed * 104'729 % 1'000),
                         .far = 3'000,
                         .partitions = 3 + static_cast<int32_t>(seed % 6)};
    CrashStorm storm(kafka.bootstrap(), "crash-round-" + std::to_string(seed), size, seed, {});
    storm.Run(kDeaths);
  });
}

}  // namespace
}  // namespace oncemq::testing
