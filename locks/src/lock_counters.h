// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "oncemq/locks/lock_counts.h"

namespace oncemq {

// Thread safety: any thread.
struct LockCounters {
  std::atomic<uint64_t> granted{0};
  std::atomic<uint64_t> not_granted{0};
  std::atomic<uint64_t> failed{0};
  std::array<std::atomic<uint64_t>, kLeaseLosses> lost{};
  LatencyHistogram wait;

  LockCounts Read() const {
    LockCounts now{.granted = granted, .not_granted = not_granted, .failed = failed};
    for (size_t why = 0; why < kLeaseLosses; why++) {
      now.lost[why] = lost[why];
    }
    now.wait = wait.Snapshot();
    return now;
  }
};

}  // namespace oncemq
