// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/random.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

namespace oncemq {
namespace {

TEST(SecureRandom, DoesNotRepeatItself) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; i++) {
    seen.insert(SecureRandom64());
  }
  EXPECT_EQ(seen.size(), 1000u);
}

TEST(SecureRandom, EveryBitIsSometimesSetAndSometimesNot) {
  uint64_t set = 0;
  uint64_t clear = 0;
  for (int i = 0; i < 200; i++) {
    const uint64_t value = SecureRandom64();
    set |= value;
    clear |= ~value;
  }
  EXPECT_EQ(set, ~uint64_t{0});
  EXPECT_EQ(clear, ~uint64_t{0});
}

}  // namespace
}  // namespace oncemq
