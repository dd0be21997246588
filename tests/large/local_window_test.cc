// SPDX-License-Identifier: Apache-2.0
// The window on disk, with a history many times as large as what it holds in memory.
#include <gtest/gtest.h>

#include "asker.h"
#include "oncemq/base/clock.h"
#include "oncemq/dedup/local_window.h"
#include "support/temp_dir.h"

namespace oncemq {
namespace {

constexpr uint64_t kGeneration = 200'000;
constexpr uint64_t kIds = 3'000'000;

LocalWindowOptions Options(const testing::TempDir& directory) {
  LocalWindowOptions options;
  options.directory = directory.path() / "store";
  options.identity = "large";
  options.level = Level::kGuarded;
  options.generation = kGeneration;
  return options;
}

// What the header of the window states, without `cache_bytes`, which only fills with effects.
size_t Stated(const LocalWindowOptions& options, size_t length) {
  constexpr size_t kStoreSlack = size_t{32} << 20;  // RocksDB's own, and the allocator
  const size_t recent = 2 * kGeneration * (24 + length + 24);
  const size_t journal = 192 * kGeneration;
  return recent + 2 * kIds + std::min(options.buffer_bytes, 2 * journal) + kStoreSlack;
}

TEST(LargeLocalWindow, ThreeMillionIdsAreKnownInTheMemoryThatTheHeaderStatesAndAfterARestart) {
  const testing::TempDir directory;
  const ManualClock clock;
  const LocalWindowOptions options = Options(directory);
  const size_t before = ResidentBytes();
  {
    auto window = OpenLocalWindow(options, clock);
    ASSERT_TRUE(window) << ToString(window.error());
    Asker asker(**window, Short);
    constexpr uint64_t kStep = 500;
    for (uint64_t first = 0; first < kIds; first += kStep) {
      ASSERT_EQ(asker.Claim(first, first + kStep, ClaimVerdict::kGranted), kStep);
      ASSERT_EQ(asker.Complete(first, first + kStep), kStep);
    }
    const size_t stated = Stated(options, Short(0).size());
    const size_t taken = ResidentBytes() - before;
    RecordProperty("taken", std::to_string(taken));
    EXPECT_LE(taken, stated);
    EXPECT_GE(taken, stated / 4) << "the formula says nothing";
  }
  auto window = OpenLocalWindow(options, clock);
  ASSERT_TRUE(window) << ToString(window.error());
  Asker asker(**window, Short);
  asker.NextAttempt();
  EXPECT_EQ(asker.Claim(0, kIds, ClaimVerdict::kDuplicate), kIds);
}

}  // namespace
}  // namespace oncemq
