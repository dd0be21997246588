// SPDX-License-Identifier: Apache-2.0
// The value that is written to the descriptor that wakes the poll thread: a counter of eventfd(2).
#pragma once

#include <cstdint>

namespace oncemq {

inline constexpr uint64_t kWakeRing = 1;

}  // namespace oncemq
