// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_lock_session.h"

#include <gtest/gtest.h>

namespace oncemq {
namespace {

// What the server heard since it last told the others, and what we did not say before.
TEST(ZooKeeperLockSession, ALeaseEndsBeforeItsSessionThoughTheServerDies) {
  for (const milliseconds tick : {milliseconds(200), milliseconds(2'000), milliseconds(6'000)}) {
    for (int ticks = 4; ticks <= 20; ticks++) {
      const milliseconds session = ticks * tick;
      EXPECT_LE(HeartbeatIn(session) + tick / 2 + LongestLeaseIn(session), session)
          << ticks << " ticks of " << tick.count() << " ms";
    }
  }
}

}  // namespace
}  // namespace oncemq
