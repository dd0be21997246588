// SPDX-License-Identifier: Apache-2.0
// What the process that loses its power and the test that looks at what was left have in common.
#pragma once

#include "disk_window.h"

namespace oncemq::testing {

inline constexpr int64_t kPowerBatch = 7;  // no divisor of a generation

// So that an hour of log time, which is remembered, is 360 ids.
inline LogTime TimeOfId(int64_t number) {
  return kThen + std::chrono::seconds(10) * number;
}

inline LocalWindowOptions PowerOptions(const std::string& directory, uint32_t generation,
                                       SyncWhen sync, Level level) {
  LocalWindowOptions options = DiskOptions(directory, generation);
  options.sync = sync;
  options.level = level;
  return options;
}

}  // namespace oncemq::testing
