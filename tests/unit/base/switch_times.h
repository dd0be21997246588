// SPDX-License-Identifier: Apache-2.0
// The times of the tests of a switch.
#pragma once

#include "oncemq/base/clock.h"

namespace oncemq::testing {

inline constexpr BootTime kSwitchStart{milliseconds(100'000)};
inline constexpr milliseconds kSwitchLease{10'000};

}  // namespace oncemq::testing
