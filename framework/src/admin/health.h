// SPDX-License-Identifier: Apache-2.0
// Health: the answers of /livez and /readyz.
//
// **Thread safety:** pure functions.
#pragma once

#include <string>

#include "oncemq/framework/runtime.h"

namespace oncemq {

// Ten times the longest bounded wait of the poll thread (6 s for the broker), as a restart costs a
// rebalance. A fifth of `max.poll.interval.ms`, when the group would take the partitions away.
inline constexpr milliseconds kLongestReportAge{60'000};

struct Health {
  bool well = false;
  std::string why;  // one line of ASCII
};

// Whether the poll thread still goes round.
Health CheckLiveness(const RunReport& report);

// Whether the member has taken up its work. The group has assigned partitions, perhaps none, each
// has begun, and broker and window answer. A stopped partition is named and counts as ready: the
// others go on, no restart heals it, and a rollout may bring its fix.
Health CheckReadiness(const RunReport& report);

}  // namespace oncemq
