// SPDX-License-Identifier: Apache-2.0
// Consumer processes die by kill -9 in the middle of their handlers. A window in memory is gone
// with its process, one on the disk is not. The target of the effects is guarded, or it is the
// store itself, so every effect is there once.
#include <gtest/gtest.h>

#include "crash_storm.h"
#include "support/kafka_broker.h"
#include "support/require_backend.h"

namespace oncemq::testing {
namespace {

TEST(KafkaCrashStorm, MembersKilledInAHandlerLeaveEveryEffectOnceAndEachKeyInOrder) {
  ONCEMQ_REQUIRE_KAFKA();
  const StormSize size{.ids = 50'000, .keys = 499, .far = 5'000, .partitions = 6};  // 60,000 sent
  CrashStorm storm(SharedKafka::Get().bootstrap(), "crash-storm", size, /*seed=*/1, {});
  storm.Run(/*kills=*/6);
}

TEST(KafkaCrashStorm, StoresOnTheDiskKnowWhatKilledMembersHadFinished) {
  ONCEMQ_REQUIRE_KAFKA();
  const StormSize size{.ids = 50'000, .keys = 499, .far = 5'000, .partitions = 6};
  CrashStorm storm(SharedKafka::Get().bootstrap(), "crash-storm-disk", size, /*seed=*/2,
                   {.window = MemberWindow::kGuarded});
  storm.Run(/*kills=*/6);
}

TEST(KafkaCrashStorm, EffectsInTheStoresAreThereOnceThoughTheirMembersAreKilled) {
  ONCEMQ_REQUIRE_KAFKA();
  const StormSize size{.ids = 50'000, .keys = 499, .far = 5'000, .partitions = 6};
  CrashStorm storm(SharedKafka::Get().bootstrap(), "crash-storm-atomic", size, /*seed=*/3,
                   {.window = MemberWindow::kAtomic});
  storm.Run(/*kills=*/6);
}

}  // namespace
}  // namespace oncemq::testing
