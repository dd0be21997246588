// SPDX-License-Identifier: Apache-2.0
// Rng: seeded chance, the same on every machine and compiler (no distributions of the standard
// library). Every part of the simulated world has a stream of its own, so that taking one fault
// away changes little else.
//
// Thread safety: none, a value type.
#pragma once

#include <cstdint>
#include <string_view>

#include "oncemq/base/hash.h"

namespace oncemq::sim {

class Rng {
 public:
  Rng(uint64_t seed, std::string_view stream) : state_(MixBits(seed) ^ StableHash(stream)) {}

  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15ull;
    return MixBits(state_);
  }
  uint64_t Below(uint64_t n) { return n == 0 ? 0 : Next() % n; }
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Below(static_cast<uint64_t>(high - low + 1)));
  }
  bool Chance(int64_t permille) { return static_cast<int64_t>(Below(1000)) < permille; }

 private:
  uint64_t state_;
};

}  // namespace oncemq::sim
