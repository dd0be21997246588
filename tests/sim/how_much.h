// SPDX-License-Identifier: Apache-2.0
// How much of a sweep is run, as the environment says. Sanitizers make the simulator five to fifty
// times slower; they look for other faults, so a share of the runs is enough for them.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace oncemq::sim {

inline uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// One run of so many is made.
inline int64_t OneOf() {
  const uint64_t share = FromEnvironment("ONCEMQ_SIM_ONE_OF", 1);
  return share == 0 ? 1 : static_cast<int64_t>(share);
}

}  // namespace oncemq::sim
