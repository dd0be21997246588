// SPDX-License-Identifier: Apache-2.0
// Who waits for the disk, and who does not: a sync that takes its time must not hold up claims.
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "disk_window.h"
#include "fault.h"
#include "support/eventually.h"
#include "support/temp_dir.h"
#include "syncs.h"

namespace oncemq::testing {
namespace {

constexpr std::chrono::seconds kLongWait{30};

class DiskWaiting : public ::testing::Test {
 protected:
  void SetUp() override {
    auto window = OpenLocalWindow(DiskOptions(directory_.path() / "store", /*generation=*/100),
                                  SystemClock::Instance());
    ASSERT_TRUE(window) << ToString(window.error());
    window_ = *std::move(window);
    owner_epoch_ = *window_->RaiseOwnerEpoch(0, 0, 0);
    ASSERT_TRUE(CommitNothing(*window_, owner_epoch_));
  }

  Status Announce(int64_t offset, bool commits = true) {
    const Announcement one{
        .to = offset, .offset = offset, .metadata = "a commit", .commits = commits};
    return window_->Announce({&one, 1});
  }
  Status Committed(int64_t frontier, LogTime watermark) {
    const Progress progress{0, 0, owner_epoch_, frontier, watermark};
    MarkerChange change{};
    return window_->Committed({&progress, 1}, {&change, 1});
  }
  // Whether new ids are claimed and finished without waiting for `held`.
  ::testing::AssertionResult WorkGoesOn(std::optional<HeldSyncs>& held, int64_t from) {
    auto work = std::async(std::launch::async,
                           [&] { return FinishIds(*window_, from, from + 10).has_value(); });
    const bool went_on = work.wait_for(kLongWait) == std::future_status::ready;
    held.reset();
    return work.get() && went_on ? ::testing::AssertionSuccess()
                                 : ::testing::AssertionFailure() << "it waits for a sync";
  }

  const TempDir directory_;
  std::unique_ptr<Window> window_;
  OwnerEpoch owner_epoch_ = 0;
};

TEST_F(DiskWaiting, ClaimsAndCompletionsGoOnWhileAnAnnouncementWaitsForTheDisk) {
  ASSERT_TRUE(FinishIds(*window_, 0, 10));
  std::optional<HeldSyncs> held(std::in_place);
  auto announced = std::async(std::launch::async, [&] { return Announce(10).has_value(); });
  ASSERT_TRUE(Eventually(kLongWait, [&] { return held->waiting() == 1; }));
  EXPECT_TRUE(WorkGoesOn(held, 10));
  EXPECT_TRUE(announced.get());
}

TEST_F(DiskWaiting, AnswersPersistOnceTheyAreOnTheDisk) {
  ASSERT_TRUE(FinishIds(*window_, 0, 10));
  std::optional<HeldSyncs> held(std::in_place);
  auto kept =
      std::async(std::launch::async, [&] { return Announce(0, /*commits=*/false).has_value(); });
  EXPECT_TRUE(Eventually(kLongWait, [&] { return held->waiting() == 1; }));
  EXPECT_NE(kept.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  held.reset();
  EXPECT_TRUE(kept.get());
}

TEST_F(DiskWaiting, AnAnnouncementIsAnsweredOnceItIsOnTheDisk) {
  std::optional<HeldSyncs> held(std::in_place);
  auto announced = std::async(std::launch::async, [&] { return Announce(10).has_value(); });
  ASSERT_TRUE(Eventually(kLongWait, [&] { return held->waiting() == 1; }));
  EXPECT_NE(announced.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  held.reset();
  EXPECT_TRUE(announced.get());
}

TEST_F(DiskWaiting, AfterAnAnnouncementThatTheDiskRefusesNothingIsAnswered) {
  {
    const FailingSyncs failing;
    EXPECT_FALSE(Announce(10));
  }
  EXPECT_FALSE(FinishIds(*window_, 0, 1));
  EXPECT_FALSE(Announce(10));
}

TEST_F(DiskWaiting, WhatHasAgedGoesWithoutHoldingUpAnybody) {
  for (int64_t i = 0; i < 1'050; i += 50) {
    ASSERT_TRUE(FinishIds(*window_, i, i + 50));
  }
  window_.reset();  // whatever goes on in the background has ended
  SetUp();
  std::optional<HeldSyncs> held(std::in_place);
  auto committed = std::async(std::launch::async, [&] {
    return Committed(1'050, kThen + std::chrono::hours(2)).has_value();
  });
  const bool went_on = committed.wait_for(kLongWait) == std::future_status::ready;
  EXPECT_TRUE(went_on) << "whoever tells a commit waits for the disk";
  ASSERT_TRUE(Eventually(kLongWait, [&] { return held->waiting() > 0; }));
  EXPECT_TRUE(WorkGoesOn(held, 2'000));
  EXPECT_TRUE(committed.get());
  EXPECT_TRUE(Eventually(kLongWait, [&] { return *Unknown(*window_, 0, 900) == 900; }));
}

TEST_F(DiskWaiting, NothingGoesBeforeItsHorizonIsOnTheDisk) {
  for (int64_t i = 0; i < 1'050; i += 50) {
    ASSERT_TRUE(FinishIds(*window_, i, i + 50));
  }
  window_.reset();
  SetUp();
  const HeldSyncs held;
  ASSERT_TRUE(Committed(1'050, kThen + std::chrono::hours(2)));
  ASSERT_TRUE(Eventually(kLongWait, [&] { return held.waiting() > 0; }));
  EXPECT_EQ(*Unknown(*window_, 0, 1'050), 0);
}

TEST_F(DiskWaiting, AWindowThatIsClosedHasForgottenFirstWhatWasToGo) {
  for (int64_t i = 0; i < 1'050; i += 50) {
    ASSERT_TRUE(FinishIds(*window_, i, i + 50));
  }
  ASSERT_TRUE(Committed(1'050, kThen + std::chrono::hours(2)));
  window_.reset();
  SetUp();
  EXPECT_EQ(*Unknown(*window_, 0, 900), 900);
}

}  // namespace
}  // namespace oncemq::testing
