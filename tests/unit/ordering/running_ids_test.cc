// SPDX-License-Identifier: Apache-2.0
#include "oncemq/ordering/running_ids.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace oncemq {
namespace {

TEST(RunningIds, AHeldIdIsFoundUntilItIsReleased) {
  RunningIds ids;
  EXPECT_EQ(ids.Find(42), nullptr);
  ids.Hold(42, 3);
  ASSERT_NE(ids.Find(42), nullptr);
  EXPECT_EQ(ids.Find(42)->holder, 3u);
  ids.Release(42);
  EXPECT_EQ(ids.Find(42), nullptr);
  EXPECT_EQ(ids.size(), 0u);
}

TEST(RunningIds, WaitingLanesComeBackWithTheRelease) {
  RunningIds ids;
  ids.Hold(1, 0);
  ids.Find(1)->waiting = {5, 6};
  const LaneList waiting = ids.Release(1);
  EXPECT_EQ(waiting.head, 5u);
  EXPECT_EQ(waiting.tail, 6u);
}

TEST(RunningIds, FindsEveryIdAgainWhenItsTableHasGrown) {
  constexpr uint32_t kIds = 3'000;
  RunningIds ids;
  for (uint32_t i = 0; i < kIds; i++) {
    ids.Hold(4096 * uint64_t{i + 1}, i);
    ids.Find(4096 * uint64_t{i + 1})->waiting = {i, i};
  }
  for (uint32_t i = 0; i < kIds; i++) {
    ASSERT_NE(ids.Find(4096 * uint64_t{i + 1}), nullptr);
    EXPECT_EQ(ids.Find(4096 * uint64_t{i + 1})->holder, i);
    EXPECT_EQ(ids.Release(4096 * uint64_t{i + 1}).head, i);
  }
  EXPECT_EQ(ids.size(), 0u);
}

TEST(RunningIds, AgreesWithAMapUnderRandomUseWithCollidingHashes) {
  RunningIds ids;
  std::map<uint64_t, uint32_t> model;
  std::mt19937_64 random(7);
  for (int step = 0; step < 100'000; step++) {
    const uint64_t hash = 1 + (random() % 40) * 4096 + random() % 8;  // few homes, long chains
    if (const auto held = model.find(hash); held != model.end()) {
      ASSERT_NE(ids.Find(hash), nullptr);
      ASSERT_EQ(ids.Find(hash)->holder, held->second);
      ids.Release(hash);
      model.erase(held);
    } else if (model.size() < 256) {
      ASSERT_EQ(ids.Find(hash), nullptr);
      const auto holder = static_cast<uint32_t>(random() % 1000);
      ids.Hold(hash, holder);
      model[hash] = holder;
    }
    ASSERT_EQ(ids.size(), model.size());
  }
}

}  // namespace
}  // namespace oncemq
