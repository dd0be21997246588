// SPDX-License-Identifier: Apache-2.0
// The memory window at ten million ids, and with ids as long as they may be.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "asker.h"
#include "memory_window_engine.h"

namespace oncemq {
namespace {

constexpr size_t kBatch = 500;
constexpr size_t kSlack = size_t{32} << 20;  // chunks that are not full, and the allocator

// What the header of the window states, for ids of `length` bytes without results.
size_t Stated(size_t remember, size_t known, size_t length, size_t most_open) {
  const size_t open = length > 36 ? 1'189 : 165;
  return 16 * remember + known * (length + 47) + most_open * open + kSlack;
}

// Equal but for the last bytes.
std::string Long(uint64_t number) {
  std::string id(1'024, 'x');
  std::snprintf(id.data() + id.size() - 13, 14, "%013llu", static_cast<unsigned long long>(number));
  return id;
}

TEST(LargeWindow, TenMillionIdsAreKnownInTheMemoryThatTheHeaderStates) {
  constexpr uint64_t kRemember = 10'000'000;
  constexpr uint64_t kKnownAtMost = kRemember * 9 / 8;
  constexpr uint64_t kIds = 2 * kKnownAtMost;
  ManualClock clock;
  const size_t before = ResidentBytes();
  MemoryWindow window({.level = Level::kGuarded, .remember = kRemember}, clock);
  ASSERT_TRUE(window.allocated());
  Asker asker(window, Short);
  uint64_t granted = 0;
  uint64_t completed = 0;
  for (uint64_t first = 0; first < kIds; first += kBatch) {
    granted += asker.Claim(first, first + kBatch, ClaimVerdict::kGranted);
    completed += asker.Complete(first, first + kBatch);
  }
  EXPECT_EQ(granted, kIds);
  EXPECT_EQ(completed, kIds);
  const size_t stated = Stated(kRemember, kKnownAtMost, Short(0).size(), kBatch);
  EXPECT_LE(window.memory_bytes(), stated);
  EXPECT_LE(ResidentBytes() - before, stated) << "the engine counts less than it takes";
  EXPECT_GE(window.memory_bytes(), stated / 2) << "the formula says nothing";

  asker.NextAttempt();
  EXPECT_EQ(asker.Claim(kIds - kRemember, kIds, ClaimVerdict::kDuplicate), kRemember);
  constexpr uint64_t kForgotten = 100'000;
  EXPECT_EQ(
      asker.Claim(kIds - kKnownAtMost - kForgotten, kIds - kKnownAtMost, ClaimVerdict::kGranted),
      kForgotten);
}

TEST(LargeWindow, IdsOfAKibibyteThatDifferInTheirLastBytesAreToldApart) {
  constexpr uint64_t kIds = 300'000;
  ManualClock clock;
  MemoryWindow window({.level = Level::kGuarded, .remember = kIds}, clock);
  ASSERT_TRUE(window.allocated());
  Asker asker(window, Long);
  ASSERT_EQ(Long(0).size(), window.capabilities().max_id_bytes);
  EXPECT_EQ(asker.Claim(0, kIds, ClaimVerdict::kGranted), kIds);  // all of them open at a time
  EXPECT_LE(window.memory_bytes(), Stated(kIds, 0, 1'024, kIds));
  EXPECT_EQ(asker.Complete(0, kIds), kIds);
  EXPECT_LE(window.memory_bytes(), Stated(kIds, kIds, 1'024, kIds));
  asker.NextAttempt();
  EXPECT_EQ(asker.Claim(0, kIds, ClaimVerdict::kDuplicate), kIds);
  EXPECT_EQ(asker.Claim(kIds, 2 * kIds, ClaimVerdict::kGranted), kIds);
}

}  // namespace
}  // namespace oncemq
