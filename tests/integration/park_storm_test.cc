// SPDX-License-Identifier: Apache-2.0
// Order through failure, in full size: 90 s in which members come, go and are killed.
#include "park_storm_test.h"

namespace oncemq::testing {
namespace {

using KafkaParkStorm = ParkStormTest;
ONCEMQ_PARK_STORMS(KafkaParkStorm);

TEST_P(KafkaParkStorm, EachEffectIsThereOnceAndInOrderAfterTheRedrive) {
  Play("park-storm-", {}, 2);
}

}  // namespace
}  // namespace oncemq::testing
