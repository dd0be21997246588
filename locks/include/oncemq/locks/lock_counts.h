// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "oncemq/base/latency_histogram.h"
#include "oncemq/locks/lease.h"

namespace oncemq {

inline constexpr size_t kLeaseLosses = static_cast<size_t>(LeaseLoss::kClosed) + 1;

// The requests and losses of a domain, since it was opened.
struct LockCounts {
  uint64_t granted = 0;
  uint64_t not_granted = 0;
  uint64_t failed = 0;
  std::array<uint64_t, kLeaseLosses> lost{};  // by LeaseLoss; the first one stays 0
  LatencySnapshot wait;                       // of the granted ones, from the call of Acquire()
};

}  // namespace oncemq
