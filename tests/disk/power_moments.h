// SPDX-License-Identifier: Apache-2.0
// How often the power goes in one test, and where its seeds begin, as the environment says.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/how_much.h"

namespace oncemq::testing {

inline constexpr uint64_t kUsualLosses = 6;

// A share of them under a sanitizer.
inline uint64_t HowManyLosses() {
  const uint64_t losses = sim::FromEnvironment("ONCEMQ_POWER_LOSSES", kUsualLosses);
  return std::max<uint64_t>(1, losses / static_cast<uint64_t>(sim::OneOf()));
}

inline uint64_t FirstPowerSeed() {
  return sim::FromEnvironment("ONCEMQ_POWER_SEED", 1);
}

}  // namespace oncemq::testing
