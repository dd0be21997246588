// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

namespace oncemq {
namespace {

TEST(ProcessHash, IsTheSameForTheSameBytes) {
  EXPECT_EQ(ProcessHash("pay-1"), ProcessHash(std::string("pay-1")));
}

TEST(ProcessHash, IsNeverZero) {
  EXPECT_NE(ProcessHash(""), 0u);
  for (int i = 0; i < 100'000; i++) {
    ASSERT_NE(ProcessHash(std::to_string(i)), 0u);
  }
}

TEST(ProcessHash, ReadsEveryByteZeroIncluded) {
  const std::string_view with_zero("a\0b", 3);
  EXPECT_NE(ProcessHash(with_zero), ProcessHash(std::string_view("a\0c", 3)));
  EXPECT_NE(ProcessHash(with_zero), ProcessHash("a"));
}

TEST(ProcessHash, KeepsAHundredThousandKeysApart) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 100'000; i++) {
    seen.insert(ProcessHash("key-" + std::to_string(i)));
  }
  EXPECT_EQ(seen.size(), 100'000u);
}

TEST(ProcessHash, FollowsTheSeed) {
  SeedProcessHash(1);
  const uint64_t one = ProcessHash("pay-1");
  SeedProcessHash(2);
  const uint64_t two = ProcessHash("pay-1");
  SeedProcessHash(1);
  EXPECT_EQ(ProcessHash("pay-1"), one);
  EXPECT_NE(one, two);
}

// Inputs that collide under a known hash must not collide here, so the secret may not be a
// constant.
TEST(ProcessHashDeathTest, EachProcessDrawsItsOwnSecret) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::exit(ProcessHash("pay-1") == StableHash("pay-1") ? 1 : 0),
              ::testing::ExitedWithCode(0), "");
}

TEST(StableHash, IsTheSameInEveryVersion) {
  EXPECT_EQ(StableHash(""), 0x2D06800538D394C2u);
  EXPECT_EQ(StableHash("pay-1"), StableHash(std::string("pay-1")));
}

TEST(MixBits, KeepsDifferentNumbersApart) {
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 100'000; i++) {
    seen.insert(MixBits(i));
  }
  EXPECT_EQ(seen.size(), 100'000u);
  EXPECT_NE(MixBits(0), 0u);
}

TEST(MixBits, OneFlippedBitFlipsAboutHalf) {
  for (int bit = 0; bit < 64; bit++) {
    const uint64_t changed = MixBits(12345) ^ MixBits(12345 ^ (uint64_t{1} << bit));
    EXPECT_GE(std::popcount(changed), 16) << bit;
    EXPECT_LE(std::popcount(changed), 48) << bit;
  }
}

}  // namespace
}  // namespace oncemq
