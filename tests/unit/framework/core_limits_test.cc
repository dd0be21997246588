// SPDX-License-Identifier: Apache-2.0
#include "core_harness.h"

namespace oncemq {
namespace {

using CoreLimits = CoreHarness;

TEST_F(CoreLimits, CreditIsWhatIsLeftOfThePartitionsShare) {
  Give(0);
  for (int64_t offset = 0; offset < 32; offset++) {
    Admit(0, offset, "k" + std::to_string(offset));
  }
  EXPECT_EQ(core_.Credit(0), 0u);
  const auto items = Take();
  SettleAll(items);
  EXPECT_EQ(core_.Credit(0), items.size());
}

TEST_F(CoreLimits, AllPartitionsShareTheMessagesInFlight) {
  for (PartitionId p = 0; p < 3; p++) {
    Give(p);
  }
  for (PartitionId p = 0; p < 2; p++) {
    for (int64_t offset = 0; offset < 32; offset++) {
      Admit(p, offset, "k" + std::to_string(offset));
    }
  }
  EXPECT_EQ(core_.Credit(2), 0u);
}

TEST_F(CoreLimits, OneStuckHeadHoldsCreditForOneMessageUntilTheSpanIsFull) {
  Give(0);
  Admit(0, 0, "stuck");
  const auto stuck = Take();
  int64_t offset = 1;
  while (core_.Credit(0) > 0) {
    Admit(0, offset, "k" + std::to_string(offset));
    offset++;
    SettleAll(Take());
  }
  EXPECT_EQ(offset, 64) << "the span bounds arrivals above the frontier";
  EXPECT_EQ(core_.load().unfinished, 1u);
  SettleAll(stuck);
  EXPECT_EQ(core_.Credit(0), 32u);
}

TEST_F(CoreLimits, BytesInFlightStopAdmission) {
  CoreOptions options = Small();
  options.in_flight_bytes = 25;
  Core core(options);
  core.Assign(0, {}, now_);
  core.OwnerEpochRaised(0, 1, OwnerEpoch{1}, now_);
  core.CommitAnswered(0, 1, CommitReply::kAcknowledged, now_);
  Arrival arrival;
  arrival.bytes = 30;
  EXPECT_GT(core.Credit(0), 0u);
  core.Admit(0, {&arrival, 1});
  EXPECT_EQ(core.Credit(0), 0u);
  EXPECT_EQ(core.load().bytes, 30u);
}

class CoreBytes : public CoreHarness {
 protected:
  static CoreOptions Bytes() {
    CoreOptions options = Small();
    options.in_flight_bytes = 1'600;
    return options;
  }
  CoreBytes() : CoreHarness(Bytes()) {}
  void AdmitMany(uint32_t count, uint32_t bytes) {
    std::vector<Arrival> arrivals(count);
    for (Arrival& arrival : arrivals) {
      arrival.offset = next_++;
      arrival.bytes = bytes;
    }
    core_.Admit(0, arrivals);
  }
  int64_t next_ = 0;
};

TEST_F(CoreBytes, TheCreditIsWhatFitsAtTheSizeOfTheLastMessages) {
  Give(0);
  AdmitMany(2, 100);
  EXPECT_EQ(core_.MessagesThatFit(), 16u);
  EXPECT_EQ(core_.Credit(0), 14u) << "1,400 bytes are left";
  AdmitMany(4, 300);
  EXPECT_EQ(core_.Credit(0), 1u) << "200 bytes are left, of messages of 300";
  AdmitMany(1, 300);
  EXPECT_EQ(core_.Credit(0), 0u);
}

TEST_F(CoreBytes, LargerMessagesAreBelievedAtOnceAndSmallerOnesSlowly) {
  Give(0);
  AdmitMany(1, 100);
  AdmitMany(1, 800);
  EXPECT_EQ(core_.MessagesThatFit(), 2u);
  AdmitMany(1, 0);
  EXPECT_EQ(core_.MessagesThatFit(), 2u);
  for (int i = 0; i < 20; i++) {
    AdmitMany(1, 1);
  }
  EXPECT_GT(core_.MessagesThatFit(), 16u);
}

TEST_F(CoreBytes, AMessageLargerThanAllTheBytesIsAdmittedAlone) {
  Give(0);
  AdmitMany(1, 5'000);
  EXPECT_EQ(core_.Credit(0), 0u);
  SettleAll(Take());
  EXPECT_EQ(core_.Credit(0), 1u);
}

TEST_F(CoreLimits, APartitionBeyondSixteenBitsIsOneLikeAnyOther) {
  const PartitionId far = 70'000;
  const PartitionId low = far & 0xffff;
  Give(far);
  Give(low);
  Admit(far, 0, "a");
  const auto items = Take();
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].partition, far);
  SettleAll(items);
  EXPECT_EQ(core_.Status(far).counts.applied, 1);
  EXPECT_EQ(core_.Status(low).counts.deliveries, 0);
}

TEST_F(CoreLimits, EveryMessageIsReleasedExactlyOnce) {
  Give(0);
  for (int64_t offset = 0; offset < 20; offset++) {
    Admit(0, offset, "k" + std::to_string(offset % 3));
  }
  SettleAll(Take());
  core_.Lost(0);
  std::vector<void*> released;
  core_.TakeReleased(released);
  std::sort(released.begin(), released.end());
  EXPECT_EQ(released.size(), 20u);
  EXPECT_EQ(std::unique(released.begin(), released.end()), released.end());
  EXPECT_EQ(core_.load().unfinished, 0u);
  EXPECT_EQ(core_.load().bytes, 0u);
}

TEST_F(CoreLimits, MemoryOfLanesFollowsTheMessagesNotTheKeys) {
  Give(0);
  for (int64_t offset = 0; offset < 1'000; offset++) {
    Admit(0, offset, "key-" + std::to_string(offset));
    SettleAll(Take());
  }
  EXPECT_EQ(core_.load().lanes, 0u);
}

TEST_F(CoreLimits, AStoppedPartitionHoldsNoCreditThatOthersLiveOn) {
  Give(0);
  Admit(0, 0, "a");
  const auto items = Take();
  Admit(0, 1, "b");
  Admit(0, 2, "c");
  Settlement stop;
  stop.slot = items[0].slot;
  stop.ticket = items[0].ticket;
  stop.fate = DeliveryFate::kStop;
  Settle(stop);
  EXPECT_EQ(core_.load().unfinished, 0u);
  EXPECT_EQ(core_.Counts().handed_back, 3);
}

}  // namespace
}  // namespace oncemq
