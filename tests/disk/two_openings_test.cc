// SPDX-License-Identifier: Apache-2.0
// Two processes that want one store: the second looks at it before it is his.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <string>

#include "oncemq/base/log.h"
#include "oncemq/clients/rocks_store.h"
#include "support/eventually.h"
#include "support/temp_dir.h"
#include "syncs.h"

namespace oncemq::testing {
namespace {

namespace fs = std::filesystem;

TEST(DiskTwoOpenings, WhatItsFormerHolderSyncedAtTheLastMomentIsMissedWhenItIsGone) {
  const TempDir directory;
  RocksOptions options{.directory = directory.path() / "store", .memory = nullptr};
  options.families = {{.name = "default"}};
  auto former = RocksStore::Open(options);
  ASSERT_TRUE(former) << ToString(former.error());
  std::optional<HeldSyncs> held(std::in_place);
  auto next = std::async(std::launch::async, [&] { return RocksStore::Open(options); });
  ASSERT_TRUE(Eventually(std::chrono::seconds(30), [&] { return held->waiting() == 1; }))
      << "it has read that nothing was ever synced";
  held->LetOthersPass();
  {
    RocksBatch batch = (*former)->NewBatch();
    batch.Put(0, "key", "value");
    ASSERT_TRUE((*former)->Write(batch, /*sync=*/true));
  }
  former->reset();
  for (const auto& entry : fs::directory_iterator(options.directory)) {
    if (entry.path().extension() == ".log") {
      fs::resize_file(entry.path(), 0);
    }
  }
  held.reset();
  const auto opened = next.get();
  ASSERT_FALSE(opened) << "it is short, and nobody says a word";
  EXPECT_EQ(opened.error().code, Code::kCorrupt);
}

// A member asks for a store that another process holds twice a second, for each of its partitions.
TEST(DiskTwoOpenings, RocksDbsWordsAboutAHeldStoreDoNotFloodTheLog) {
  constexpr int kTries = 20;
  const TempDir directory;
  RocksOptions options{.directory = directory.path() / "store", .memory = nullptr};
  options.families = {{.name = "default"}};
  const auto holder = RocksStore::Open(options);
  ASSERT_TRUE(holder) << ToString(holder.error());
  LogOptions log;
  log.file = directory.path() / "log";
  StartLogging(log);
  const uint64_t before = LogTotals().repeated;
  for (int i = 0; i < kTries; i++) {
    const auto refused = RocksStore::Open(options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnavailable) << ToString(refused.error());
  }
  StopLogging();
  std::ifstream lines(log.file);
  int written = 0;
  for (std::string line; std::getline(lines, line);) {
    written += line.find("\"alike\":") == std::string::npos ? 1 : 0;
  }
  EXPECT_GE(written, 1) << "it is said";
  EXPECT_LE(written, 3) << "a few different ones at most, however often it is tried";
  EXPECT_GE(LogTotals().repeated - before, static_cast<uint64_t>(kTries - 1));
}

}  // namespace
}  // namespace oncemq::testing
