// SPDX-License-Identifier: Apache-2.0
// A disk that cannot be read: the window says so, again and again until it can, and takes no
// finished id for a new one. Nothing has to be opened again, and nothing is called damaged for
// good.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "disk_window.h"
#include "fault.h"
#include "support/temp_dir.h"

namespace oncemq::testing {
namespace {

constexpr int64_t kReadIds = 1'050;

class DiskReadErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    Open();
    for (int64_t i = 0; i < kReadIds; i += 50) {
      ASSERT_TRUE(FinishIds(*window_, i, i + 50));
    }
    window_.reset();
    std::filesystem::copy(Store(), Store() + ".sound");
  }
  // As it was in the beginning.
  void Renew() const {
    std::filesystem::remove_all(Store());
    std::filesystem::copy(Store() + ".sound", Store());
  }
  std::string Store() const { return directory_.path() / "store"; }
  Result<std::unique_ptr<Window>> TryToOpen() const {
    return OpenLocalWindow(DiskOptions(Store(), /*generation=*/100), SystemClock::Instance());
  }
  void Open() {
    auto window = TryToOpen();
    ASSERT_TRUE(window) << ToString(window.error());
    window_ = *std::move(window);
  }
  Result<ClaimAnswer> Claim(int64_t number) {
    const std::string id = IdNumber(number);
    const ClaimRequest claim{.id = id,
                             .token = {0xBAD, static_cast<uint64_t>(number + 1)},
                             .at = {0, 0, number + kReadIds},
                             .time = kThen};
    ClaimAnswer answer;
    const Status claimed = window_->Claim({&claim, 1}, {&answer, 1});
    return claimed ? Result<ClaimAnswer>(answer) : claimed.error();
  }

  const TempDir directory_{TempDir::Quick()};
  std::unique_ptr<Window> window_;
};

TEST_F(DiskReadErrors, AClaimThatCannotBeLookedUpIsNotGrantedAndIsAnsweredLater) {
  Open();
  {
    const FailingReads failing;
    for (int64_t i = 0; i < 900; i += 90) {
      const auto claimed = Claim(i);
      ASSERT_FALSE(claimed) << "granted or not, nobody knows";
      EXPECT_EQ(claimed.error().effect, Effect::kNone);
      EXPECT_NE(claimed.error().message.find(directory_.path().string()), std::string::npos)
          << claimed.error().message;
    }
    EXPECT_GE(failing.failed(), 10) << "or nothing was read";
  }
  for (int64_t i = 0; i < 900; i += 90) {
    const auto claimed = Claim(i);
    ASSERT_TRUE(claimed) << ToString(claimed.error());
    EXPECT_EQ(claimed->answer, ClaimVerdict::kDuplicate);
  }
  ASSERT_TRUE(FinishIds(*window_, kReadIds, kReadIds + 50)) << "and new ones go on";
}

// Whichever read it is from which on all fail.
TEST_F(DiskReadErrors, AnOpeningThatCannotReadIsRefusedAndTheNextOneKnowsAll) {
  int refused = 0;
  for (int after = 0, failed = 1; failed > 0; after++) {
    Renew();
    {
      const FailingReads failing(after);
      auto opened = TryToOpen();
      window_ = opened ? *std::move(opened) : nullptr;
      refused += opened ? 0 : 1;
      failed = failing.failed();
    }
    if (window_ == nullptr) {
      Open();
    }
    EXPECT_EQ(*Unknown(*window_, 0, kReadIds), 0)
        << "short in silence, after " << after << " reads";
    window_.reset();
  }
  EXPECT_GT(refused, 10);
}

// It alone, and RocksDB may take the place for empty.
TEST_F(DiskReadErrors, AnOpeningInWhichOneReadFailsIsRefusedOrKnowsAll) {
  int refused = 0;
  for (int after = 0, failed = 1; failed > 0; after++) {
    Renew();
    std::optional<FailingReads> failing(std::in_place, after, /*most=*/1);
    const auto opened = TryToOpen();
    failed = failing->failed();
    failing.reset();
    refused += opened ? 0 : 1;
    if (opened) {
      const auto unknown = Unknown(**opened, 0, kReadIds);
      ASSERT_TRUE(unknown) << "after " << after << " reads: " << ToString(unknown.error());
      EXPECT_EQ(*unknown, 0) << "short in silence, after " << after << " reads";
    }
  }
  EXPECT_GT(refused, 10);
}

TEST_F(DiskReadErrors, AnOpeningThatCannotLookIsRefusedForAWhile) {
  int refused = 0;
  for (int after = 0, failed = 1; failed > 0; after++) {
    {
      const FailingStats failing(after, /*most=*/1);
      const auto opened = TryToOpen();
      failed = failing.failed();
      refused += opened ? 0 : 1;
      ASSERT_TRUE(opened || opened.error().code == Code::kUnavailable)
          << "after " << after << " looks: " << ToString(opened.error());
    }
    Open();
    EXPECT_EQ(*Unknown(*window_, 0, kReadIds), 0);
    window_.reset();
  }
  EXPECT_GT(refused, 5);
}

// A generation that is put away is read once more before the store takes it.
TEST_F(DiskReadErrors, AReadThatFailsOnceWhereAGenerationIsPutAwayLosesNothing) {
  constexpr int64_t kMore = 120;
  for (int after = 0, failed = 1; failed > 0; after++) {
    Renew();
    Open();
    int64_t answered = kReadIds;
    {
      const FailingReads failing(after, /*most=*/1);
      for (; answered < kReadIds + kMore && FinishIds(*window_, answered, answered + 20);) {
        answered += 20;
      }
      window_.reset();
      failed = failing.failed();
    }
    Open();
    const auto unknown = Unknown(*window_, 0, answered);
    ASSERT_TRUE(unknown) << "after " << after << " reads: " << ToString(unknown.error());
    EXPECT_EQ(*unknown, 0) << "after " << after << " reads";
    window_.reset();
  }
}

// Ids [from, to) without a partition.
struct IdsWithoutPartition {
  IdsWithoutPartition(int64_t from, int64_t to)
      : result(1'000, 'r'),
        answers(static_cast<size_t>(to - from)),
        changes(static_cast<size_t>(to - from)) {
    for (int64_t i = from; i < to; i++) {
      ids.push_back(IdNumber(i));
    }
    for (const std::string& id : ids) {
      const Token token{0xA10E, ++tokens};
      claims.push_back({.id = id, .token = token});
      completions.push_back({.id = id, .token = token, .result = result});
    }
  }

  static inline uint64_t tokens = 0;
  const std::string result;
  std::vector<std::string> ids;
  std::vector<ClaimRequest> claims;
  std::vector<CompleteRequest> completions;
  std::vector<ClaimAnswer> answers;
  std::vector<MarkerChange> changes;
};

// Its own ids need no look: it reads for the sweep alone.
TEST(DiskSweepReads, ACompletionWhoseSweepCannotReadIsMadeByItsRepetition) {
  const TempDir directory{TempDir::Quick()};
  LocalWindowOptions options = DiskOptions(directory.path() / "store", /*generation=*/1'000);
  options.level = Level::kOpaque;
  {
    const auto before = *OpenLocalWindow(options, SystemClock::Instance());
    IdsWithoutPartition old(0, 300);
    ASSERT_TRUE(before->Claim(old.claims, old.answers));
    ASSERT_TRUE(before->Complete(old.completions, old.changes));
  }
  // By now they lie in a file.
  const auto window = *OpenLocalWindow(options, SystemClock::Instance());
  int failed = 0;
  for (int64_t from = 1'000; from < 1'300; from += 100) {
    IdsWithoutPartition batch(from, from + 100);
    ASSERT_TRUE(window->Claim(batch.claims, batch.answers));
    Status completed;
    {
      const FailingReads failing;
      completed = window->Complete(batch.completions, batch.changes);
      failed += failing.failed();
    }
    if (!completed) {
      completed = window->Complete(batch.completions, batch.changes);
    }
    ASSERT_TRUE(completed) << ToString(completed.error());
    EXPECT_EQ(std::count(batch.changes.begin(), batch.changes.end(), MarkerChange::kMade), 100);
  }
  EXPECT_GT(failed, 0) << "or nothing was read";
}

}  // namespace
}  // namespace oncemq::testing
