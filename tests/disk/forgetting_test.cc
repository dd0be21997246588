// SPDX-License-Identifier: Apache-2.0
// The window on disk really forgets: its buckets go, and their files with them. That it never
// forgets too much is the conformance suite's business.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "disk_window.h"
#include "oncemq/dedup/store_stat.h"
#include "support/eventually.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

constexpr uint32_t kGeneration = 1'000;
constexpr int64_t kForgottenIds = 20'500;

// Of an open window: a table may go between being listed and being measured.
uint64_t BytesOfTables(const std::string& store) {
  uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(store)) {
    std::error_code gone;
    const uint64_t size = entry.path().extension() == ".sst" ? entry.file_size(gone) : 0;
    bytes += gone ? 0 : size;
  }
  return bytes;
}

// With commits as a member makes them: what is being put away or merged at one goes with a later
// one.
bool ForgetsBelow(Window& window, int64_t number, const Progress& progress) {
  return Eventually(std::chrono::seconds(30), [&] {
    MarkerChange change{};
    EXPECT_TRUE(window.Committed({&progress, 1}, {&change, 1}));
    return *Unknown(window, 0, number) == number;
  });
}

TEST(DiskForgetting, BucketsThatHaveAgedAreGoneFromWindowAndDisk) {
  const TempDir directory;
  const std::string store = directory.path() / "store";
  auto window = OpenLocalWindow(DiskOptions(store, kGeneration), SystemClock::Instance());
  ASSERT_TRUE(window) << ToString(window.error());
  const auto owner_epoch = (*window)->RaiseOwnerEpoch(0, 0, 0);
  ASSERT_TRUE(CommitNothing(**window, *owner_epoch));
  for (int64_t i = 0; i < kForgottenIds; i += 100) {
    ASSERT_TRUE(FinishIds(**window, i, i + 100));
  }
  // The last generation is put away in the background.
  ASSERT_TRUE(Eventually(std::chrono::seconds(30), [&] { return BytesOfTables(store) > 500'000; }));
  EXPECT_TRUE(ForgetsBelow(**window, 15'000,
                           {0, 0, *owner_epoch, kForgottenIds, kThen + std::chrono::hours(2)}));
  EXPECT_EQ(*Unknown(**window, kForgottenIds - 500, kForgottenIds), 0)
      << "what is still in the present generation";
  EXPECT_TRUE(Eventually(std::chrono::seconds(30), [&] { return BytesOfTables(store) < 300'000; }));
}

StoreStat StatOf(Window& window) {
  const auto stats = window.Stat();
  EXPECT_TRUE(stats && stats->size() == 1);
  return stats ? stats->front() : StoreStat();
}

// An id for each ten seconds of log time.
Status FinishAtTheirTimes(Window& window, int64_t from, int64_t to) {
  for (int64_t i = from; i < to; i++) {
    const std::string id = IdNumber(i);
    const Token token{0xD15C, static_cast<uint64_t>(i + 1)};
    const LogTime time = kThen + std::chrono::seconds(10) * i;
    const ClaimRequest claim{.id = id, .token = token, .at = {0, 0, i}, .time = time};
    ClaimAnswer answer;
    if (Status claimed = window.Claim({&claim, 1}, {&answer, 1}); !claimed) {
      return claimed;
    }
    const CompleteRequest completion{.id = id, .token = token, .at = {0, 0, i}, .time = time};
    MarkerChange change{};
    if (Status completed = window.Complete({&completion, 1}, {&change, 1}); !completed) {
      return completed;
    }
  }
  return {};
}

// Of one that covers all that there is, nothing would go before its youngest id has aged.
TEST(DiskForgetting, AMergedBucketHoldsAnEighthOfTheWindowAndNoMore) {
  constexpr int64_t kEnd = 600;
  const TempDir directory;
  auto window =
      OpenLocalWindow(DiskOptions(directory.path() / "store", 10), SystemClock::Instance());
  ASSERT_TRUE(window) << ToString(window.error());
  const auto owner_epoch = (*window)->RaiseOwnerEpoch(0, 0, 0);
  ASSERT_TRUE(CommitNothing(**window, *owner_epoch));
  ASSERT_TRUE(FinishAtTheirTimes(**window, 0, kEnd));
  ASSERT_TRUE(Eventually(std::chrono::seconds(30), [&] { return StatOf(**window).buckets <= 16; }));
  EXPECT_GE(StatOf(**window).merges, 10u);
  EXPECT_EQ(StatOf(**window).merges_failed, 0u);
  // An hour is remembered: of ids 300 and up. A sixteenth of it is added to each, and an eighth,
  // and a generation that is cut by the limit.
  EXPECT_TRUE(ForgetsBelow(**window, 210,
                           {0, 0, *owner_epoch, kEnd, kThen + std::chrono::seconds(10) * 660}));
  EXPECT_EQ(*Unknown(**window, 300, kEnd), 0);
}

TEST(DiskForgetting, ACompletionOfAnOpenIdLooksForNothing) {
  const TempDir directory;
  auto window =
      OpenLocalWindow(DiskOptions(directory.path() / "store", 10), SystemClock::Instance());
  ASSERT_TRUE(window) << ToString(window.error());
  ASSERT_TRUE(FinishIds(**window, 0, 100));
  EXPECT_EQ(StatOf(**window).fresh, 100u) << "once each, for its claim";
  EXPECT_EQ(StatOf(**window).known, 0u);
  ASSERT_TRUE(FinishIds(**window, 0, 100));
  EXPECT_EQ(StatOf(**window).fresh, 100u);
  EXPECT_EQ(StatOf(**window).known, 200u) << "what is finished is looked for";
  EXPECT_LE(StatOf(**window).known_pages, 220u);
}

}  // namespace
}  // namespace oncemq::testing
