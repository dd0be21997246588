// SPDX-License-Identifier: Apache-2.0
// Messages that wait while others go are copied, and no others: each would keep a whole response of
// the broker in memory.
#include "core_harness.h"

namespace oncemq {
namespace {

class CoreLeftBehind : public CoreHarness {
 protected:
  static constexpr uint32_t kBytes = 10;  // of each message; so ten later ones leave one behind
  static CoreOptions Options() {
    CoreOptions options = Small();
    options.waiting.left_behind_bytes = 100;
    options.in_flight = options.partition_credit = 1'000;
    options.batch = options.lane_batch = 1'000;
    options.span = 10'000;
    return options;
  }
  CoreLeftBehind() : CoreHarness(Options()) {}

  // Keys that come once.
  void AdmitOthers(int count) {
    for (int i = 0; i < count; i++) {
      Admit(0, next_, "other-" + std::to_string(next_));
      next_++;
    }
  }
  void AdmitAs(const std::string& key, const std::string& id = "") { Admit(0, next_++, key, id); }
  // All that may run.
  void FinishAll() {
    for (auto items = Take(); !items.empty(); items = Take()) {
      SettleAll(items);
    }
  }
  void FinishOthers(int count) {
    for (int i = 0; i < count; i++) {
      AdmitOthers(1);
      FinishAll();
    }
  }
  std::vector<LeftBehind> TakeNow() {
    std::vector<LeftBehind> found;
    core_.TakeLeftBehind(found);
    return found;
  }
  // The message that was admitted at this place.
  std::string& At(size_t index) { return *ids_[index]; }

  int64_t next_ = 0;
};

TEST_F(CoreLeftBehind, AMessageOnATimerIsLeftBehindOnceEnoughOfWhatCameLaterHasFinished) {
  Give(0);
  AdmitAs("waits");
  Settle(Take()[0], DeliveryFate::kRetry, 60'000'000);
  FinishOthers(10);
  EXPECT_TRUE(TakeNow().empty()) << "100 bytes, and no more";
  FinishOthers(5);
  const auto found = TakeNow();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, &At(0));
  EXPECT_EQ(found[0].bytes, kBytes);
  core_.Replace(found);
  FinishOthers(50);
  EXPECT_TRUE(TakeNow().empty()) << "it was copied already";
}

TEST_F(CoreLeftBehind, ALongQueueThatMovesOnLeavesNothingBehind) {
  Give(0);
  AdmitOthers(500);
  for (int round = 0; round < 100; round++) {
    oncemq::MessageBatch batch;
    core_.TakeBatch(batch, now_, 20);
    SettleAll(batch.items);
    AdmitOthers(20);
    EXPECT_TRUE(TakeNow().empty()) << "round " << round;
  }
}

TEST_F(CoreLeftBehind, FollowersOfASlowHeadAreLeftBehindAndTheHeadIsNotTouchedInItsHandler) {
  Give(0);
  AdmitAs("slow");
  const auto slow = Take();
  AdmitAs("slow");
  AdmitAs("slow");
  FinishOthers(30);
  auto found = TakeNow();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].message, &At(1));
  EXPECT_EQ(found[1].message, &At(2));
  core_.Replace(found);
  Settle(slow[0], DeliveryFate::kRetry, 60'000'000);
  FinishOthers(30);
  found = TakeNow();
  ASSERT_EQ(found.size(), 1u) << "its handler has returned";
  EXPECT_EQ(found[0].message, &At(0));
}

TEST_F(CoreLeftBehind, WhatIsFinishedAndWaitsForTheRestOfItsRunIsLeftBehindToo) {
  Give(0);
  AdmitAs("slow");
  AdmitAs("slow");
  const auto items = Take();
  ASSERT_EQ(items.size(), 2u);
  Settle(items[0], DeliveryFate::kApplied);
  FinishOthers(30);
  const auto found = TakeNow();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, &At(0));
  core_.Replace(found);
  Settle(items[1], DeliveryFate::kApplied);
  EXPECT_EQ(core_.load().bytes, 0u);
}

TEST_F(CoreLeftBehind, WhatWaitsForItsIdIsLeftBehind) {
  Give(0);
  AdmitAs("holder", "pay-1");
  const auto holder = Take();
  AdmitAs("copy", "pay-1");
  EXPECT_TRUE(Take().empty());
  FinishOthers(30);
  const auto found = TakeNow();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, "pay-1");
  EXPECT_EQ(found[0].message, &At(1));
}

TEST_F(CoreLeftBehind, WhatWaitsForItsPartitionIsLeftBehind) {
  Give(0);
  Give(1);
  Admit(1, 0, "held");
  Settle(Take()[0], DeliveryFate::kOwnershipLost);
  EXPECT_TRUE(Take().empty());
  FinishOthers(30);
  const auto found = TakeNow();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].message, &At(0));
}

TEST_F(CoreLeftBehind, ACopyTakesThePlaceOfItsMessageAndCountsForItsOwnBytes) {
  Give(0);
  AdmitAs("waits", "pay-1");
  Settle(Take()[0], DeliveryFate::kRetry, 40'000);
  FinishOthers(30);
  auto found = TakeNow();
  ASSERT_EQ(found.size(), 1u);
  std::string copy = "pay-1";
  At(0) = "gone!";
  found[0].message = &copy;
  found[0].id = copy;
  found[0].bytes = 70;
  core_.Replace(found);
  EXPECT_EQ(core_.load().bytes, 70u);
  After(50'000);
  const auto again = Take();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].message, &copy);
  EXPECT_EQ(again[0].id, "pay-1");
  std::vector<void*> released;
  core_.TakeReleased(released);
  released.clear();
  SettleAll(again);
  core_.TakeReleased(released);
  EXPECT_EQ(released, std::vector<void*>{&copy});
  EXPECT_EQ(core_.load().bytes, 0u);
}

// Where copies fill the bytes in flight, they are no reason to keep others uncopied for longer.
TEST_F(CoreLeftBehind, CopiesDoNotCountForWhatIsInResponses) {
  Give(0);
  for (int i = 0; i < 100; i++) {
    AdmitAs("waits-" + std::to_string(i));
  }
  for (const BatchItem& item : Take()) {
    Settle(item, DeliveryFate::kRetry, 60'000'000);
  }
  FinishOthers(150);
  auto found = TakeNow();
  EXPECT_EQ(found.size(), 100u);
  core_.Replace(found);
  AdmitAs("late");
  Settle(Take()[0], DeliveryFate::kRetry, 60'000'000);
  FinishOthers(20);
  found = TakeNow();
  ASSERT_EQ(found.size(), 1u) << "after 100 bytes, not after 1,100";
  EXPECT_EQ(core_.load().bytes, 1'010u);
}

TEST_F(CoreLeftBehind, APlaceThatIsTakenAgainIsNotTakenForItsFormerMessage) {
  Give(0);
  AdmitAs("waits");
  Settle(Take()[0], DeliveryFate::kRetry, 40'000);
  FinishOthers(30);
  auto found = TakeNow();
  ASSERT_EQ(found.size(), 1u);
  core_.Replace(found);
  After(50'000);
  FinishAll();
  EXPECT_EQ(core_.load().unfinished, 0u);
  AdmitAs("waits");
  Settle(Take()[0], DeliveryFate::kRetry, 40'000);
  EXPECT_TRUE(TakeNow().empty());
  FinishOthers(30);
  EXPECT_EQ(TakeNow().size(), 1u);
}

}  // namespace
}  // namespace oncemq
