// SPDX-License-Identifier: Apache-2.0
// The second budget: messages of keys that wait.
#include <gmock/gmock.h>

#include "core_harness.h"

namespace oncemq {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kPause = 1'000;

class CoreWaiting : public CoreHarness {
 protected:
  static CoreOptions Budget(uint32_t messages, bool park) {
    CoreOptions options = Small();
    options.in_flight = options.partition_credit = 4;
    options.waiting = {.messages = messages, .park = park};
    return options;
  }
  explicit CoreWaiting(const CoreOptions& options = Budget(100, false)) : CoreHarness(options) {}

  // Tries what is ready, in vain.
  void FailAll(int64_t pause = kPause) {
    for (const BatchItem& item : Take()) {
      Settle(item, DeliveryFate::kRetry, pause);
    }
  }
};

TEST_F(CoreWaiting, AWaitingKeyHoldsNoCredit) {
  Give(0);
  for (int64_t offset = 0; offset < 40; offset++) {
    ASSERT_GT(core_.Credit(0), 0u);
    Admit(0, offset, "k" + std::to_string(offset));
    FailAll();
  }
  EXPECT_EQ(core_.Credit(0), 4u);
  EXPECT_EQ(core_.Status(0).waiting, 40u);
  EXPECT_EQ(core_.Status(0).waiting_bytes, 400u);
  EXPECT_EQ(core_.load().unfinished, 40u);
}

class CoreWaitingLong : public CoreWaiting {
 protected:
  static CoreOptions Long() {
    CoreOptions options = Budget(100, false);
    options.in_flight = options.partition_credit = 100;
    options.batch = 2;
    return options;
  }
  CoreWaitingLong() : CoreWaiting(Long()) {}
};

TEST_F(CoreWaitingLong, ADueMessageIsNotBehindAllOthers) {
  Give(0);
  Admit(0, 0, "due");
  FailAll();
  for (int64_t offset = 1; offset < 50; offset++) {
    Admit(0, offset, "k" + std::to_string(offset));
  }
  After(kPause);
  const auto items = Take();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(std::min(items[0].at.offset, items[1].at.offset), 0);
  EXPECT_EQ(std::max(items[0].at.offset, items[1].at.offset), 1) << "the others go on";
}

TEST_F(CoreWaiting, LaterMessagesOfTheKeyWaitWithIt) {
  Give(0);
  Admit(0, 0, "k");
  Admit(0, 1, "k");
  FailAll();
  Admit(0, 2, "k");
  EXPECT_EQ(core_.Credit(0), 4u);
  EXPECT_EQ(core_.Status(0).waiting, 3u);
  After(kPause);
  EXPECT_EQ(core_.Status(0).waiting, 3u) << "they wait while the head is tried again";
  Settle(Take().front(), DeliveryFate::kRetry, kPause);
  EXPECT_EQ(core_.Status(0).waiting, 3u);
}

TEST_F(CoreWaiting, ItsFollowersCountAgainOnceTheHeadIsThrough) {
  Give(0);
  Admit(0, 0, "k");
  FailAll();
  for (int64_t offset = 1; offset < 7; offset++) {
    Admit(0, offset, "k");
  }
  After(kPause);
  const auto items = Take();
  ASSERT_FALSE(items.empty());
  Settle(items[0], DeliveryFate::kApplied);
  for (size_t i = 1; i < items.size(); i++) {
    Settle(items[i], DeliveryFate::kWithdrawn);
  }
  EXPECT_EQ(core_.Status(0).waiting, 0u);
  EXPECT_EQ(core_.Credit(0), 0u) << "six run now, where four may";
  for (auto more = Take(); !more.empty(); more = Take()) {
    SettleAll(more);
  }
  EXPECT_EQ(core_.Credit(0), 4u);
  EXPECT_EQ(core_.Status(0).waiting_bytes, 0u);
}

TEST_F(CoreWaiting, WhatIsHandedBackOrLostWaitsNoMore) {
  Give(0);
  Admit(0, 0, "a");
  Admit(0, 1, "b");
  FailAll();
  Admit(0, 2, "a");
  core_.Lost(0);
  EXPECT_EQ(core_.Status(0).waiting, 0u);
  EXPECT_EQ(core_.load().lanes, 0u);
  EXPECT_EQ(core_.NextTimer(), std::nullopt);
  Give(0);
  Admit(0, 0, "a");
  EXPECT_EQ(core_.Status(0).waiting, 0u);
  EXPECT_EQ(core_.Credit(0), 3u);
}

class CoreWaitingFull : public CoreWaiting {
 protected:
  CoreWaitingFull() : CoreWaiting(Budget(3, false)) {}
};

TEST_F(CoreWaitingFull, NothingMoreIsAdmittedWhereMessagesWait) {
  Give(0);
  Give(1);
  for (int64_t offset = 0; offset < 3; offset++) {
    Admit(0, offset, "k" + std::to_string(offset));
  }
  FailAll();
  EXPECT_EQ(core_.Credit(0), 0u);
  EXPECT_EQ(core_.Credit(1), 4u) << "other partitions go on";
  After(kPause);
  Settle(Take().front(), DeliveryFate::kApplied);
  EXPECT_EQ(core_.Credit(0), 4u);
}

TEST_F(CoreWaitingFull, MoreThanBothBudgetsIsNeverUnfinished) {
  Give(0);
  Give(1);
  for (int64_t offset = 0; offset < 4; offset++) {
    Admit(0, offset, "k" + std::to_string(offset));
  }
  FailAll();
  EXPECT_EQ(core_.Status(0).waiting, 4u) << "they were admitted before the budget was used up";
  EXPECT_EQ(core_.Credit(1), 3u) << "seven messages have a place";
}

class CoreWaitingParks : public CoreWaiting {
 protected:
  CoreWaitingParks() : CoreWaiting(Budget(3, true)) {}
};

TEST_F(CoreWaitingParks, TheMessageWhoseKeyHasWaitedLongestIsRefused) {
  Give(0);
  Admit(0, 0, "k0");
  FailAll();
  After(1);
  Admit(0, 1, "k1");
  FailAll(20 * kPause);
  for (int tries = 0; tries < 5; tries++) {  // a later pause is the same wait
    After(kPause);
    FailAll();
  }
  EXPECT_THAT(Take(), IsEmpty());
  Admit(0, 2, "k2");
  FailAll();
  const auto items = Take();
  ASSERT_THAT(Offsets(items), ElementsAre(0));
  EXPECT_EQ(items[0].stage, Stage::kFresh) << "it is claimed first";
  EXPECT_THAT(std::string(items[0].text), HasSubstr("its key has waited longest"));
  EXPECT_EQ(core_.Status(0).waiting, 2u);
  Settle(items[0], DeliveryFate::kParked);
  EXPECT_EQ(core_.Credit(0), 4u);
  After(20 * kPause);
  EXPECT_THAT(Offsets(Take()), ElementsAre(2, 1));
}

TEST_F(CoreWaitingParks, AMessageThatWaitsForItsStoreIsNotRefused) {
  Give(0);
  for (int64_t offset = 0; offset < 3; offset++) {
    Admit(0, offset, "k" + std::to_string(offset));
  }
  for (const BatchItem& item : Take()) {
    Settle(item, DeliveryFate::kPending, kPause);
  }
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(core_.Status(0).waiting, 3u);
  EXPECT_EQ(core_.Credit(0), 0u);
}

TEST_F(CoreWaitingParks, OneMoreOfAWaitingKeyExceedsTheBudgetToo) {
  Give(0);
  Admit(0, 0, "k");
  FailAll();
  Admit(0, 1, "k");
  EXPECT_THAT(Take(), IsEmpty());
  Admit(0, 2, "k");
  EXPECT_THAT(Offsets(Take()), ElementsAre(0, 1, 2));
}

class CoreDueTimes : public CoreWaiting {
 protected:
  static CoreOptions Many() {
    CoreOptions options = Small();
    options.waiting.messages = options.span = kKeys * 2;
    options.batch = 500;
    return options;
  }
  CoreDueTimes() : CoreWaiting(Many()) {}
  static constexpr int64_t kKeys = 10'000;
};

TEST_F(CoreDueTimes, TenThousandKeysAreTriedAtTheirTimesAndNotBefore) {
  Give(0);
  std::vector<BootTime> due;
  for (int64_t offset = 0; offset < kKeys; offset++) {
    ASSERT_GT(core_.Credit(0), 0u);
    Admit(0, offset, "k" + std::to_string(offset));
    const int64_t pause = 20'000 + offset * 7'919 % 60'000;
    FailAll(pause);
    due.push_back(now_ + microseconds(pause));
  }
  int64_t tried = 0;
  for (auto next = core_.NextTimer(); next && tried < kKeys; next = core_.NextTimer()) {
    now_ = std::max(now_, *next);
    core_.Tick(now_);
    Acknowledge();
    for (auto items = Take(); !items.empty(); items = Take()) {
      for (const BatchItem& item : items) {
        ASSERT_EQ(due[static_cast<size_t>(item.at.offset)], now_);
        tried++;
      }
      SettleAll(items);
    }
  }
  EXPECT_EQ(tried, kKeys);
}

TEST_F(CoreDueTimes, ABatchBringsWhatIsDueBeforeTheNextTick) {
  Give(0);
  Admit(0, 0, "k");
  FailAll();
  now_ += microseconds(kPause - 1);
  EXPECT_THAT(Take(), IsEmpty());
  now_ += microseconds(1);
  EXPECT_THAT(Offsets(Take()), ElementsAre(0));
}

}  // namespace
}  // namespace oncemq
