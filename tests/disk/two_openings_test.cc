// SPDX-License-Identifier: Apache-2.0
// Two processes that want one store: the second looks at it before it is his.
#include <gtest/gtest.h>

#include <filesystem>
#include <future>

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

}  // namespace
}  // namespace oncemq::testing
