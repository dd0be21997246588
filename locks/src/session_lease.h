// SPDX-License-Identifier: Apache-2.0
// How long a lease may be in a store where a hold ends with the session that it hangs on.
//
// Thread safety: a pure function.
#pragma once

#include "oncemq/base/clock.h"

namespace oncemq {

// One that the session is sure to outlive, counted from the last thing that was sent, also where
// the session is renewed late. A server of ZooKeeper that dies forgets the last half of a tick, and
// the process may have been silent for a heartbeat before: that fits into the last quarter of a
// session of four ticks or more.
constexpr milliseconds LongestLeaseIn(milliseconds session) {
  return session * 3 / 4;
}

}  // namespace oncemq
