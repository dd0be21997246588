// SPDX-License-Identifier: Apache-2.0
#include "oncemq/ordering/offset_map.h"

#include <gtest/gtest.h>

#include <limits>

namespace oncemq {
namespace {

TEST(OffsetMap, AdjacentRangesBecomeOne) {
  OffsetMap map;
  map.Append(3, 5);
  map.Append(5, 8);
  EXPECT_EQ(map.ranges().size(), 1u);
  EXPECT_EQ(map.count(), 5);
}

TEST(OffsetMap, ContainsTheFirstAndNotTheEndOfARange) {
  OffsetMap map;
  map.Append(3, 5);
  map.Append(9, 10);
  EXPECT_FALSE(map.Contains(2));
  EXPECT_TRUE(map.Contains(3));
  EXPECT_TRUE(map.Contains(4));
  EXPECT_FALSE(map.Contains(5));
  EXPECT_TRUE(map.Contains(9));
  EXPECT_FALSE(map.Contains(10));
}

TEST(OffsetMap, AHundredThousandFinishedAboveOneStuckHeadTakeAFewBytes) {
  OffsetMap map;
  map.Append(1, 100'001);
  EXPECT_LE(map.Encode(0).size(), 4u);
}

TEST(OffsetMap, BytesThatWouldOverflowAreRefused) {
  OffsetMap map;
  map.Append(10, std::numeric_limits<int64_t>::max());
  const std::string bytes = map.Encode(0);
  EXPECT_TRUE(OffsetMap::Decode(bytes, 0).has_value());
  EXPECT_FALSE(OffsetMap::Decode(bytes, 100).has_value());
  EXPECT_FALSE(OffsetMap::Decode(std::string(9, '\xff') + "\x7f" + "\x01", 0).has_value());
}

TEST(OffsetMap, ATruncatedPairAnEmptyRangeAndTooManyRangesAreRefused) {
  EXPECT_FALSE(OffsetMap::Decode(std::string_view("\x01", 1), 0).has_value());
  EXPECT_FALSE(OffsetMap::Decode(std::string_view("\x01\x00", 2), 0).has_value());
  EXPECT_FALSE(OffsetMap::Decode(std::string_view("\x01\x01\x01\x01", 4), 0, 1).has_value());
}

}  // namespace
}  // namespace oncemq
