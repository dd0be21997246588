// SPDX-License-Identifier: Apache-2.0
#include "client_config.h"

#include <gtest/gtest.h>

namespace oncemq::testing {
namespace {

TEST(PrefetchShare, IsBoundedForTheProcessAndNotOnlyForAPartition) {
  EXPECT_EQ(PrefetchShare(512 << 20, 8), 64U << 20);
  EXPECT_GT(PrefetchShare(512 << 20, 200), 10'000U * 256) << "10,000 records of 256 bytes ahead";
  EXPECT_LE(PrefetchShare(512 << 20, 200) * 200, 512U << 20);
  EXPECT_EQ(PrefetchShare(512 << 20, 100'000), 1U << 20);
  EXPECT_EQ(PrefetchShare(512 << 20, 0), 8U << 20);
}

}  // namespace
}  // namespace oncemq::testing
