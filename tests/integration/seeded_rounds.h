// SPDX-License-Identifier: Apache-2.0
// Rounds of a test, each with its seed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace oncemq::testing {

inline uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::strtoull(value, nullptr, 10) : otherwise;
}

// Runs `play` once for each seed, until one fails. The variable `count` says how many,
// ONCEMQ_STORM_SEED which is the first. Returns how many it was to be.
template <class Play>
uint64_t ForEachSeed(const char* count, uint64_t otherwise, Play play) {
  const uint64_t first = FromEnvironment("ONCEMQ_STORM_SEED", 1);
  const uint64_t rounds = FromEnvironment(count, otherwise);
  EXPECT_GT(rounds, 0U);
  for (uint64_t seed = first; seed < first + rounds && !::testing::Test::HasFailure(); seed++) {
    SCOPED_TRACE("ONCEMQ_STORM_SEED=" + std::to_string(seed) + " " + count + "=1");
    play(seed);
  }
  return rounds;
}

}  // namespace oncemq::testing
