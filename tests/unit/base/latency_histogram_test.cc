// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/latency_histogram.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace oncemq {
namespace {

TEST(LatencyHistogram, ACallOfExactlyABoundIsBelowIt) {
  LatencyHistogram latency;
  latency.Observe(microseconds(0));
  latency.Observe(microseconds(50));
  latency.Observe(microseconds(51));
  latency.Observe(microseconds(30'000'000), 4);
  latency.Observe(microseconds(30'000'001));
  const LatencySnapshot now = latency.Snapshot();
  EXPECT_EQ(now.counts[0], 2U);
  EXPECT_EQ(now.counts[1], 1U);
  EXPECT_EQ(now.counts[kLatencyBounds.size() - 1], 4U);
  EXPECT_EQ(now.counts[kLatencyBounds.size()], 1U);
  EXPECT_EQ(now.sum, microseconds(101 + 4 * 30'000'000 + 30'000'001));
}

TEST(LatencyHistogram, NoCallIsLostBetweenThreads) {
  LatencyHistogram latency;
  constexpr int kEach = 10'000;
  const auto observe = [&] {
    for (int i = 0; i < kEach; i++) {
      latency.Observe(microseconds(i));
    }
  };
  {
    const std::jthread one(observe);
    const std::jthread other(observe);
  }
  const LatencySnapshot now = latency.Snapshot();
  EXPECT_EQ(std::accumulate(now.counts.begin(), now.counts.end(), uint64_t{0}), 2U * kEach);
  EXPECT_EQ(now.sum, microseconds(int64_t{kEach} * (kEach - 1)));
}

}  // namespace
}  // namespace oncemq
