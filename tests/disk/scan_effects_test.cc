// SPDX-License-Identifier: Apache-2.0
// What handlers have written can be read when the work is over.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "oncemq/dedup/local_window.h"
#include "support/temp_dir.h"

namespace oncemq {
namespace {

class ScanEffectsTest : public ::testing::Test {
 protected:
  std::string Directory() const { return (dir_.path() / "store").string(); }
  std::unique_ptr<Window> OpenWindow() const {
    auto window = OpenLocalWindow(
        {.directory = Directory(), .identity = "me", .level = Level::kAtomic}, clock_);
    EXPECT_TRUE(window);
    return *std::move(window);
  }
  // Finishes an id with a row and a sum; without `done` its process ends before.
  void Handle(Window& window, std::string_view id, bool done) {
    const Token token{1, ++tokens_};
    const ClaimRequest claim{
        .id = id, .token = token, .at = {0, 3, 7}, .owner_epoch = owner_epoch_};
    ClaimAnswer answer;
    ASSERT_TRUE(window.Claim({&claim, 1}, {&answer, 1}));
    ASSERT_EQ(answer.answer, ClaimVerdict::kGranted);
    auto effects = window.NewEffects(0, 3, {});
    ASSERT_TRUE(effects);
    (*effects)->Begin();
    EXPECT_TRUE((*effects)->rows()->Put("row/" + std::string(id), "text"));
    EXPECT_TRUE((*effects)->rows()->Add("sum", 5));
    EXPECT_TRUE((*effects)->Keep());
    const CompleteRequest complete{.id = id, .token = token, .at = claim.at};
    MarkerChange change;
    if (done) {
      EXPECT_TRUE(window.CompleteWith(**effects, {&complete, 1}, {&change, 1}));
      EXPECT_EQ(change, MarkerChange::kMade);
    }
  }

  const testing::TempDir dir_;
  ManualClock clock_;
  OwnerEpoch owner_epoch_ = 0;
  uint64_t tokens_ = 0;
};

TEST_F(ScanEffectsTest, RowsComeInOrderAndOnlyThoseOfFinishedMessages) {
  auto window = OpenWindow();
  owner_epoch_ = window->RaiseOwnerEpoch(0, 3, 1).value_or(0);
  Handle(*window, "b", true);
  Handle(*window, "a", true);
  Handle(*window, "c", false);
  window.reset();
  std::string keys;
  std::map<std::string, std::string, std::less<>> rows;
  ASSERT_TRUE(ScanEffects(Directory(), [&](std::string_view key, std::string_view value) {
    keys.append(key).append(" ");
    rows.emplace(key, value);
    return true;
  }));
  EXPECT_EQ(keys, "row/a row/b sum ");
  EXPECT_EQ(rows["row/a"], "text");
  EXPECT_EQ(SumOf(rows["sum"]), 10);
}

TEST_F(ScanEffectsTest, AVisitorMayStop) {
  auto window = OpenWindow();
  owner_epoch_ = window->RaiseOwnerEpoch(0, 3, 1).value_or(0);
  Handle(*window, "a", true);
  window.reset();
  int seen = 0;
  EXPECT_TRUE(ScanEffects(Directory(), [&](std::string_view, std::string_view) {
    seen++;
    return false;
  }));
  EXPECT_EQ(seen, 1);
}

TEST_F(ScanEffectsTest, AStoreThatIsHeldIsNotRead) {
  const auto window = OpenWindow();
  const Status scanned =
      ScanEffects(Directory(), [](std::string_view, std::string_view) { return true; });
  ASSERT_FALSE(scanned);
  EXPECT_EQ(scanned.error().code, Code::kUnavailable);
}

TEST_F(ScanEffectsTest, WhereThereIsNoStoreNoneIsMade) {
  const Status scanned =
      ScanEffects(Directory(), [](std::string_view, std::string_view) { return true; });
  ASSERT_FALSE(scanned);
  EXPECT_EQ(scanned.error().code, Code::kInvalid);
  EXPECT_FALSE(std::filesystem::exists(Directory()));
}

}  // namespace
}  // namespace oncemq
