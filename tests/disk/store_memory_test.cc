// SPDX-License-Identifier: Apache-2.0
// Stores of many partitions share the memory for their ids: the ids that one has to give up go to
// its history, and are known as before.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "disk_window.h"
#include "local/generation_memory.h"
#include "local/id_record.h"
#include "oncemq/dedup/store_stat.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

constexpr int32_t kStores = 24;
constexpr int64_t kBatchIds = 500;
constexpr std::chrono::seconds kPatience{30};

class DiskStoreMemory : public ::testing::Test {
 protected:
  // With all of them open each has the least.
  LocalWindowOptions Options() const {
    LocalWindowOptions options = DiskOptions(directory_.path() / "stores", 1'000'000);
    options.memory_bytes = 2 * kStores * GenerationMemory::kLeast;
    return options;
  }
  std::unique_ptr<Window> Windows() const {
    auto windows = OpenPartitionWindows(Options(), SystemClock::Instance());
    EXPECT_TRUE(windows);
    return *std::move(windows);
  }
  static Result<StoreKnowledge> Open(Window& windows, int32_t partition) {
    return windows.Open({0, partition, "payments", "group g"});
  }
  static std::string IdOf(int32_t partition, int64_t number) {
    return "payment-" + std::to_string(partition) + "-" + std::to_string(number);
  }
  static void Finish(Window& windows, int32_t partition, int64_t from, int64_t to) {
    std::vector<std::string> ids;
    for (int64_t i = from; i < to; i++) {
      ids.push_back(IdOf(partition, i));
    }
    std::vector<CompleteRequest> done;
    std::vector<ClaimRequest> claims;
    for (int64_t i = from; i < to; i++) {
      const std::string& id = ids[static_cast<size_t>(i - from)];
      const Token token{0xD15C, static_cast<uint64_t>(i + 1)};
      claims.push_back({.id = id, .token = token, .at = {0, partition, i}, .time = kThen});
      done.push_back({.id = id, .token = token, .at = {0, partition, i}, .time = kThen});
    }
    std::vector<ClaimAnswer> answers(claims.size());
    std::vector<MarkerChange> changes(done.size());
    ASSERT_TRUE(windows.Claim(claims, answers));
    ASSERT_TRUE(windows.Complete(done, changes));
  }
  static void FinishAll(Window& windows, int32_t partition, int64_t from, int64_t to) {
    for (; from < to; from += kBatchIds) {
      Finish(windows, partition, from, from + kBatchIds);
    }
  }
  // As the runtime does it for each partition, also for one at rest.
  static void Commit(Window& windows, int32_t partition) {
    const Progress progress{
        .partition = partition, .owner_epoch = 1, .frontier = 0, .watermark = kThen};
    MarkerChange change{};
    ASSERT_TRUE(windows.Committed({&progress, 1}, {&change, 1}));
  }
  static StoreStat StatOf(Window& windows, size_t index) {
    const auto stats = windows.Stat();
    EXPECT_TRUE(stats);
    return stats && index < stats->size() ? (*stats)[index] : StoreStat{};
  }
  static bool KnowsAll(Window& windows, int32_t partition, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) {
      const std::string id = IdOf(partition, i);
      const ClaimRequest claim{.id = id, .token = {7, 7}, .at = {0, partition, i}, .time = kThen};
      ClaimAnswer answer;
      if (!windows.Claim({&claim, 1}, {&answer, 1}) || answer.answer != ClaimVerdict::kDuplicate) {
        return false;
      }
    }
    return true;
  }
  // Ids of a generation that has its least, and one batch more.
  static uint64_t Fitting() {
    const std::string id = IdOf(1, 1);  // none is shorter
    return GenerationMemory::kLeast / (RecordBytes({.id = id}) + 40) + kBatchIds;
  }

  const TempDir directory_{TempDir::Quick()};
};

TEST_F(DiskStoreMemory, AStoreAtRestGivesUpMemoryToOthersAndKnowsAllOfItsIds) {
  constexpr int64_t kIds = 20'000;
  const auto windows = Windows();
  ASSERT_TRUE(Open(*windows, 0));
  FinishAll(*windows, 0, 0, kIds);
  EXPECT_EQ(StatOf(*windows, 0).recent, uint64_t{kIds}) << "alone it has all of the memory";
  for (int32_t partition = 1; partition < kStores; partition++) {
    ASSERT_TRUE(Open(*windows, partition));
  }
  Commit(*windows, 0);
  ASSERT_TRUE(Eventually(kPatience, [&] { return StatOf(*windows, 0).recent == 0; }));
  EXPECT_EQ(StatOf(*windows, 0).history, uint64_t{kIds});
  EXPECT_TRUE(KnowsAll(*windows, 0, 0, kIds));
}

TEST_F(DiskStoreMemory, AllStoresTogetherStayWithinTheMemory) {
  constexpr int64_t kIds = 8'000;  // more than two generations
  {
    const auto windows = Windows();
    for (int32_t partition = 0; partition < kStores; partition++) {
      ASSERT_TRUE(Open(*windows, partition));
    }
    for (int64_t from = 0; from < kIds; from += kBatchIds) {
      for (int32_t partition = 0; partition < kStores; partition++) {
        Finish(*windows, partition, from, from + kBatchIds);
      }
      uint64_t recent = 0;
      const auto stats = *windows->Stat();
      for (const StoreStat& stat : stats) {
        recent += stat.recent;
        EXPECT_LE(stat.recent, 2 * Fitting());
        EXPECT_EQ(stat.recent + stat.history, static_cast<uint64_t>(from + kBatchIds));
      }
      EXPECT_LE(recent, 2 * Fitting() * kStores);
    }
    EXPECT_TRUE(KnowsAll(*windows, 3, 0, kIds));
  }
  const auto again = Windows();
  for (int32_t partition = 0; partition < kStores; partition++) {
    ASSERT_TRUE(Open(*again, partition));
    EXPECT_TRUE(KnowsAll(*again, partition, 0, 200));
    EXPECT_TRUE(KnowsAll(*again, partition, kIds - 200, kIds));
  }
}

TEST_F(DiskStoreMemory, WhatAClosedStoreLeavesTheOthersHave) {
  const auto windows = Windows();
  for (int32_t partition = 0; partition < kStores; partition++) {
    ASSERT_TRUE(Open(*windows, partition));
  }
  for (int32_t partition = 1; partition < kStores; partition++) {
    windows->Close(0, partition);
  }
  FinishAll(*windows, 0, 0, 10'000);
  EXPECT_EQ(StatOf(*windows, 0).recent, 10'000u);
}

// A journal that was written with more memory is read by generations that fit.
TEST_F(DiskStoreMemory, AStoreThatOpensAmongManyTakesNoMoreThanItsShare) {
  {
    const auto windows = Windows();
    ASSERT_TRUE(Open(*windows, 0));
    FinishAll(*windows, 0, 0, 20'000);
    EXPECT_EQ(StatOf(*windows, 0).recent, 20'000u);
  }
  const auto windows = Windows();
  for (int32_t partition = kStores - 1; partition >= 0; partition--) {
    ASSERT_TRUE(Open(*windows, partition));
  }
  EXPECT_LE(StatOf(*windows, 0).recent, 2 * Fitting());
  EXPECT_TRUE(KnowsAll(*windows, 0, 0, 20'000));
}

TEST_F(DiskStoreMemory, LessThanTwoOfTheLeastGenerationsIsRefused) {
  LocalWindowOptions options = Options();
  options.memory_bytes = 2 * GenerationMemory::kLeast - 1;
  const auto windows = OpenPartitionWindows(options, SystemClock::Instance());
  ASSERT_FALSE(windows);
  EXPECT_EQ(windows.error().code, Code::kInvalid);
}

}  // namespace
}  // namespace oncemq::testing
