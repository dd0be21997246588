// SPDX-License-Identifier: Apache-2.0
// The window on disk really forgets: its buckets go, and their files with them. That it never
// forgets too much is the conformance suite's business.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "disk_window.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

constexpr uint32_t kGeneration = 1'000;
constexpr int64_t kIds = 20'500;

uint64_t BytesOfTables(const std::string& store) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(store)) {
    bytes += entry.path().extension() == ".sst" ? entry.file_size() : 0;
  }
  return bytes;
}

TEST(DiskForgetting, BucketsThatHaveAgedAreGoneFromWindowAndDisk) {
  const TempDir directory;
  const std::string store = directory.path() / "store";
  auto window = OpenLocalWindow(DiskOptions(store, kGeneration), SystemClock::Instance());
  ASSERT_TRUE(window) << ToString(window.error());
  const auto own = (*window)->RaiseOwn(0, 0, 0);
  for (int64_t i = 0; i < kIds; i += 100) {
    ASSERT_TRUE(FinishIds(**window, i, i + 100));
  }
  // The last generation is put away in the background.
  ASSERT_TRUE(Eventually(std::chrono::seconds(30), [&] { return BytesOfTables(store) > 500'000; }));
  const Progress progress{0, 0, *own, kIds, kThen + std::chrono::hours(2)};
  Change change{};
  ASSERT_TRUE((*window)->Committed({&progress, 1}, {&change, 1}));
  EXPECT_TRUE(Eventually(std::chrono::seconds(30),
                         [&] { return *Unknown(**window, 0, 15'000) == 15'000; }));
  EXPECT_EQ(*Unknown(**window, kIds - 500, kIds), 0) << "what is still in the present generation";
  EXPECT_TRUE(Eventually(std::chrono::seconds(30), [&] { return BytesOfTables(store) < 300'000; }));
}

}  // namespace
}  // namespace oncemq::testing
