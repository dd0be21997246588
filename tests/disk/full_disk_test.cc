// SPDX-License-Identifier: Apache-2.0
// A disk that is full, and what RocksDB makes of it where nobody takes care: a process that ends,
// and room that openings eat which cannot succeed.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "disk_window.h"
#include "fault.h"
#include "oncemq/clients/rocks_store.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

namespace fs = std::filesystem;

RocksOptions SmallStore(const fs::path& directory) {
  RocksOptions options{.directory = directory, .memory = nullptr};
  options.families = {{.name = "default", .memtable_bytes = 64 << 10}};
  return options;
}

size_t Files(const fs::path& directory) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(directory)) {
    count++;
  }
  return count;
}

// Who syncs a log for the first time while the first write to it fails.
TEST(DiskFull, AWriteThatFailsBesideASyncIsAFailureAndNotTheEndOfTheProcess) {
  constexpr int kTries = 400;
  const TempDir directory{TempDir::Quick()};
  int failed = 0;
  for (int i = 0; i < kTries; i++) {
    const fs::path place = directory.path() / std::to_string(i);
    auto store = RocksStore::Open(SmallStore(place));
    ASSERT_TRUE(store) << ToString(store.error());
    const FailingWrites failing(/*after=*/0);
    std::thread syncs([&] {
      while ((*store)->Sync()) {
      }
    });
    RocksBatch batch = (*store)->NewBatch();
    batch.Put(0, "key", "value");
    failed += (*store)->Write(batch, /*sync=*/false) ? 0 : 1;
    syncs.join();
    store->reset();
    fs::remove_all(place);
  }
  EXPECT_EQ(failed, kTries);
}

TEST(DiskFull, OpeningsThatFindNoRoomLeaveNothingBehind) {
  constexpr int kTries = 12;
  const TempDir directory{TempDir::Quick()};
  const fs::path place = directory.path() / "store";
  const LocalWindowOptions options = DiskOptions(place, /*generation=*/1'000'000);
  {
    const auto window = OpenLocalWindow(options, SystemClock::Instance());
    ASSERT_TRUE(window);
    ASSERT_TRUE(FinishIds(**window, 0, 500));
  }
  const size_t before = Files(place);
  for (int i = 0; i < kTries; i++) {
    const FailingWrites failing(/*after=*/3 + i);
    EXPECT_FALSE(OpenLocalWindow(options, SystemClock::Instance()));
  }
  EXPECT_LE(Files(place), before + 2);
  const auto window = OpenLocalWindow(options, SystemClock::Instance());
  ASSERT_TRUE(window) << ToString(window.error());
  EXPECT_EQ(*Unknown(**window, 0, 500), 0);
}

#ifndef __SANITIZE_ADDRESS__  // which needs descriptors itself, to look at what it checks
// No file may be opened for a while: nothing is damaged, and nobody has to come.
TEST(DiskFull, AProcessWithoutFreeDescriptorsWaitsForThem) {
  const TempDir directory{TempDir::Quick()};
  const LocalWindowOptions options = DiskOptions(directory.path() / "store", /*generation=*/100);
  {
    const auto window = OpenLocalWindow(options, SystemClock::Instance());
    ASSERT_TRUE(window);
    ASSERT_TRUE(FinishIds(**window, 0, 350));
  }
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const int used = dup(STDERR_FILENO);
  close(used);
  int refused = 0;
  for (bool opened = false; !opened; refused++) {
    const rlimit few{static_cast<rlim_t>(used + refused), usual.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    const auto window = OpenLocalWindow(options, SystemClock::Instance());
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
    opened = window.has_value();
    ASSERT_TRUE(opened || window.error().code == Code::kUnavailable)
        << refused << " more: " << ToString(window.error());
  }
  EXPECT_GT(refused, 5);
  const auto window = OpenLocalWindow(options, SystemClock::Instance());
  ASSERT_TRUE(window) << ToString(window.error());
  EXPECT_EQ(*Unknown(**window, 0, 350), 0);
}

#endif

}  // namespace
}  // namespace oncemq::testing
