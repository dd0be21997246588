// SPDX-License-Identifier: Apache-2.0
// The park storm in a size for every day.
#include "park_storm_test.h"

namespace oncemq::testing {
namespace {

using KafkaSmallParkStorm = ParkStormTest;
ONCEMQ_PARK_STORMS(KafkaSmallParkStorm);

TEST_P(KafkaSmallParkStorm, EachEffectIsThereOnceAndInOrderAfterTheRedrive) {
  constexpr ParkStormSize kSmall{
      .ids = 20'000, .keys = 67, .partitions = 6, .members = 3, .storm = std::chrono::seconds(20)};
  Play("small-park-storm-", kSmall, 2);
}

}  // namespace
}  // namespace oncemq::testing
