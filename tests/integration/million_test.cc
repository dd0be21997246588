// SPDX-License-Identifier: Apache-2.0
// A million messages, a fifth of the ids twice, over stores on disk: three members on one host that
// are processes; more join, some leave, some are killed with -9 in their handlers, and so is the
// broker.
//
// Guarded: the effects go to a file that all share, which stores each id with the highest fence
// and takes nothing twice. Atomic: they go to the stores, where nothing de-duplicates. Both: each
// id's effect is there once, each key in order, and the commits account for every offset (the
// second identity).
#include <gtest/gtest.h>

#include "crash_storm.h"
#include "support/kafka_broker.h"
#include "support/require_backend.h"

namespace oncemq::testing {
namespace {

constexpr uint32_t kTurns = 2;
constexpr uint32_t kActsOfATurn = 6;
constexpr StormSize kMillion{.ids = 833'334, .far = 30'000, .partitions = 8, .in_shares = true};

class KafkaMillion : public ::testing::TestWithParam<MemberWindow> {};

INSTANTIATE_TEST_SUITE_P(Levels, KafkaMillion,
                         ::testing::Values(MemberWindow::kGuarded, MemberWindow::kAtomic),
                         [](const auto& window) {
                           return window.param == MemberWindow::kAtomic ? "Atomic" : "Guarded";
                         });

TEST_P(KafkaMillion, MessagesSurviveMembersThatComeGoAndDie) {
  ONCEMQ_REQUIRE_KAFKA();
  KafkaBroker& kafka = SharedKafka::Get();
  const std::string name = GetParam() == MemberWindow::kAtomic ? "million-atomic" : "million";
  CrashStorm storm(kafka.bootstrap(), name, kMillion, /*seed=*/4, {.window = GetParam()});
  const auto go = [](auto act) {
    if (!HasFatalFailure()) {
      act();
    }
  };
  go([&] { storm.Begin(3, kTurns * kActsOfATurn); });
  for (uint32_t turn = 0; turn < kTurns; turn++) {
    go([&] { storm.KillOne(Death::kBeforeTheEffect); });
    go([&] { storm.JoinOne(); });
    go([&] { storm.KillOne(Death::kAfterTheEffect); });
    go([&] { storm.LeaveOne(); });
    go([&] { storm.KillTheBroker(kafka); });
    go([&] { storm.KillOne(Death::kBelowLaterWork); });
  }
  go([&] { storm.End(); });
  EXPECT_GT(storm.sights().copies, 150'000);
}

}  // namespace
}  // namespace oncemq::testing
