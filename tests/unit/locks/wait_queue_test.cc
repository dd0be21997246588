// SPDX-License-Identifier: Apache-2.0
#include "wait_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace oncemq {
namespace {

constexpr LockMode W = LockMode::kExclusive;
constexpr LockMode R = LockMode::kShared;

std::optional<size_t> Of(const std::vector<LockMode>& queue, size_t me) {
  return WaitsFor(queue, me);
}

TEST(WaitQueue, TheFirstHoldsTheName) {
  EXPECT_EQ(Of({W, W}, 0), std::nullopt);
  EXPECT_EQ(Of({R, W}, 0), std::nullopt);
}

TEST(WaitQueue, AWriterWatchesTheOneBeforeItWhateverThatIs) {
  EXPECT_EQ(Of({W, W, W}, 2), 1u);
  EXPECT_EQ(Of({R, R, W}, 2), 1u);
}

TEST(WaitQueue, ReadersHoldTogetherUntilAWriterStandsBetween) {
  EXPECT_EQ(Of({R, R, R}, 2), std::nullopt);
  EXPECT_EQ(Of({R, W, R}, 2), 1u);
}

TEST(WaitQueue, AReaderWatchesTheNearestWriterAndNotTheFirst) {
  EXPECT_EQ(Of({W, R, W, R, R}, 4), 2u);
}

// Every line of seven: whoever goes, somebody who watches it is woken, or nobody's turn has come.
TEST(WaitQueue, NobodySleepsThroughItsTurn) {
  constexpr size_t kLength = 7;
  for (unsigned modes = 0; modes < 1u << kLength; modes++) {
    std::vector<LockMode> queue;
    for (size_t i = 0; i < kLength; i++) {
      queue.push_back((modes >> i & 1) != 0 ? W : R);
    }
    for (size_t goes = 0; goes < kLength; goes++) {
      std::vector<LockMode> left = queue;
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(goes));
      for (size_t me = 0; me < kLength; me++) {
        const auto before = Of(queue, me);
        if (me == goes || !before) {
          continue;
        }
        const bool holds_now = !Of(left, me > goes ? me - 1 : me);
        EXPECT_TRUE(!holds_now || before == goes) << modes << " " << goes << " " << me;
      }
    }
  }
}

}  // namespace
}  // namespace oncemq
